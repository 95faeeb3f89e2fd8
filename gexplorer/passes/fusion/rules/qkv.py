"""Query, key and value projections of one input as one MatMul."""

from __future__ import annotations

from collections.abc import Sequence

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.siblings import SIBLING_MESSAGES, SiblingRule, columns


class Qkv(SiblingRule):
    """Three linear layers of one input become one kernel with three results.

    before:  q = MatMulBias(x, wq, bq); k = MatMulBias(x, wk, bk); v = MatMulBias(x, wv, bv)
    after:   q, k, v = QkvMatMul(x, wq, bq, wk, bk, wv, bv)

    The weights lie side by side as one matrix; x is loaded once.
    """

    name = "qkv"
    order = 720
    kernel = "QkvMatMul"
    saves = "Two of three times that the hidden state is read, and two launches."
    reads = ("x",)
    number = 3
    pattern = op("MatMul|MatMulBias|Gemm", "x", const("weight", wanted="a constant weight"))
    messages = SIBLING_MESSAGES

    def describe_family(self, family: Sequence[Match], draft: Draft) -> Map[str, object]:
        """How many columns each result has."""
        return Map(columns=Ints(columns(family, draft)))
