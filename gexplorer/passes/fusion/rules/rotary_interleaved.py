"""Rotary position embedding of neighbouring elements, as GPT-J has it."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.halves import every_other_of
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import Op, Pattern, either, op
from gexplorer.passes.fusion.region import MOVES, Region
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


def _part(which: int) -> Pattern:
    name = f"part{which}"
    return either(
        op("Slice|Gather", "x", name=name),
        op.Squeeze(op.Split("x", name=name, output=which)),
    )


def _pairs(first: Pattern, second: Pattern) -> Op:
    """Two tensors interleaved: each an axis longer, joined along it."""
    return op.Concat(op.Unsqueeze(first), op.Unsqueeze(second), name="concat", exact=True)


_EVEN, _ODD = _part(0), _part(1)


class RotaryInterleaved(Rule):
    """Rotary embedding of the elements at even places with their neighbours becomes one kernel.

    before:  Add(Mul(x, cos), Mul(Reshape(Concat(Unsqueeze(Neg(odd)), Unsqueeze(even))), sin))
             Reshape(Concat(Unsqueeze(Sub(Mul(even, cos), Mul(odd, sin))), Unsqueeze(Add(Mul(odd, cos), …))))
    after:   RotaryPositionEmbedding(x, cos, sin) {mode = 1}

    The places are taken by a Slice of step 2, or by a Gather or Split of pairs that a Reshape made. The mode is CANN's
    number for ``rotate_interleaved``. Runs before ``rotary_embedding``, which is for halves.
    """

    name = "rotary_interleaved"
    order = 619
    kernel = "RotaryPositionEmbedding"
    saves = "Eight round trips of the query or key through memory."
    near = 5
    telling = frozenset(("Neg", "Sub"))
    reads = ("x", "cos", "sin")
    pattern = (
        op.Add(
            op.Mul("x", "cos"),
            op.Mul(op.Reshape(_pairs(op.Neg(_ODD), _EVEN), name="joined"), "sin"),
        ),
        _pairs(
            op.Sub(op.Mul(_EVEN, "cos"), op.Mul(_ODD, "sin")),
            op.Add(op.Mul(_ODD, "cos"), op.Mul(_EVEN, "sin")),
        ),
    )
    messages = Map(
        part=Message("{blocker} ({op}) does not take the elements at {wanted} places of the last axis of {x}"),
        axis=Message("{blocker} joins along axis {axis}, not along the new last one"),
        layout=Message("what {blocker} interleaves is not laid out like {x} ({x_type}) by one Reshape alone"),
        widens=Message("{blocker} is {type}, but {x} is {x_type}: cos and sin widen it"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Even and odd places must be told apart rightly, put back in between each other, and keep their shape."""
        concat, x = found.named["concat"], tensor_of(draft, found["x"])
        for which, wanted in enumerate(("even", "odd")):
            node = found.named[f"part{which}"]
            output = node.outputs[which if node.op == "Split" else 0]
            if every_other_of(draft, node, output) != which:
                return Reject("part", node.name, op=node.op, wanted=wanted, x=found["x"])
        pairs = tensor_of(draft, concat.outputs[0])
        last = (-1, len(pairs.shape) - 1) if pairs is not None and pairs.shape and pairs.shape[-1] == 2 else ()
        if pairs is None or pairs.shape is None or concat.integer("axis", 0) not in last:
            return Reject("axis", concat.name, axis=concat.attribute("axis"))
        joined = found.named.get("joined") or self._joined(concat, draft)
        made = tensor_of(draft, joined.outputs[0]) if joined is not None else None
        if x is None or x.shape is None or made is None or made.shape != _flat(x.shape, pairs.shape):
            return Reject("layout", concat.name, x=found["x"], x_type=str(x))
        result = tensor_of(draft, found.root.outputs[0])
        if found.root is not concat and (result is None or result.shape != x.shape):
            return Reject("widens", found.root.name, type=str(result), x=found["x"], x_type=str(x))
        return None

    def extend(self, found: Match, draft: Draft) -> Match:
        """Takes in the Reshapes to pairs and back, how heads are laid out, and a cast back to the type that came."""
        region = Region(draft, found.nodes)
        x = region.up(found["x"], MOVES)
        result = found.root.outputs[0]
        if found.root is found.named["concat"]:
            result = region.down(result, ("Reshape",))
        before, after = tensor_of(draft, x), tensor_of(draft, result)
        if before is not None and after is not None and before.dtype != after.dtype:
            region.down(result, ("Cast",))
        region.settle()
        return replace(found, nodes=region.nodes, values={**found.values, "x": x})

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """CANN's mode."""
        return Map(mode=1)

    @staticmethod
    def _joined(concat: Node, draft: Draft) -> Node | None:
        """The Reshape behind the pairs."""
        users = draft.users(concat.outputs[0])
        alone = len(users) == 1 and not draft.is_result(concat.outputs[0])
        return users[0] if alone and users[0].op == "Reshape" else None


def _flat(x: tuple[object, ...], pairs: tuple[object, ...]) -> tuple[object, ...]:
    """The shape of x where its pairs are no axis of their own."""
    if len(x) == len(pairs) and x[-1] == 2 and isinstance(x[-2], int):
        return (*x[:-2], 2 * x[-2])
    return x
