"""Conv of two 8-bit operands."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import QUANT_CONV, CubeEpilogue
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.quantised import DATA, QUANT_MESSAGES, WEIGHTS, data_ok, weights_ok
from gexplorer.passes.fusion.rule import Reject


class QuantisedConv(CubeEpilogue):
    """Conv between DequantizeLinear becomes an int8 kernel that applies the scales to the sum.

    before:  Conv(DequantizeLinear(x), DequantizeLinear(w), DequantizeLinear(b))
    after:   QuantConv2D(x, w, b, scales)

    ``requantise`` adds the QuantizeLinear behind it.
    """

    name = "quantised_conv"
    order = 630
    kernel = QUANT_CONV
    saves = "Three quarters of the weights' bytes, and the float32 operands' way through memory."
    near = 2
    pattern = (
        op.Conv(DATA, WEIGHTS, either(op.DequantizeLinear("b", shared=True), "bias"), name="cube"),
        op.Conv(DATA, WEIGHTS, name="cube", exact=True),
    )
    messages = QUANT_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One scale for the activations; one, or one for each filter, for the weights."""
        return data_ok(draft, found.named["data"]) or weights_ok(draft, found.named["weights"], axis=0)
