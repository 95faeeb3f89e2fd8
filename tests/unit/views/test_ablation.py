"""A model under several sets of rules: the same numbers as from compiling each afresh."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.views.ablation import ablation, build

MODEL = "bert-base:layers=2"


def modelled(row):
    return row.fused, row.kernels, row.hbm_bytes, row.latency_us, row.eager_us, row.pool_bytes, row.uncosted


def test_every_build_is_what_compiling_afresh_gives():
    compiled = gx.compile(MODEL)
    found = ablation(compiled)
    assert modelled(found.base) == modelled(build("ge", gx.compile(MODEL)))
    assert [row.name for row in found.sets] == ["unconfigured", "tensorrt-like", "all"]
    for row in found.sets:
        assert modelled(row) == modelled(build(row.name, gx.compile(MODEL, preset=row.name)))
    fused = {step.name for step in compiled.steps if step.is_fusion and step.rewrites}
    assert {row.name for row in found.without} == fused
    for row in found.without:
        assert modelled(row) == modelled(build(row.name, gx.compile(MODEL, fusion={row.name: False})))


def test_the_rule_that_is_missed_most_comes_first():
    without = ablation(gx.compile(MODEL)).without
    assert [row.latency_us for row in without] == sorted((row.latency_us for row in without), reverse=True)


def test_the_base_is_what_was_asked_for():
    found = ablation(gx.compile(MODEL, preset="tensorrt-like"), leave_out=False)
    assert found.base.name == "tensorrt-like"
    assert [row.name for row in found.sets] == ["ge", "unconfigured", "all"]
    assert found.without == ()


def test_the_time_to_compile_holds_the_steps_that_were_taken_over():
    found = ablation(gx.compile(MODEL))
    parse = 1e3 * sum(step.seconds for step in gx.compile(MODEL).steps if step.stage == "parse")
    assert all(row.compile_ms > 0.2 * parse for row in (*found.sets, *found.without))


def test_times_over_other_kernels_are_not_compared():
    assert all(row.comparable for row in ablation(gx.compile(MODEL)).without)
    model = "bert-base:layers=1,seq=s"  # fused or not, other kernels have no size
    found = ablation(gx.compile(model))
    assert not any(row.comparable for row in found.sets)
    unlike = [row for row in found.without if not row.comparable]
    assert unlike
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["ablate", model]).stdout
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert all("+" not in lines[row.name] and "−" not in lines[row.name] for row in unlike)
    assert "cannot be compared. bind what is free, as in --shape input_ids:" in " ".join(shown.split())


@pytest.mark.parametrize("width", ["80", "120"])
def test_the_command_prints_both_tables(width):
    result = CliRunner(env={"COLUMNS": width}).invoke(cli, ["ablate", MODEL])
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert lines[0].split() == ["set", "kernels", "HBM", "time", "pool", "compile"]
    assert any(line.startswith("ge without") for line in lines)
    assert any(line.startswith("add_layer_norm ") and " +" in line for line in lines)


def test_the_command_writes_rows():
    data = json.loads(CliRunner().invoke(cli, ["ablate", MODEL, "--sets", "--json", "-"]).stdout)
    assert {*data} == {"base", "sets", "without"}
    assert data["without"] == []
    names = {"name", "fused", "kernels", "hbm_bytes", "latency_us", "eager_us", "pool_bytes", "compile_ms", "uncosted"}
    assert all({*row} == names | {"comparable"} for row in (data["base"], *data["sets"]))
