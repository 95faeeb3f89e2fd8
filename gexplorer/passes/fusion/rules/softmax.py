"""Softmax from the pieces that it consists of."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.norms import reduced_axes
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_EXP = op.Exp(op.Sub("x", op.ReduceMax("x", name="max")))
_SUM = op.ReduceSum(_EXP, name="sum")


class Softmax(Rule):
    """exp(x - max) over its sum becomes one kernel.

    before:  e = Exp(Sub(x, ReduceMax(x))); Div(e, ReduceSum(e))
    after:   Softmax(x)
    """

    name = "softmax"
    order = 606
    kernel = "Softmax"
    saves = "Four round trips of the scores."
    near = 2
    telling = frozenset(("Exp",))
    reads = ("x",)
    pattern = (op.Div(_EXP, _SUM), op.Mul(_EXP, either(op.Reciprocal(_SUM), op.Div(1, _SUM))))
    messages = Map(
        axes=Message("{blocker} ({op}) does not reduce one axis and keep it, the same one as the other reduction"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Maximum and sum must be over the same single axis."""
        for name in ("max", "sum"):
            node = found.named[name]
            axes = reduced_axes(draft, node)
            if axes is None or len(axes) != 1 or axes != reduced_axes(draft, found.named["max"]):
                return Reject("axes", node.name, op=node.op)
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The axis, -1 for the last."""
        (axis,) = reduced_axes(draft, found.named["max"]) or (0,)
        type_ = tensor_of(draft, found["x"])
        return Map(axis=-1 if type_ is not None and type_.rank == axis + 1 else axis)
