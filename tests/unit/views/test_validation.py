"""Validation and bisection as plain data."""

import json

import pytest

import gexplorer as gx
from gexplorer.validation import bisect, validate
from gexplorer.validation.record import Check, Note, OutputError, Validation
from gexplorer.views.validation import bisection_data, validation_summary


def compile_(model, **options):
    """Compiled, and not validated yet."""
    return gx.compile(model, validate="off", **options)


@pytest.fixture(scope="module")
def compiled():
    return compile_("mlp:small=true")


def test_the_summary_has_what_scripts_read(compiled):
    data = validation_summary(validate(compiled.steps, compiled.memory, compiled.schedule))
    assert data["status"] == "passed"
    assert data["reason"] == ""
    assert isinstance(data["max_abs_error"], float)
    assert data["checks"][0]["name"] == "graph"
    assert all({"name", "status", "detail"} <= check.keys() for check in data["checks"])
    assert [row["output"] for row in data["outputs"]] == list(compiled.graph.output_names)
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_each_output_is_shown_at_its_worst():
    def error(output, seed, absolute, fault=""):
        return OutputError(output, seed, {}, absolute, absolute / 2, 0.0, fault)

    nan = float("nan")
    errors = (error("a", 0, 1.0), error("b", 0, nan, "NaN in other places"), error("a", 1, 3.0), error("b", 1, 2.0))
    check = Check("dry_run", "failed", (Note("draws_random_numbers"),), 0.1, errors)
    data = validation_summary(Validation("failed", "why", (check,), "full"))
    assert [(row["output"], row["seed"], row["absolute"]) for row in data["outputs"]] == [
        ("a", 1, 3.0),
        ("b", 0, "nan"),
    ]
    assert data["max_abs_error"] == "nan"
    json.dumps(data, allow_nan=False)


def test_what_was_not_compared_has_no_error():
    compiled = compile_("mlp")
    data = validation_summary(validate(compiled.steps, compiled.memory, compiled.schedule))
    assert (data["status"], data["max_abs_error"], data["outputs"]) == ("skipped", None, [])
    (row,) = [check for check in data["checks"] if check["name"] == "dry_run"]
    (note,) = row["notes"]
    assert note["code"] == "weights_absent"
    assert note["node"]
    assert "small=true" in note["hint"]


def test_a_clean_search(compiled):
    data = bisection_data(bisect(compiled.steps))
    assert data["status"] == "clean"
    assert data["step"] is data["rewrite"] is data["model"] is data["output"] is None
    json.dumps(data, allow_nan=False)
