"""An int8 kernel whose result is quantised again."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import QUANT_CONV, QUANT_MATMUL, CubeEpilogue, activated, has_own_gate
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.rule import Reject, tensor_of
from gexplorer.trace.records import Message

_CUBE = op(f"{QUANT_CONV}|{QUANT_MATMUL}", name="cube")


class Requantise(CubeEpilogue):
    """QuantizeLinear behind an int8 kernel (and its activation) goes into the kernel's epilogue.

    before:  QuantizeLinear(Relu(QuantConv2D(x, w, ...)), scale)
    after:   QuantConv2D(x, w, ..., scale) {epilogue = [..., Relu, QuantizeLinear]}

    Runs behind all that makes such kernels.
    """

    name = "requantise"
    ge_name = "TbeConvReluQuantFusionPass"
    order = 636
    kernel = QUANT_CONV
    saves = "One round trip of the result through memory, at four bytes an element."
    near = 2
    pattern = op.QuantizeLinear(either(_CUBE, *activated(_CUBE)), "scale")
    messages = Map(
        one_scale=Message("{blocker} is {type}: the epilogue quantises with one scale", "quantise by tensor"),
        other_gate=Message("{blocker} multiplies a product with the sigmoid of another: a gate, not an activation"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One scale for the whole result."""
        if not has_own_gate(found):
            return Reject("other_gate", found.named["activation"].name)
        type_ = tensor_of(draft, found["scale"])
        if type_ is None or type_.elements != 1:
            return Reject("one_scale", found["scale"], type=type_ or "of unknown type")
        return None
