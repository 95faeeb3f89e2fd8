"""Rotary position embedding from the pieces that exporters write."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.halves import half_of
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import Pattern, either, op
from gexplorer.passes.fusion.region import MOVES, Region
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


def _half(which: int) -> Pattern:
    return either(op.Slice("x", name=f"half{which}"), op.Split("x", name=f"half{which}", output=which))


_LOW, _HIGH = _half(0), _half(1)


class RotaryEmbedding(Rule):
    """x · cos + rotate_half(x) · sin becomes one kernel.

    before:  Add(Mul(x, cos), Mul(Concat(Neg(Slice(x)), Slice(x)), sin))
             Concat(Sub(Mul(low, cos), Mul(high, sin)), Add(Mul(high, cos), Mul(low, sin)))
    after:   RotaryPositionEmbedding(x, cos, sin)

    Slices may be the outputs of a Split. The transposition that splits the heads, and casts to float32 and back, come
    along where nothing else needs them. The operator RotaryEmbedding stays as it is.
    """

    name = "rotary_embedding"
    order = 620
    kernel = "RotaryPositionEmbedding"
    saves = "Six round trips of the query or key through memory."
    near = 4
    reads = ("x", "cos", "sin")
    pattern = (
        op.Add(
            op.Mul("x", "cos"),
            op.Mul(op.Concat(op.Neg(_HIGH), _LOW, name="concat", exact=True), "sin"),
        ),
        op.Concat(
            op.Sub(op.Mul(_LOW, "cos"), op.Mul(_HIGH, "sin")),
            op.Add(op.Mul(_HIGH, "cos"), op.Mul(_LOW, "sin")),
            name="concat",
            exact=True,
        ),
    )
    messages = Map(
        half=Message("{blocker} ({op}) does not take the {wanted} half of the last axis of {x}"),
        axis=Message("{blocker} joins the halves along axis {axis}, not the last"),
        widens=Message("{blocker} is {type}, but {x} is {x_type}: cos and sin widen it"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The halves must be halves, joined the other way round, and of the same shape as before."""
        x, result, concat = tensor_of(draft, found["x"]), tensor_of(draft, found.root.outputs[0]), found.named["concat"]
        for which, wanted in enumerate(("first", "second")):
            node = found.named[f"half{which}"]
            output = node.outputs[which if node.op == "Split" else 0]
            if half_of(draft, node, output) != which:
                return Reject("half", node.name, op=node.op, wanted=wanted, x=found["x"])
        if x is None or x.rank is None or concat.integer("axis", 0) not in (-1, x.rank - 1):
            return Reject("axis", concat.name, axis=concat.attribute("axis"))
        if result is None or result.shape != x.shape:
            return Reject("widens", found.root.name, type=str(result), x=found["x"], x_type=str(x))
        return None

    def extend(self, found: Match, draft: Draft) -> Match:
        """Takes in how the heads are laid out, and a cast back to the type that came."""
        region = Region(draft, found.nodes)
        x = region.up(found["x"], MOVES)
        before, after = tensor_of(draft, x), tensor_of(draft, found.root.outputs[0])
        if before is not None and after is not None and before.dtype != after.dtype:
            region.down(found.root.outputs[0], ("Cast",))
        return replace(found, nodes=region.nodes, values={**found.values, "x": x})
