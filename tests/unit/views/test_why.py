"""Near misses with sentence, cure and bytes; blockers ranked by what they cost."""

from __future__ import annotations

import re

import onnx
import pytest

from gexplorer.compiler import compile
from gexplorer.errors import OptionError
from gexplorer.passes.base import Context
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.manager import run_passes
from gexplorer.views.log import framed, log_lines
from gexplorer.views.why import near_misses, ranked_blockers, tallies

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
    assert late.hint == "move turn before second or behind late, if the results stay the same"
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


# Four additions: a bias, one of what was fused, one that a Relu keeps apart from its product, one of nothing near.
SUMS = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
g (float[4, 8] x, float[8, 16] w, float[8, 16] v, float[4, 16] r) => (float[4, 16] a, float[4, 16] d, float[4, 8] e)
  <float[16] b = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
  [one] m = MatMul(x, w)
  [bias] s = Add(m, b)
  [again] a = Add(s, r)
  [two] n = MatMul(x, v)
  [between] t = Relu(n)
  [apart] d = Add(t, b)
  [other] e = Add(x, x)
}""")
ALONE = {"ALL": False, "matmul_bias": True}


def first_of(sentence):
    """The sentence with the first of the alternatives alone: how many there are is the rule's business."""
    return re.sub(r" or \d+ others", "", sentence)


def test_every_miss_of_a_rule():
    compiled = compile(SUMS, fusion=ALONE)
    told = {miss.node: miss for miss in compiled.why("matmul_bias", every=True)}
    assert {node: (miss.near, miss.code) for node, miss in told.items()} == {
        "again": (False, "taken_here"),
        "apart": (False, "other_operator"),
        "other": (False, "no_operator"),
    }
    apart = told["apart"]
    assert (apart.blocker, apart.hint, apart.freed_bytes) == ("between", None, None)
    assert apart.wanted is not None
    assert {"MatMul", "Gemm"} < {*apart.wanted.split("|")}  # of both patterns
    assert first_of(apart.reason) == "apart (Add) reads between (Relu), not MatMul"
    assert first_of(apart.kind) == "Add without MatMul before it"
    assert first_of(told["again"].kind) == "Add whose MatMul is part of another match"
    assert compiled.why("matmul_bias") == []
    assert compiled.why("MatMulBiasAddFusionPass", every=True) == list(told.values())


def test_the_places_of_a_rule_add_up():
    compiled = compile(SUMS, fusion=ALONE)
    (quick,) = tallies(compiled.steps, rule="matmul_bias")
    assert (quick.tried, quick.fused, quick.near, quick.far, quick.inside, quick.kinds) == (4, 1, 0, 3, None, {})
    (full,) = tallies(compiled.steps, compiled.why("matmul_bias", every=True), "matmul_bias")
    assert (full.tried, full.fused, full.near, full.far, full.inside) == (4, 1, 0, 3, 0)
    assert {first_of(kind): count for kind, count in full.kinds.items()} == {
        "Add without MatMul before it": 2,
        "Add whose MatMul is part of another match": 1,
    }
    compiled = compile(SUMS, fusion={"ALL": False, "elementwise_chain": True})
    (chains,) = tallies(compiled.steps, compiled.why(every=True), "elementwise_chain")
    assert (chains.tried, chains.fused, chains.far, chains.inside) == (5, 2, 3, 2)


def test_near_misses_of_a_second_run_keep_what_the_first_said():
    compiled = compile("bert-base:small=true,layers=1")
    assert compiled.why()
    near = [miss for miss in compiled.why(every=True) if miss.near]
    assert sorted(near, key=str) == sorted(compiled.why(), key=str)


def test_every_miss_at_a_node():
    compiled = compile(SUMS)
    assert {miss.node for miss in compiled.why(node="apart", every=True)} == {"apart"}
    assert {miss.rule for miss in compiled.why(node="apart", every=True)} >= {"matmul_bias", "conv_bias"}
    assert [miss.rule for miss in compiled.why("matmul_bias", "apart", every=True)] == ["matmul_bias"]
    # what it blocks is told where it is near, not wherever another operator stands
    assert "apart" not in {miss.node for miss in compiled.why(node="between", every=True)}
    assert "again" not in {miss.node for miss in compiled.why("matmul_bias", "bias", every=True)}


def test_a_general_pass_has_near_misses_alone():
    compiled = compile("bert-base:layers=1")
    assert compiled.why("constant_folding")
    assert compiled.why("constant_folding", every=True) == compiled.why("constant_folding")


def test_a_node_that_is_nowhere_is_an_error_with_a_suggestion():
    compiled = compile(SUMS)
    with pytest.raises(OptionError, match=r"^no node or value 'twp'; did you mean two\?$"):
        compiled.why(node="twp")
    with pytest.raises(OptionError, match=r"^no node or value 'part'; did you mean apart\?$"):
        compiled.why(node="part")
    assert compiled.why(node="r") == []


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
