"""MatMul that reads a transposed operand as it lies in memory."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


def _swaps_last(perm: object) -> bool:
    return perm is None or (isinstance(perm, Ints) and perm == (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2))


class MatMulTranspose(Rule):
    """MatMul of a transposed operand becomes a MatMul that transposes while it loads.

    before:  MatMul(x, Transpose(w))
    after:   MatMul(x, w) {transpose_b = 1}

    Exporters write the weight of a linear layer so. Folding does away with the Transpose of small weights; large ones,
    and those whose bytes are not there, are left to this rule. It runs before all that look for a MatMul.
    """

    name = "matmul_transpose"
    order = 604
    kernel = "MatMul"
    saves = "One round trip of the transposed operand through memory."
    near = 3
    reads = ("x", "w")
    pattern = op.MatMul("x", op.Transpose("w", name="transpose", attributes={"perm": _swaps_last}))
    messages = Map(
        permutation=Message("{blocker} reverses all axes of {value}, not just the last two"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Without a permutation, a Transpose reverses the axes: that swaps the last two of a matrix alone."""
        type_ = tensor_of(draft, found["w"])
        if found.named["transpose"].attribute("perm") is None and (type_ is None or type_.rank != 2):
            return Reject("permutation", found.named["transpose"].name, value=found["w"])
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """That the second operand is transposed."""
        return Map(transpose_b=1)
