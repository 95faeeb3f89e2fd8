"""MatMul and the bias behind it."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


class MatMulBias(Rule):
    """MatMul + Add of a row becomes one cube kernel with the bias in its epilogue.

    before:  Add(MatMul(x, w), bias)
    after:   MatMulBias(x, w, bias)
    """

    name = "matmul_bias"
    ge_name = "MatMulBiasAddFusionPass"
    order = 660
    kernel = "MatMulBias"
    saves = "One round trip of the product through memory."
    near = 2
    pattern = op.Add(op.MatMul("x", "w"), const("bias", wanted="a constant bias"))
    messages = Map(
        not_a_row=Message("{blocker} is {type}, not one number for each column of the product"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The bias must be a row as long as the product's last dimension."""
        bias, product = tensor_of(draft, found["bias"]), tensor_of(draft, found.root.outputs[0])
        columns = product.shape[-1] if product is not None and product.shape else None
        if bias is None or not bias.shape or bias.shape[-1] != columns or any(d != 1 for d in bias.shape[:-1]):
            return Reject("not_a_row", found["bias"], type=str(bias))
        return None
