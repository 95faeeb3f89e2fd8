"""An If with a known condition is its taken branch."""

from __future__ import annotations

import onnx
import pytest

from gexplorer.compiler import compile
from gexplorer.ir.text import to_text
from gexplorer.passes.base import Context
from gexplorer.passes.branch_elimination import BranchElimination
from gexplorer.passes.manager import run_passes
from gexplorer.validation.equality import compare_steps

MODEL = """<ir_version: 10, opset_import: ["": 18]>
g (float[2] x, bool run_time) => (float[2] y, float[2] z) <bool always = {%s}> {
  [same] outer = Neg(x)
  [choice] y = If(%s) <
    then_branch: graph = yes () => (float[2] a) {
      [same] t = Relu(outer)
      [inner] a = If(always) <
        then_branch: graph = p () => (float[2] c) { [deep] c = Exp(t) },
        else_branch: graph = q () => (float[2] d) { [deep] d = Abs(t) }
      >
    },
    else_branch: graph = no () => (float[2] b) { b = Identity(outer) }
  >
  [after] z = Add(y, outer)
}"""


def compiled(always: int, condition: str):
    return compile(
        onnx.parser.parse_model(MODEL % (always, condition)),
        preset="unconfigured",
        fusion={"identity_elimination": False},
    )


@pytest.mark.parametrize(
    ("always", "ops"), [(1, ["Neg", "Relu", "Exp", "Add"]), (0, ["Neg", "Identity", "Add"])], ids=["then", "else"]
)
def test_the_taken_branch_moves_out_whatever_its_nodes_are_called(always, ops):
    result = compiled(always, "always")
    assert [node.op for node in result.graph] == ops
    assert result.graph.output_names == ("y", "z")
    assert [c.fault for c in compare_steps(result.steps, (0, 1)) if c.fault] == []
    assert "choice" in next(n for n in result.graph if n.op in ("Relu", "Identity")).origin


def test_a_condition_of_run_time_keeps_the_if_and_says_so_but_not_the_inner_one():
    result = compiled(1, "run_time")
    step = result.steps["branch_elimination"]
    assert [(r.node, r.code, [p.node for p in r.path]) for r in step.rewrites] == [("inner", "taken", ["choice"])]
    (reject,) = step.rejects
    assert step.reason(reject) == "run_time, the condition of choice, is known only at run time"
    assert [c.fault for c in compare_steps(result.steps, (0, 1)) if c.fault] == []


def test_every_rewrite_can_be_replayed():
    step = compiled(1, "always").steps["branch_elimination"]
    assert to_text(step.graph_after(len(step.rewrites))) == to_text(step.after)


def test_a_second_run_finds_nothing():
    (again,) = run_passes(compiled(1, "always").graph, [BranchElimination], Context())
    assert again.rewrites == ()
