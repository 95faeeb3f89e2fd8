"""Editing a graph: a draft takes one, changes it, and gives a new one; the old one stays as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from immutables import Map

from gexplorer.ir.constant import Constant, constant
from gexplorer.ir.graph import NO_ATTRIBUTES, Graph, Graphs, Node, Value, make_graph, program_key, serial_of
from gexplorer.ir.nameset import NameIndex, name_set

if TYPE_CHECKING:
    import numpy as np

    from gexplorer.ir.types import TensorType, Type

# Distance of neighbours in program order after parsing; leaves room for nodes inserted between them.
POSITION_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of a graph replaced: undo puts ``old`` back, redo ``new``; None means absent.

    Attributes:
        kind: which map: ``node``, ``value`` or ``outputs``.
        name: the key.
        old: what was there.
        new: what is there now.
    """

    kind: Literal["node", "value", "outputs"]
    name: str
    old: Node | Value | tuple[str, ...] | None
    new: Node | Value | tuple[str, ...] | None


class Draft:
    """A graph being edited.

    Reading shows the state after the edits so far. A draft of a nested graph gets the draft of the graph around
    it as ``parent``: then values around are visible and fresh names are unique in all of them.
    """

    def __init__(self, graph: Graph, parent: Draft | None = None) -> None:
        self.base = graph
        self.parent = parent
        self.inputs = graph.inputs
        self.outputs = graph.outputs
        self.opsets = graph.opsets
        self.changes: list[Change] = []
        self._nodes = graph.nodes.mutate()
        self._values = graph.values.mutate()
        self._users = NameIndex(graph.users)
        self._by_op = NameIndex(graph.by_op)
        self._nested = dict.fromkeys(graph.nested)
        self._results = frozenset(graph.outputs)
        self._serial = graph.serial
        self._inserted: dict[str, int] = {}
        self.tried = 0  # candidates handed out, those of nested graphs included once their drafts are finished

    # -- reading ----------------------------------------------------------------------------------------------

    def __contains__(self, node: str) -> bool:
        return node in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, name: str) -> Node:
        """The node of that name; raises KeyError where there is none."""
        return self._nodes[name]

    def current(self, node: Node) -> Node | None:
        """What has become of a node seen earlier: itself, its changed form, or None if it is gone."""
        return self._nodes.get(node.name)

    def value(self, name: str) -> Value | None:
        """The value of that name here or in a graph around."""
        found = self._values.get(name)
        if found is None and self.parent is not None:
            return self.parent.value(name)
        return found

    def tensor(self, name: str) -> TensorType | None:
        """The tensor type of a value here or in a graph around, None where it is unknown or no tensor."""
        found = self.value(name)
        return found.tensor if found is not None else None

    def own_value(self, name: str) -> Value | None:
        """The value of that name, only if it belongs to this graph."""
        return self._values.get(name)

    def constant_of(self, name: str) -> Constant | None:
        """The data of a constant, None for any other value."""
        found = self.value(name)
        return found.constant if found is not None else None

    def producer(self, value: str) -> Node | None:
        """The node of this graph that makes a value."""
        found = self._values.get(value)
        return self._nodes[found.producer] if found is not None and found.producer else None

    def producer_around(self, value: str) -> Node | None:
        """The node that makes a value in one of the graphs around this one; None for values of this graph."""
        draft = self.parent if value not in self._values else None
        while draft is not None:
            if value in draft._values:
                return draft.producer(value)
            draft = draft.parent
        return None

    def users(self, value: str) -> tuple[Node, ...]:
        """The nodes of this graph that use a value, by position."""
        found = [self._nodes[name] for name in self._users.get(value)]
        return tuple(sorted(found, key=program_key) if len(found) > 1 else found)

    def use_count(self, value: str) -> int:
        """Number of nodes of this graph that use a value, plus one if it is a result."""
        return self._users.count(value) + (value in self._results)

    def is_result(self, value: str) -> bool:
        """True when the value is a result of this graph."""
        return value in self._results

    def is_read(self, node: Node) -> bool:
        """True when a node of this graph, or whoever gets its results, reads one of the node's outputs."""
        return any(self.use_count(output) for output in node.outputs if output)

    def candidates(self, *ops: str) -> list[Node]:
        """The nodes of these operators (of any domain), by position: roots that a rule looks at; they are counted."""
        names = (name for op in ops for name in self._by_op.get(op))
        found = sorted((self._nodes[name] for name in names), key=program_key)
        self.tried += len(found)
        return found

    def ops(self) -> tuple[str, ...]:
        """The operators that occur."""
        return tuple(sorted(self._by_op.keys()))

    def nested_nodes(self) -> list[Node]:
        """The nodes with nested graphs, by position."""
        return sorted((self._nodes[name] for name in self._nested), key=program_key)

    def constants(self) -> list[Value]:
        """The constants of this graph, sorted by name."""
        values = self._values.finish()  # a map being edited cannot be walked through
        self._values = values.mutate()
        return sorted((v for v in values.values() if v.constant is not None), key=lambda v: v.name)

    def unused_constants(self) -> list[Value]:
        """The constants of this graph that nothing uses, sorted by name."""
        return [value for value in self.constants() if not self.use_count(value.name)]

    def anchor(self) -> Node | None:
        """The first node, to hang a record on that is about no node; None in a graph without nodes."""
        nodes = self._nodes.finish()
        self._nodes = nodes.mutate()
        return min(nodes.values(), key=program_key, default=None)

    # -- writing ----------------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> None:
        """Adds a node, or replaces the one of the same name. Its output values must be put separately."""
        self._apply(Change("node", node.name, self._nodes.get(node.name), node))

    def put_value(self, value: Value) -> None:
        """Adds a value, or replaces the one of the same name."""
        self._apply(Change("value", value.name, self._values.get(value.name), value))

    def drop_value(self, name: str) -> None:
        """Removes a value that nothing uses any more."""
        self._apply(Change("value", name, self._values[name], None))

    def drop_node(self, name: str) -> None:
        """Removes a node whose output values another node makes from now on, or that are dropped separately."""
        self._apply(Change("node", name, self._nodes[name], None))

    def set_outputs(self, outputs: Iterable[str]) -> None:
        """Makes other values the results; their outside names stay."""
        new = tuple(outputs)
        if new != self.outputs:
            self._apply(Change("outputs", "", self.outputs, new))

    def remove(self, node: Node) -> None:
        """Removes a node and its outputs, which nothing may use any more."""
        self._apply(Change("node", node.name, self._nodes[node.name], None))
        for output in node.outputs:
            if output:
                self.drop_value(output)

    def update(
        self,
        node: Node,
        *,
        inputs: tuple[str, ...] | None = None,
        attributes: Map[str, object] | None = None,
        origin: tuple[str, ...] | None = None,
    ) -> Node:
        """Gives a node other inputs, attributes or origin; its outputs stay."""
        new = replace(
            node,
            inputs=node.inputs if inputs is None else inputs,
            attributes=node.attributes if attributes is None else attributes,
            origin=node.origin if origin is None else origin,
        )
        self.put_node(new)
        return new

    def insert(
        self,
        before: Node,
        op: str,
        inputs: tuple[str, ...],
        output_types: tuple[Type | None, ...],
        *,
        attributes: Map[str, object] = NO_ATTRIBUTES,
        domain: str = "",
        origin: tuple[str, ...] = (),
        body: Graph | None = None,
    ) -> Node:
        """Adds a node just before another in program order, with fresh names for it and its outputs."""
        count = self._inserted[before.name] = self._inserted.get(before.name, 0) + 1
        node = Node(
            name=self.fresh(f"{before.name}/{op}"),
            op=op,
            inputs=inputs,
            outputs=tuple(self.fresh(f"{before.name}/{op}") for _ in output_types),
            attributes=attributes,
            domain=domain,
            origin=origin or before.origin,
            position=before.position - (POSITION_STEP >> min(count, 20)),
            scope=before.scope,
            body=body,
        )
        for name, type_ in zip(node.outputs, output_types, strict=True):
            self.put_value(Value(name, type_, producer=node.name))
        self.put_node(node)
        return node

    def add_constant(self, array: np.ndarray, base: str) -> str:
        """Adds a constant of an array; returns its name."""
        from gexplorer.ir.types import TensorType

        data = constant(array)
        name = self.fresh(base)
        self.put_value(Value(name, TensorType(data.dtype, data.shape), constant=data))
        return name

    def with_origin(self, name: str, origin: tuple[str, ...]) -> Node:
        """A node as it is now, with another origin."""
        return replace(self._nodes[name], origin=origin)

    def replace_uses(self, old: str, new: str) -> None:
        """Makes every user of one value (nested graphs and results included) use another instead."""
        for node in self.users(old):
            inputs = tuple(new if name == old else name for name in node.inputs)
            attributes = node.attributes
            if old in node.captures:
                attributes = Map({key: _rename_capture(value, old, new) for key, value in attributes.items()})
            self.put_node(replace(node, inputs=inputs, attributes=attributes))
        if old in self._results:
            self.set_outputs(new if name == old else name for name in self.outputs)

    def fresh(self, base: str) -> str:
        """A name that no graph around or within has; deterministic."""
        root = self
        while root.parent is not None:
            root = root.parent
        name = f"{base.rsplit('@', 1)[0] if serial_of(base) >= 0 else base}@{root._serial}"
        root._serial += 1
        return name

    def apply(self, changes: Iterable[Change], *, undo: bool = False) -> None:
        """Replays recorded changes, or takes them back (last one first)."""
        if undo:
            for change in reversed(tuple(changes)):
                self._apply(Change(change.kind, change.name, change.new, change.old))
        else:
            for change in changes:
                self._apply(change)

    def take_back(self, start: int) -> None:
        """Undoes the changes from this number on, as if they had never been made; fresh names stay used up."""
        self.apply(self.changes[start:], undo=True)
        del self.changes[start:]

    def finish(self) -> Graph:
        """The edited graph; the very same object when nothing changed. The draft must not be used afterwards."""
        if not self.changes:
            return self.base
        return replace(
            self.base,
            outputs=self.outputs,
            nodes=self._nodes.finish(),
            values=self._values.finish(),
            users=self._users.finish(),
            by_op=self._by_op.finish(),
            nested=name_set(list(self._nested)),
            serial=self._serial,
        )

    # -- the three maps behind ----------------------------------------------------------------------------------

    def _apply(self, change: Change) -> None:
        self.changes.append(change)
        old, new = change.old, change.new
        if change.kind == "value":
            _assign(self._values, change.name, new)
        elif change.kind == "outputs":
            assert isinstance(new, tuple)
            self.outputs = new
            self._results = frozenset(new)
        else:
            assert old is None or isinstance(old, Node)
            assert new is None or isinstance(new, Node)
            _assign(self._nodes, change.name, new)
            self._index(change.name, old, new)

    def _index(self, name: str, old: Node | None, new: Node | None) -> None:
        before = old.uses if old is not None else ()
        after = new.uses if new is not None else ()
        if before != after:
            for value in before:
                if value not in after:
                    self._users.discard(value, name)
            for value in after:
                if value not in before:
                    self._users.add(value, name)
        old_op = old.op if old is not None else None
        new_op = new.op if new is not None else None
        if old_op != new_op:
            if old_op is not None:
                self._by_op.discard(old_op, name)
            if new_op is not None:
                self._by_op.add(new_op, name)
        if new is not None and new.attributes and new.graphs:
            self._nested[name] = None
        else:
            self._nested.pop(name, None)


