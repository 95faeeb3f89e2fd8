"""MatMul that reads a transposed operand as it lies in memory."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message


class MatMulTranspose(Rule):
    """MatMul of a transposed operand becomes a MatMul that transposes while it loads.

    before:  MatMul(x, Transpose(w))
    after:   MatMul(x, w) {transpose_b = 1}

    Exporters write the weight of a linear layer so. Folding does away with the Transpose of small weights; those of large
    ones, and of weights whose bytes are not there, are left to this rule. It runs before all that look for a MatMul.
    """

    name = "matmul_transpose"
    order = 604
    kernel = "MatMul"
    saves = "One round trip of the transposed operand through memory."
    near = 2
    reads = ("x", "w")
    pattern = op.MatMul("x", op.Transpose("w", name="transpose"))
    messages = Map(
        permutation=Message("{blocker} does more than swap the last two axes: it permutes by {perm}"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The last two axes are swapped, and no others."""
        perm = found.named["transpose"].integers("perm")
        rank = len(perm) if perm is not None else 2
        if perm is not None and perm != (*range(rank - 2), rank - 1, rank - 2):
            return Reject("permutation", found.named["transpose"].name, perm=", ".join(map(str, perm)))
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """That the second operand is transposed."""
        return Map(transpose_b=1)
