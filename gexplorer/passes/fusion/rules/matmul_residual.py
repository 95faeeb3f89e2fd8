"""MatMul and the residual that is added to it."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import MATMULS, CubeEpilogue, same_shape
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, tensor_of
from gexplorer.trace.records import Message


class MatMulResidual(CubeEpilogue):
    """MatMul (with bias and activation) + Add (or Sum) of a tensor of the same shape becomes one kernel.

    before:  Add(residual, MatMulBias(x, w, bias))
    after:   MatMulResidual(x, w, bias, residual) {epilogue = [Add, Add]}

    Runs behind Add + norm, which saves more with the same Add.
    """

    name = "matmul_residual"
    ge_name = None
    order = 739
    kernel = "MatMulResidual"
    saves = "One round trip of the product through memory."
    near = 2
    pattern = op("Add|Sum", op(f"{MATMULS}|MatMulActivation", name="cube"), "residual", exact=True)
    messages = Map(
        shapes=Message(
            "{blocker} is {type}, {product} is {product_type}: not certainly the same shape",
            "export with shapes that are known, or expand {blocker} before",
        ),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Nothing may be broadcast: a tile of the residual is added to the same tile of the product."""
        name, product = found["residual"], found.named["cube"].outputs[0]
        if same_shape(draft, name, product):
            return None
        said = "of unknown type"
        types = (tensor_of(draft, name) or said, tensor_of(draft, product) or said)
        return Reject("shapes", name, type=types[0], product=product, product_type=types[1])
