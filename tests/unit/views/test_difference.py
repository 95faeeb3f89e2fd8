"""Two compilations side by side, and limits for continuous integration."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.errors import OptionError
from gexplorer.views.difference import broken_limits, difference, parse_limit

MODEL = "bert-base:small=true"


@pytest.fixture(scope="module")
def whole():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def found(whole):
    return difference(whole.summary(), whole.replace(fusion={"matmul_bias": False}, memory="safe").summary())


def figure(found, key):
    return next(figure for figure in found.figures if figure.key == key)


def test_figures_options_and_rules_are_compared(whole, found):
    changed = whole.replace(fusion={"matmul_bias": False}, memory="safe")
    assert found.options["memory"] == ("balanced", "safe")
    assert set(found.options) == {"memory", "fusion"}
    kernels = figure(found, "graph.kernels")
    assert (kernels.before, kernels.after) == (len(whole.graph), len(changed.graph))
    assert kernels.change == pytest.approx(len(changed.graph) / len(whole.graph) - 1)
    assert figure(found, "cost.latency_us").after == changed.cost.latency_us
    rules = {rule.name: rule for rule in found.rules}
    assert rules["matmul_bias"].switched == "off"
    assert rules["matmul_bias"].before == len(whole.steps["matmul_bias"].rewrites)
    assert rules["matmul_bias"].after == 0


def test_more_fused_kernels_are_neither_better_nor_worse(whole, found):
    fused, kernels = figure(found, "graph.fused_kernels"), figure(found, "graph.kernels")
    assert fused.before != fused.after
    assert fused.is_better is None
    assert kernels.is_better is (kernels.after < kernels.before)
    back = difference(whole.replace(fusion={"matmul_bias": False}).summary(), whole.summary())
    assert figure(back, "graph.kernels").is_better is not kernels.is_better
    assert figure(found, "graph.fused_kernels").change is not None
    assert figure(difference(whole.summary(), whole.summary()), "graph.kernels").is_better is None


def test_sums_over_other_kernels_are_not_called_better(whole):
    less = whole.summary()
    less["schedule"]["unpriced"] += 3
    less["cost"]["latency_us"] /= 2
    found = difference(whole.summary(), less)
    assert figure(found, "cost.latency_us").is_better is None
    assert figure(found, "schedule.unpriced").is_better is False


def test_why_a_rule_stopped_is_said():
    before = gx.compile(MODEL)
    match = f"matmul_bias:{before.steps['matmul_bias'].rewrites[0].node}"
    found = difference(before.summary(), before.replace(fusion={match: False}).summary())
    rule = next(rule for rule in found.rules if rule.name == "matmul_bias")
    assert rule.before - rule.after == 1
    assert rule.switched == ""
    assert ("this match is switched off", 1) in rule.reasons


def test_nothing_is_different_between_equals(whole):
    found = difference(whole.summary(), whole.summary())
    assert found.is_empty
    assert found.options == {}
    assert not broken_limits(found, [parse_limit("pool_bytes>+0%"), parse_limit("latency_us>+0")])


@pytest.mark.parametrize(
    ("limit", "is_broken"),
    [
        ("kernels>+0%", True),
        ("kernels>+0", True),
        ("kernels>+99%", False),
        ("graph.kernels<-1%", False),
        ("fused_kernels<-0%", True),
        ("kernels>1", True),
        ("kernels>100000", False),
        ("kernels < 100000", True),
        ("latency_us>+1e6", False),
    ],
)
def test_limits(found, limit, is_broken):
    assert bool(broken_limits(found, [parse_limit(limit)])) == is_broken


def test_a_figure_that_is_not_known_keeps_no_limit(whole):
    summary = whole.summary()
    lost = {**summary, "cost": None}
    assert broken_limits(difference(summary, lost), [parse_limit("latency_us>+50%")])
    assert broken_limits(difference(lost, summary), [parse_limit("latency_us>+50%")])
    assert not broken_limits(difference(lost, summary), [parse_limit("latency_us>1e9")])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pool", "FIGURE>"),
        ("speed>+2%", "no figure speed; there are: kernels"),
        ("kernels>2%", "has a sign"),
        ("", "is wanted"),
    ],
)
def test_a_bad_limit_is_said(text, says):
    with pytest.raises(OptionError, match=says):
        parse_limit(text)


def invoke(*arguments):
    return CliRunner().invoke(cli, ["diff", *arguments], catch_exceptions=False)


def test_the_command_compares_models_and_is_a_gate():
    shown = invoke(MODEL, MODEL, "--b", "off=matmul_bias", "--b", "soc=Ascend910A")
    assert shown.exit_code == 0
    assert "matmul_bias: " in shown.output
    assert "switched off" in shown.output
    assert "soc: Ascend910B3 -> Ascend910A" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    failed = invoke(MODEL, MODEL, "--b", "off=matmul_bias", "--fail-on", "kernels>+2%", "--fail-on", "kernels>+900%")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("gexplorer: kernels>+2%: kernels ")
    assert failed.stderr.count("\n") == 1


def test_summaries_on_disk_are_compared(tmp_path, whole):
    old = tmp_path / "old.json"
    old.write_text(json.dumps(whole.summary()))
    data = json.loads(invoke(str(old), MODEL, "--b", "memory=safe", "--json", "-").stdout)
    assert data["options"] == {"memory": ["balanced", "safe"]}
    assert data["broken_limits"] == []
    old.write_text('{"schema": "gexplorer.summary/9"}')
    failed = invoke(str(old), MODEL)
    assert failed.exit_code == 1
    assert "no summary of schema" in failed.stderr
    old.write_text("{")
    assert "cannot be read as JSON" in invoke(str(old), MODEL).stderr
