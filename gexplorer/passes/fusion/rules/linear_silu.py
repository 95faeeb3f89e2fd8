"""A linear layer and the SiLU behind it."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import MATMULS, CubeEpilogue, has_own_gate
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.trace.records import Message

_LINEAR = op(MATMULS, name="cube")


class LinearSilu(CubeEpilogue):
    """MatMul (with its bias) + SiLU becomes one kernel (article A3's FusedLinearSiLU).

    before:  Silu(MatMulBias(x, w, bias)); Mul(p, Sigmoid(p)) with p = MatMul(x, w)
    after:   FusedLinearSiLU(x, w, bias)

    Runs behind SwiGLU, which saves more with the same SiLU, and before ``matmul_activation``, which is for all of them.
    """

    name = "linear_silu"
    order = 737
    kernel = "FusedLinearSiLU"
    saves = "One round trip of the product through memory."
    near = 2
    pattern = (op("Silu|Swish", _LINEAR), op.Mul(_LINEAR, op.Sigmoid(op(MATMULS, name="gate"))))
    messages = Map(
        other_gate=Message("{blocker} multiplies a product with the sigmoid of another product: a gate, not a SiLU"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """A product with a sigmoid is a SiLU only where both are of the same value."""
        return None if has_own_gate(found) else Reject("other_gate", found.root.name)
