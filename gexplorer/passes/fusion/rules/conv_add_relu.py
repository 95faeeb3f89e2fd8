"""Conv, the residual that is added to it, and the activation of the sum."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import CONVS, CubeEpilogue, activated, has_own_gate, same_shape
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.rule import Reject, tensor_of
from gexplorer.trace.records import Message

_CONV = op(CONVS, name="cube")
_SUM = op.Add(either(_CONV, *activated(_CONV)), "residual")


class ConvAddRelu(CubeEpilogue):
    """Conv (with BatchNorm, with activation) + Add of a tensor of the same shape (+ Relu) becomes one kernel.

    before:  Relu(Add(ConvBatchNorm(x, w, ...), residual))
    after:   ConvAdd(x, w, ..., residual) {epilogue = [BatchNormalization, Add, Relu]}

    Runs before ``conv_activation``, which would take the Conv that makes the residual just as well.
    """

    name = "conv_add_relu"
    ge_name = "TbeConv2DEltwisePass"
    order = 682
    kernel = "ConvAdd"
    saves = "Two round trips of the feature map through memory."
    near = 2
    telling = frozenset(CONVS.split("|"))
    latest_first = True
    pattern = (op("Relu|LeakyRelu|Clip|HardSwish|Gelu|Silu|Swish", _SUM), _SUM)
    messages = Map(
        shapes=Message(
            "{blocker} is {type}, {product} is {product_type}: not certainly the same shape",
            "export with shapes that are known, or expand {blocker} before",
        ),
        other_gate=Message("{blocker} multiplies a Conv with the sigmoid of another Conv: a gate, not an activation"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Nothing may be broadcast: a tile of the residual is added to the same tile of the feature map."""
        if not has_own_gate(found):
            return Reject("other_gate", found.named["activation"].name)
        name, product = found["residual"], found.named["cube"].outputs[0]
        if same_shape(draft, name, product):
            return None
        said = "of unknown type"
        types = (tensor_of(draft, name) or said, tensor_of(draft, product) or said)
        return Reject("shapes", name, type=types[0], product=product, product_type=types[1])
