"""MatMulInteger of activations that are quantised at run time."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import QUANT_MATMUL, CubeEpilogue
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, tensor_of
from gexplorer.trace.records import Message

_SCALED = op.Mul(op.Cast(op.MatMulInteger("a", "b", name="cube"), name="cast"), op.Mul("a_scale", "b_scale"))


class DynamicQuantisedMatMul(CubeEpilogue):
    """MatMulInteger + Cast + Mul by both scales becomes one int8 kernel with the scales in its epilogue.

    before:  a, s, z = DynamicQuantizeLinear(x); Mul(Cast(MatMulInteger(a, b, z)), Mul(s, b_scale))
    after:   a, s, z = DynamicQuantizeLinear(x); QuantBatchMatmulV3(a, b, z, s, b_scale)

    Quantising x stays a kernel of its own (CANN: DynamicQuant): it must see all of x first, and other products use it.
    """

    name = "dynamic_quantised_matmul"
    order = 632
    kernel = QUANT_MATMUL
    saves = "Two round trips of the product through memory, at four bytes an element."
    near = 3
    latest_first = True
    pattern = (op.Add(_SCALED, "bias"), _SCALED)
    messages = Map(
        not_a_row=Message("{blocker} is {type}, not one number for each column: a residual, not a bias"),
        widened=Message("{blocker} ({op}) may make {type} of the product, which is {product_type}"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Scales and bias may be broadcast to the product, never the product to them."""
        product, total = (tensor_of(draft, node.outputs[0]) for node in (found.named["cube"], found.root))
        if product is None or total is None or product.shape is None or product.shape != total.shape:
            said = "of unknown type"
            values = {"type": total or said, "product_type": product or said}
            return Reject("widened", found.root.name, op=found.root.op, **values)
        bias = tensor_of(draft, found["bias"]) if "bias" in found.values else None
        if bias is not None and any(dim != 1 for dim in (bias.shape or ())[:-1]):
            return Reject("not_a_row", found["bias"], type=bias)
        return None
