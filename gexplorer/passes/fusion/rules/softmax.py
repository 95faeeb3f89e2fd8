"""Softmax from the pieces that it consists of."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.norms import reduced_axes
from gexplorer.passes.fusion.pattern import Op, either, op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_EXP = op.Exp(op.Sub("x", op.ReduceMax("x", name="max")))
_EXP_ALONE = op.Exp("x")


def _over_sum(exp: Op) -> tuple[Op, Op]:
    total = op.ReduceSum(exp, name="sum")
    return op.Div(exp, total), op.Mul(exp, either(op.Reciprocal(total), op.Div(1, total)))


class Softmax(Rule):
    """exp(x - max) over its sum becomes one kernel, and so does exp(x) over its sum.

    before:  e = Exp(Sub(x, ReduceMax(x))); Div(e, ReduceSum(e))
    after:   Softmax(x)

    Subtracting the maximum changes no result, save where exp(x) is too large a number.
    """

    name = "softmax"
    order = 606
    kernel = "Softmax"
    saves = "Four round trips of the scores."
    near = 2
    telling = frozenset(("Exp",))
    reads = ("x",)
    pattern = (*_over_sum(_EXP), *_over_sum(_EXP_ALONE))
    messages = Map(
        axes=Message("{blocker} ({op}) does not reduce one axis and keep it, the same one as the other reduction"),
        sum_axes=Message("{blocker} (ReduceSum) does not reduce one axis and keep it"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Sum, and maximum where there is one, must be over the same single axis."""
        total = found.named["sum"]
        if "max" not in found.named:
            axes = reduced_axes(draft, total)
            return Reject("sum_axes", total.name) if axes is None or len(axes) != 1 else None
        for name in ("max", "sum"):
            node = found.named[name]
            axes = reduced_axes(draft, node)
            if axes is None or len(axes) != 1 or axes != reduced_axes(draft, found.named["max"]):
                return Reject("axes", node.name, op=node.op)
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The axis, -1 for the last."""
        (axis,) = reduced_axes(draft, found.named["sum"]) or (0,)
        type_ = tensor_of(draft, found["x"])
        return Map(axis=-1 if type_ is not None and type_.rank == axis + 1 else axis)
