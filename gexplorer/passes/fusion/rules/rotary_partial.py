"""Rotary position embedding of a part of each head."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.halves import part_of
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import Op, Pattern, either, op
from gexplorer.passes.fusion.region import MOVES, Region
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


def _part(name: str, output: int) -> Pattern:
    return either(op.Slice("x", name=name), op.Split("x", name=name, output=output))


def _turned(output: int) -> Op:
    return op.RotaryPositionEmbedding(_part("turned", output), "cos", "sin", name="rotary")


class RotaryPartial(Rule):
    """A rotary embedding of some elements of each head, joined with the others again, becomes one kernel.

    before:  Concat(RotaryPositionEmbedding(x[..., :r], cos, sin), x[..., r:])
    after:   RotaryPositionEmbedding(x, cos, sin) {rotary_dim = r}

    GPT-NeoX, Phi and ChatGLM turn the first elements of a head, DeepSeek the last. Runs behind the rules that make the
    embedding.
    """

    name = "rotary_partial"
    order = 622
    kernel = "RotaryPositionEmbedding"
    saves = "Cutting the query or key in two and joining it again: two round trips through memory."
    near = 3
    telling = frozenset(("RotaryPositionEmbedding",))
    reads = ("x", "cos", "sin")
    pattern = (
        op.Concat(_turned(0), _part("rest", 1), name="concat", exact=True),
        op.Concat(_part("rest", 0), _turned(1), name="concat", exact=True),
    )
    messages = Map(
        axis=Message("{blocker} joins the parts along axis {axis}, not the last"),
        parts=Message("{turned} and {blocker} do not take {x} apart where {concat} joins it: one of them is elsewhere"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Both parts together must be what was cut, in the same order."""
        concat, x = found.named["concat"], tensor_of(draft, found["x"])
        if x is None or not x.shape or concat.integer("axis", 0) not in (-1, len(x.shape) - 1):
            return Reject("axis", concat.name, axis=concat.attribute("axis"))
        first, second = ("turned", "rest") if self._is_first(found) else ("rest", "turned")
        parts = [self._part(found, name, draft) for name in (first, second)]
        if None in parts or parts[0] != (0, parts[1][0]) or parts[1][1] != x.shape[-1]:  # pyright: ignore
            turned, rest = found.named["turned"].name, found.named["rest"].name
            return Reject("parts", rest, turned=turned, x=found["x"], concat=concat.name)
        return None

    def extend(self, found: Match, draft: Draft) -> Match:
        """Takes in how the heads are laid out."""
        region = Region(draft, found.nodes)
        x = region.up(found["x"], MOVES)
        return replace(found, nodes=region.nodes, values={**found.values, "x": x})

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """How many elements of each head are turned, from which on if not the first, and in which mode."""
        start, end = self._part(found, "turned", draft) or (0, 0)
        known = found.named["rotary"].attributes.set("rotary_dim", end - start)
        return known.set("rotary_offset", start) if start else known

    @staticmethod
    def _is_first(found: Match) -> bool:
        return found.named["concat"].inputs[0] == found.named["rotary"].outputs[0]

    def _part(self, found: Match, name: str, draft: Draft) -> tuple[int, int] | None:
        node, is_second = found.named[name], (name == "turned") != self._is_first(found)
        return part_of(draft, node, node.outputs[is_second if node.op == "Split" else 0])
