"""A pattern does not reach out of a branch: what is made around it is named as the boundary."""

from __future__ import annotations

import onnx

from gexplorer.compiler import compile

MODEL = """<ir_version: 10, opset_import: ["": 18]>
g (float[2, 4] x, bool c) => (float[2, 4] y)
  <float[4, 4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}, float[4] b = {1,2,3,4}> {
  [product] m = MatMul(x, w)
  [choice] y = If(c) <
    then_branch: graph = yes () => (float[2, 4] s) { [sum] s = Add(m, b) },
    else_branch: graph = no () => (float[2, 4] n) { n = Neg(m) }
  >
}"""


def test_what_is_made_around_a_branch_cannot_be_fused_into_it():
    compiled = compile(onnx.parser.parse_model(MODEL), verify="per-step")
    (miss,) = [m for m in compiled.why("matmul_bias") if m.code == "boundary"]
    assert (miss.node, miss.blocker, miss.inside) == ("sum", "m", ("choice",))
    assert miss.reason == "sum reads m, which is made outside of the branch or loop body that sum is in"
    assert miss.hint == "export the model without data-dependent branches and loops"
