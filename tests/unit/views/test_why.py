"""Near misses with sentence, cure and bytes; blockers ranked by what they cost."""

from __future__ import annotations

import onnx

from gexplorer.compiler import compile
from gexplorer.passes.base import Context
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.manager import run_passes
from gexplorer.views.log import framed, log_lines
from gexplorer.views.why import near_misses, ranked_blockers

MODEL = """<ir_version: 10, opset_import: ["": 18]>
g (float[4, 8] x, float[8, 16] w) => (float[4, 16] a, float[16, 4] b, float[4, 16] d) {
  [first] m = MatMul(x, w)
  [plain] a = Relu(m)
  [second] n = MatMul(x, w)
  [turn] t = Transpose(n)
  [late] b = Relu(t)
  [third] o = MatMul(x, w)
  [sign] s = Neg(o)
  [mixed] d = Relu(s)
}"""


class MatMulRelu(Rule):
    """MatMul + Relu."""

    name = "matmul_relu_of_the_test"
    order = 600
    kernel = "MatMulRelu"
    pattern = op.Relu(op.MatMul("x", "w"))


def steps():
    # the three products are one subexpression to the general passes, so the rule runs on the graph as read
    graph = compile(onnx.parser.parse_model(MODEL)).steps["infer_shapes"].after
    return run_passes(graph, [MatMulRelu], Context())


def test_near_misses_say_where_why_and_what_would_cure_it():
    late, mixed = near_misses(steps())
    assert (late.rule, late.node, late.code, late.blocker) == (MatMulRelu.name, "late", "in_between", "turn")
    assert late.reason == "turn (Transpose) stands between second (MatMul) and late (Relu)"
    assert late.hint == "move turn before second or behind late, or remove it"
    assert late.freed_bytes == 2 * 4 * 16 * 4
    assert (mixed.code, mixed.blocker, mixed.hint) == ("other_operator", "sign", None)
    assert mixed.reason == "mixed (Relu) reads sign (Neg), not MatMul"


def test_near_misses_of_one_rule_or_node():
    assert [miss.node for miss in near_misses(steps(), node="turn")] == ["late"]
    assert [miss.node for miss in near_misses(steps(), rule=MatMulRelu.name)] == ["late", "mixed"]
    assert near_misses(steps(), rule="another") == []


def test_a_step_counts_the_places_it_tried_in_nested_graphs_too():
    (step,) = steps()
    assert (step.tried, len(step.rewrites), len(step.rejects)) == (3, 1, 2)


def test_only_blockers_with_a_cure_are_ranked():
    (blocker,) = ranked_blockers(steps())
    assert (blocker.name, blocker.op, blocker.places, blocker.freed_bytes) == ("turn", "Transpose", 1, 2 * 4 * 16 * 4)
    assert blocker.rules == (MatMulRelu.name,)


def test_log_lines_can_be_grepped():
    lines = [line.message for line in log_lines(steps())]
    assert any(line.startswith("FusionOp matmul_relu_of_the_test: 2 operators become one MatMulRelu") for line in lines)
    assert "AutoFusion matmul_relu_of_the_test: match_times 3, effect_times 1" in lines
    miss = "Fusion pattern matmul_relu_of_the_test not matched: turn (Transpose) stands between"
    assert any(line.startswith(miss) for line in lines)
    assert any(line.startswith("[GEPERFTRACE] The time cost of matmul_relu_of_the_test is [") for line in lines)
    assert any(line.startswith("Graph Pass (passes): ") and line.endswith("ms") for line in lines)


def test_a_framed_line_looks_like_plog():
    from datetime import datetime

    line = next(iter(log_lines(steps())))
    text = framed(line, datetime(2026, 1, 2, 3, 4, 5, 678901), 42)
    assert text.startswith("[INFO] GE(42,gexplorer):2026-01-02-03:04:05.678.901 [matmul_relu_of_the_test]42 compile:")


def test_fallbacks_are_logged():
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18, "own": 1]> g (float[2] x) => (float[2] y) { [odd] y = own.Odd(x) }'
    )
    lines = [line.message for line in log_lines(compile(model).steps)]
    assert any(line.startswith("UnsupportedOp: node odd (own::Odd) runs on the host") for line in lines)
