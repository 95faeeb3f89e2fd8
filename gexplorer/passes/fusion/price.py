"""Whether a fusion pays: the kernels before and after a rewrite, each priced alone, equal rewrites once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gexplorer.cost.graph import GraphCost, cost_of
from gexplorer.cost.over_fusion import over_fusion
from gexplorer.cost.staged import Costs
from gexplorer.hardware.spec import Chip
from gexplorer.ir.draft import Change, Draft, changed_nodes
from gexplorer.ir.graph import Graph, Node, Value, make_graph, program_key
from gexplorer.passes.base import Declined

# How much slower a fusion may be by the rounding of floating-point sums alone.
_ROUNDING = 1e-9


@dataclass(slots=True)
class Price:
    """A judge of rewrites: one that makes its place slower on the chip is declined.

    The place is priced as a small graph of its own: the nodes that the rewrite removed or changed, one after the other
    with what L2 holds between them, against those that it made. What comes from outside is read from memory in both. A
    place with a kernel whose time nobody can tell is not declined, nor is one that is as fast as before.

    Attributes:
        chip: the chip.
        costs: costs of works that are known by now.
        priced: structures that differ, so that were really priced.
    """

    chip: Chip
    costs: Costs = field(init=False)
    priced: int = 0
    _verdicts: dict[object, Declined | None] = field(default_factory=dict["object", "Declined | None"])
    _bodies: dict[Graph, int] = field(default_factory=dict["Graph", int])
    _numbers: dict[object, int] = field(default_factory=dict["object", int])

    def __post_init__(self) -> None:
        self.costs = Costs(self.chip)

    def __call__(self, draft: Draft, changes: Sequence[Change]) -> Declined | None:
        """Why the rewrite that made these changes must be taken back; None where it stays."""
        place = _Place(draft, changes)
        if not place.before or not place.after:
            return None
        key = self._key(place)
        if key not in self._verdicts:
            self.priced += 1
            self._verdicts[key] = self._verdict(place)
        return self._verdicts[key]

    def _verdict(self, place: _Place) -> Declined | None:
        before, after = (cost_of(place.graph(nodes), self.chip, costs=self.costs) for nodes in place.sides)
        if before.uncosted or after.uncosted or after.latency_us <= before.latency_us * (1 + _ROUNDING):
            return None
        said: dict[str, object] = {
            "kernel": next((row.op for row in after.rows), ""),
            "kernels": len(before.rows),
            "before_us": before.latency_us,
            "after_us": after.latency_us,
            "before_bytes": before.hbm_bytes,
            "after_bytes": after.hbm_bytes,
        }
        overflow = _overflow(after, self.costs)
        return Declined("does_not_fit", {**said, **overflow}) if overflow else Declined("does_not_pay", said)

    def _key(self, place: _Place) -> object:
        """Equal keys mean equal prices: operators, attributes, types and ties, without names."""
        order: dict[str, int] = {"": 0}
        nodes = tuple(
            (
                node.op,
                node.domain,
                node.attributes,
                tuple([order.setdefault(name, len(order)) for name in node.inputs]),
                tuple([order.setdefault(name, len(order)) for name in node.outputs]),
                -1 if node.body is None else self._body(node.body),
            )
            for side in place.sides
            for node in side
        )
        values = tuple([_value_key(place.value(name), name in place.results) for name in order])
        return len(place.before), nodes, values

    def _body(self, body: Graph) -> int:
        """A number for the structure of a kernel's body; its values are named by their places."""
        known = self._bodies.get(body)
        if known is None:
            nodes = tuple(
                (n.op, n.domain, n.attributes, n.inputs, n.outputs, -1 if n.body is None else self._body(n.body))
                for n in body.order
            )
            values = frozenset([(name, _value_key(value, False)) for name, value in body.values.items()])
            key = (nodes, values, body.outputs)
            known = self._bodies[body] = self._numbers.setdefault(key, len(self._numbers))
        return known


class _Place:
    """What a rewrite took away and what it made, with what is known of the values around.

    Attributes:
        before: the nodes that were removed or changed, as they were, in program order.
        after: those that were added or changed, as they are.
        results: what they make that others use.
    """

    def __init__(self, draft: Draft, changes: Sequence[Change]) -> None:
        self._draft = draft
        self._old: dict[str, Value] = {}
        for change in changes:
            if change.kind == "value" and isinstance(change.old, Value):
                self._old.setdefault(change.name, change.old)
        pairs = [*changed_nodes(changes)]
        self.before = sorted([old for old, _ in pairs if old is not None], key=program_key)
        self.after = sorted([new for _, new in pairs if new is not None], key=program_key)
        self.sides = (self.before, self.after)
        inside: dict[str, int] = {}
        for node in self.after:
            for name in {*node.uses}:
                inside[name] = inside.get(name, 0) + 1
        made = {name for side in self.sides for node in side for name in node.outputs if name}
        self.results = {name for name in made if draft.use_count(name) > inside.get(name, 0)}

    def value(self, name: str) -> Value | None:
        """A value of either side."""
        found = self._draft.value(name) if name else None
        return found if found is not None else self._old.get(name)

    def graph(self, nodes: Sequence[Node]) -> Graph:
        """The nodes of one side as a graph of their own."""
        made = {name: node.name for node in nodes for name in node.outputs if name}
        used = dict.fromkeys(name for node in nodes for name in node.uses)
        values = {name: self.value(name) or Value(name) for name in (*made, *used)}
        return make_graph(
            "place",
            inputs=[replace(v, producer="") for n, v in values.items() if n not in made and v.constant is None],
            nodes=nodes,
            values=[
                replace(v, producer=made.get(n, "")) for n, v in values.items() if n in made or v.constant is not None
            ],
            outputs=tuple(name for name in made if name in self.results),
            opsets=self._draft.opsets,
        )


def _value_key(value: Value | None, is_result: bool) -> object:
    if value is None:
        return is_result
    data = value.constant
    if data is None:
        return value.type, is_result
    # Single numbers say what an operator does (an exponent); of larger data only the size matters.
    return value.type, is_result, data.key if data.elements == 1 and data.is_small else None


def _overflow(after: GraphCost, costs: Costs) -> Mapping[str, object]:
    """What a kernel wants of a buffer that has less; empty where all fit."""
    for warning in over_fusion(after, costs):
        if warning.need_bytes > warning.capacity_bytes:
            return {
                "kernel": warning.op,
                "buffer": warning.buffer.upper(),
                "need_bytes": warning.need_bytes,
                "excess_bytes": warning.need_bytes - warning.capacity_bytes,
                "spilled_bytes": warning.spilled_bytes,
            }
    return {}