def changed_nodes(changes: Iterable[Change]) -> Iterator[tuple[Node | None, Node | None]]:
    """Per node that the changes touched: its state before the first and after the last of them."""
    first: dict[str, Node | None] = {}
    last: dict[str, Node | None] = {}
    for change in changes:
        if change.kind == "node":
            old, new = change.old, change.new
            assert old is None or isinstance(old, Node)
            assert new is None or isinstance(new, Node)
            first.setdefault(change.name, old)
            last[change.name] = new
    for name, old in first.items():
        if old is not last[name]:
            yield old, last[name]


def empty_graph(
    name: str,
    *,
    opsets: Mapping[str, int],
    inputs: Iterable[Value] = (),
    defaults: Mapping[str, Constant] = Map(),
) -> Graph:
    """A graph with inputs and nothing else, to be filled through a draft."""
    return make_graph(name, inputs=inputs, nodes=(), values=(), outputs=(), opsets=opsets, defaults=defaults)


def _assign(mapping: object, key: str, new: object) -> None:
    if new is None:
        del mapping[key]  # pyright: ignore
    else:
        mapping[key] = new  # pyright: ignore


def _rename_capture(value: object, old: str, new: str) -> object:
    if isinstance(value, Graph):
        draft = Draft(value)
        draft.replace_uses(old, new)
        return draft.finish()
    if isinstance(value, Graphs):
        return Graphs(_rename_capture(graph, old, new) for graph in value)  # pyright: ignore
    return value
