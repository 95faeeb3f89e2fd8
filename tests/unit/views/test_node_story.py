"""What all rules have to say about one node."""

from __future__ import annotations

import json

import onnx

from gexplorer.compiler import compile
from gexplorer.views.node_story import node_story, why_data

MODEL = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
g (float[4, 8] x, float[8, 16] w, float[8, 16] v) => (float[4, 16] a, float[4, 16] c)
  <float[16] b = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
  [product] m = MatMul(x, w)
  [bias] s = Add(m, b)
  [relu] a = Relu(s)
  [second] n = MatMul(x, v)
  [use] u = Neg(n)
  [sum] k = Add(n, b)
  [both] c = Add(u, k)
}""")


def story(name, rule=None, **options):
    compiled = compile(MODEL, **options)
    return node_story(compiled.steps, compiled.why(rule, name, every=True), name, rule)


def told(found):
    return {chapter.name: (chapter.at, chapter.outcome) for chapter in found.chapters}


def test_what_fused_a_node_and_where_it_went():
    found = story("bias")
    assert (found.name, found.op) == ("bias", "Add")
    chapters = told(found)
    assert chapters["matmul_bias"] == ("bias", "rewritten")
    assert chapters["matmul_activation"] == ("bias", "gone")
    assert chapters["conv_bias"] == ("bias", "far")
    steps = [chapter.step for chapter in found.chapters]
    assert steps == sorted(steps)
    fused = next(chapter for chapter in found.chapters if chapter.name == "matmul_bias")
    assert fused.reason == "2 operators become one MatMulBias kernel: bias, product"
    # no rule that ran after it went says anything, and those for other operators are counted
    assert "matmul_residual" not in {*chapters, *found.silent}
    assert "softmax" in found.silent
    assert {*found.silent}.isdisjoint(chapters)
    assert "noop_elimination" not in found.silent


def test_near_misses_and_what_it_blocks():
    assert told(story("sum"))["matmul_bias"] == ("sum", "near")
    assert told(story("use"))["matmul_bias"] == ("sum", "blocks")
    (chapter,) = story("sum", "matmul_bias").chapters
    assert chapter.reason == "n, which second makes, is also used by use (Neg)"
    assert chapter.hint is None  # common_subexpression_elimination would undo a copy


def test_a_value_has_no_story_of_its_own():
    found = story("x")
    assert (found.op, found.chapters, found.silent) == ("", (), ())


def test_a_node_inside_a_branch():
    compiled = compile(
        onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
g (float[2, 4] x, bool c) => (float[2, 4] y) {
  [choice] y = If(c) <
    then_branch: graph = yes () => (float[2, 4] s) { [sum] s = Add(x, x) },
    else_branch: graph = no () => (float[2, 4] n) { n = Neg(x) }
  >
}""")
    )
    found = node_story(compiled.steps, compiled.why(None, "sum", every=True), "sum")
    assert (found.op, told(found)["matmul_bias"]) == ("Add", ("sum", "far"))


def test_as_plain_data():
    data = why_data([], [], [], story("sum", "matmul_bias"))
    assert {*data} == {"near_misses", "far_misses", "tallies", "blockers", "story"}
    (chapter,) = json.loads(json.dumps(data))["story"]
    assert (chapter["name"], chapter["at"], chapter["outcome"]) == ("matmul_bias", "sum", "near")
