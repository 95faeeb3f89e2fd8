"""MatMul and the activation behind it."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import MATMULS, CubeEpilogue, activated, has_own_gate
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.trace.records import Message


class MatMulActivation(CubeEpilogue):
    """MatMul (with its bias) + activation becomes one kernel: Linear + SiLU is FusedLinearSiLU.

    before:  Gelu(MatMulBias(x, w, bias))
    after:   MatMulActivation(x, w, bias) {epilogue = [Gelu]}

    Runs behind SwiGLU and FFN, which save more with the same activation.
    """

    name = "matmul_activation"
    ge_name = "ATbeMatmulElemwiseFusionPass"
    order = 738
    kernel = "MatMulActivation"
    saves = "One round trip of the product through memory."
    near = 2
    latest_first = True
    pattern = activated(op(MATMULS, name="cube"))
    messages = Map(
        other_gate=Message(
            "{blocker} multiplies a product with the sigmoid of another product: a gate, not an activation"
        ),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """A product with a sigmoid is an activation only where both are of the same value."""
        return None if has_own_gate(found) else Reject("other_gate", found.root.name)
