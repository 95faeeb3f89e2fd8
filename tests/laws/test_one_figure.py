"""One figure has one value: every command, the summary and the objects say the same of a compilation."""

from __future__ import annotations

import json
from math import isclose

import onnx
import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli

_HEAD = '<ir_version: 10, opset_import: ["": 20]> '
MODELS = {
    # The memory plan spares one of Split and Concat, whose parts lie in place.
    "in place": _HEAD
    + """g (float[2,128] x) => (float[2,128] y) <int64[2] parts = {1, 1}> {
  n = Neg(x)
  a, b = Split <axis = 0> (n, parts)
  c = Relu(a)
  d = Tanh(b)
  e = Concat <axis = 0> (c, d)
  y = Exp(e)
}""",
    # A Reshape of a size that nobody knows, and a Shape that only the run can tell.
    "free sizes": _HEAD
    + """g (float[n,64] x, float[64,32] w) => (float[m,4,8] y) <int64[1] last = {-1}, int64[2] rest = {4, 8}> {
  s = Shape <start = 0, end = 1> (x)
  p = MatMul(x, w)
  to = Concat <axis = 0> (s, rest)
  r = Reshape(p, to)
  z = NonZero(x)
  f = Cast <to = 1> (z)
  g = Reshape(f, last)
  t = ReduceSum(g)
  y = Add(r, t)
}""",
    # Nothing to compute.
    "no elements": _HEAD
    + """g (float[0,4] x, float[2,4] u) => (float[0,4] y, float[2,4] v) { y = Exp(x) v = Exp(u) }""",
}
OPTIONS = {
    "default": [],
    "streams": ["--set", "streams=cube_vector"],
    "no rules": ["--off", "ALL"],
    "safe": ["--memory", "safe"],
}


def told(*arguments):
    result = CliRunner().invoke(cli, [*arguments, "--json", "-"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_every_command_says_the_same(name, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODELS[name]), "model.onnx")
    common = ("model.onnx", *OPTIONS[options])
    summary = told("compile", *common, "-o", "model.om")
    cost, schedule = told("cost", *common), told("schedule", *common)
    kernels, memory, info = told("kernels", *common), told("memory", *common), told("info", "model.om")
    counts = {
        "summary": summary["graph"]["kernels"],
        "schedule": schedule["schedule"]["kernels"],
        "streams": sum(load["kernels"] for load in schedule["schedule"]["stream_loads"]),
        "cores": sum(load["kernels"] for load in schedule["schedule"]["core_loads"]),
        "kernels": kernels["kernels"],
        "rows": sum(row["count"] for row in kernels["rows"]),
        "cost": len(cost["kernels"]) + len(cost["uncosted"]),
    }
    assert len(set(counts.values())) == 1, counts
    assert summary["cost"]["latency_us"] == cost["latency_us"]
    assert isclose(schedule["schedule"]["serial_us"], cost["latency_us"], abs_tol=1e-3)
    assert summary["schedule"]["makespan_us"] == schedule["schedule"]["makespan_us"]
    for key in ("pool_bytes", "lower_bound_bytes", "unplanned_bytes", "weight_bytes", "persistent_bytes"):
        assert summary["memory"][key] == memory["memory"][key], key
    if info["memory"]["is_fixed"]:
        assert info["memory"]["pool_bytes"] == memory["memory"]["pool_bytes"]
    assert cost["tiling"] == kernels["tiling_mode"] == summary["options"]["tiling_mode"]


@pytest.mark.parametrize(("name", "kernels"), [("in place", 5), ("no elements", 1)])
def test_what_the_plan_spares_and_what_is_empty_is_not_launched(name, kernels):
    compiled = gx.compile(onnx.parser.parse_model(MODELS[name]), fusion={"ALL": False})
    assert compiled.schedule.kernels.launches == len(compiled.kernels) == len(compiled.cost.rows) == kernels
