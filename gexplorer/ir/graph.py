"""The immutable graph: nodes, values, and the indexes over them, all persistent.

A ``Graph`` never changes. A ``Draft`` (``ir/draft.py``) takes one, edits it and gives a new one that shares all
that was not touched: the maps are hash-array-mapped tries, so an edit costs what it touches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.errors import VerifyError
from gexplorer.ir.constant import Constant
from gexplorer.ir.nameset import EMPTY, NameSet, name_set
from gexplorer.ir.types import TensorType, Type

if TYPE_CHECKING:
    import onnx


class Ints(tuple[int, ...]):
    """An attribute that is a list of integers."""

    __slots__ = ()


class Floats(tuple[float, ...]):
    """An attribute that is a list of floats."""

    __slots__ = ()


class Strings(tuple[str | bytes, ...]):
    """An attribute that is a list of strings."""

    __slots__ = ()


class Graphs(tuple["Graph", ...]):
    """An attribute that is a list of graphs."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OpaqueAttribute:
    """An attribute that passes through untouched: its serialised ``onnx.AttributeProto``."""

    proto: bytes


NO_ATTRIBUTES: Map[str, object] = Map()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operator of a graph.

    Attributes:
        name: unique in its graph.
        op: operator, as ONNX names it.
        domain: "" for ai.onnx.
        inputs: names of values; "" for an optional input that is absent.
        outputs: names of values; "" for an optional output that is absent.
        attributes: int, float, str, bytes, Ints, Floats, Strings, Constant, Graph, Graphs or OpaqueAttribute.
        origin: names of the ONNX nodes that this one came from.
        position: place in program order; ties and crossings are resolved by ``Graph.order``.
        scope: the module that the exporter wrote the node for, such as ``model.layers.0.mlp``.
        partition: the part of the graph that one engine runs at a stretch; "" while the graph is one part.
        body: what a fused node computes, in terms of its own inputs and outputs; None for an ONNX operator.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Map[str, object] = NO_ATTRIBUTES
    domain: str = ""
    origin: tuple[str, ...] = ()
    position: int = 0
    scope: str = ""
    partition: str = ""
    body: Graph | None = None

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Graphs nested in the attributes (branches and loop bodies); they see the values around the node."""
        if not self.attributes:
            return ()
        found: list[Graph] = []
        for value in self.attributes.values():
            if isinstance(value, Graph):
                found.append(value)
            elif isinstance(value, Graphs):
                found.extend(value)
        return tuple(found)

    @property
    def captures(self) -> tuple[str, ...]:
        """Names that the nested graphs use from around the node, without doubles."""
        graphs = self.graphs
        return tuple(dict.fromkeys(name for graph in graphs for name in graph.captures)) if graphs else ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Every value that the node needs: present inputs, then captures; may hold doubles."""
        inputs = tuple(name for name in self.inputs if name) if "" in self.inputs else self.inputs
        return inputs + self.captures if self.attributes else inputs

    def attribute(self, name: str, default: object = None) -> object:
        """The attribute's value, or the default where it is absent."""
        return self.attributes.get(name, default)

    def integer(self, name: str, default: int) -> int:
        """An integer attribute; raises VerifyError where it is of another kind."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise VerifyError(self.name, f"attribute {name} must be an integer")
        return value

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list-of-integers attribute, None where absent; raises VerifyError where it is of another kind."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, Ints):
            raise VerifyError(self.name, f"attribute {name} must be a list of integers")
        return tuple(value)

    def __repr__(self) -> str:
        return f"Node({self.name!r}, {self.op}, {self.inputs} -> {self.outputs})"


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One value of a graph: an input, a constant or the output of a node.

    Attributes:
        name: unique in its graph and in all graphs nested in it.
        type: what was inferred from the graph's inputs; None where unknown.
        producer: name of the node that makes it, "" for inputs and constants.
        constant: the constant's data, None for other values.
        declared: the type that the file declares, a hint that may be false.
    """

    name: str
    type: Type | None = None
    producer: str = ""
    constant: Constant | None = None
    declared: Type | None = None

    @property
    def tensor(self) -> TensorType | None:
        """The type, where it is a tensor's."""
        return self.type if isinstance(self.type, TensorType) else None

    def __repr__(self) -> str:
        return f"Value({self.name!r}, {self.type})"


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph of nodes in static single assignment; a persistent value.

    Attributes:
        name: for people.
        inputs: names of input values, in order.
        outputs: names of the values that are the results, in order.
        output_names: names of the results as the outside knows them; same length as ``outputs``.
        nodes: node by name.
        values: value by name: inputs, constants, node outputs. Values of a graph around are not in it.
        users: names of the nodes that use a value (values of a graph around included).
        by_op: names of the nodes of an operator.
        nested: names of the nodes that have nested graphs.
        opsets: version of each operator domain.
        defaults: inputs that may be left out, with what they are then.
        serial: the first number that no name made by a draft ends with.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    output_names: tuple[str, ...]
    nodes: Map[str, Node]
    values: Map[str, Value]
    users: Map[str, NameSet]
    by_op: Map[str, NameSet]
    nested: NameSet = EMPTY
    opsets: Map[str, int] = Map()
    defaults: Map[str, Constant] = Map()
    serial: int = 0
    _cache: dict[str, object] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.order)

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, {len(self)} nodes)"

    @property
    def order(self) -> tuple[Node, ...]:
        """The nodes in execution order: by position, moved only where a use would come before its producer.

        Raises VerifyError where the graph has a cycle.
        """
        found = self._cache.get("order")
        if found is None:
            found = self._cache["order"] = _topological_order(self)
        return found  # pyright: ignore[reportReturnType]

    @property
    def captures(self) -> tuple[str, ...]:
        """Names that the graph uses but does not define: values of the graphs around it, sorted."""
        found = self._cache.get("captures")
        if found is None:
            names = {name for name, nodes in self.users.items() if nodes and name not in self.values}
            names.update(name for name in self.outputs if name not in self.values)
            found = self._cache["captures"] = tuple(sorted(names))
        return found  # pyright: ignore[reportReturnType]

    @property
    def constants(self) -> tuple[Value, ...]:
        """The constants, sorted by name."""
        return tuple(sorted((v for v in self.values.values() if v.constant), key=lambda v: v.name))

    @property
    def nodes_deep(self) -> int:
        """Number of nodes, those of nested graphs included (bodies of fused nodes are not)."""
        return len(self) + sum(g.nodes_deep for name in self.nested for g in self.nodes[name].graphs)

    def to_onnx(self) -> onnx.ModelProto:
        """The graph as a runnable model, see ``ir.to_onnx``."""
        from gexplorer.ir.to_onnx import to_onnx

        return to_onnx(self)

    def producer(self, value: str) -> Node | None:
        """The node that makes a value; None for inputs, constants and values of a graph around."""
        found = self.values.get(value)
        return self.nodes[found.producer] if found is not None and found.producer else None

    def users_of(self, value: str) -> tuple[Node, ...]:
        """The nodes that use a value, by position."""
        names = self.users.get(value, EMPTY)
        return tuple(sorted((self.nodes[n] for n in names), key=program_key))

    def tensor(self, value: str) -> TensorType | None:
        """The tensor type of a value, None where it is unknown or no tensor."""
        found = self.values.get(value)
        return found.tensor if found is not None else None


def make_graph(
    name: str,
    *,
    inputs: Iterable[Value],
    nodes: Iterable[Node],
    values: Iterable[Value],
    outputs: tuple[str, ...],
    output_names: tuple[str, ...] | None = None,
    opsets: Mapping[str, int],
    defaults: Mapping[str, Constant] = Map(),
    serial: int = 0,
) -> Graph:
    """A graph of given parts, in one go; nothing is checked (``verify`` does that).

    Args:
        name: for people.
        inputs: the input values, in order.
        nodes: the nodes, names unique.
        values: constants and node outputs.
        outputs: the results.
        output_names: their outside names, where they differ.
        opsets: version of each operator domain.
        defaults: inputs that may be left out.
        serial: the first number that no name ends with, see ``Draft.fresh``.
    """
    inputs = tuple(inputs)
    by_name = {node.name: node for node in nodes}
    users: dict[str, dict[str, None]] = {}
    by_op: dict[str, list[str]] = {}
    nested: list[str] = []
    for node in by_name.values():
        by_op.setdefault(node.op, []).append(node.name)
        if node.attributes and node.graphs:
            nested.append(node.name)
        for value in node.uses:
            users.setdefault(value, {})[node.name] = None
    return Graph(
        name=name,
        inputs=tuple(value.name for value in inputs),
        outputs=outputs,
        output_names=outputs if output_names is None else output_names,
        nodes=Map(by_name),
        values=Map({value.name: value for value in (*inputs, *values)}),
        users=Map({value: name_set(list(names)) for value, names in users.items()}),
        by_op=Map({op: name_set(names) for op, names in by_op.items()}),
        nested=name_set(nested),
        opsets=Map(opsets),
        defaults=Map(defaults),
        serial=serial,
    )


def operation_key(node: Node) -> object:
    """Equal keys mean that two nodes do the same to equal inputs, randomness apart; None where nobody can tell.

    Nodes with nested graphs or bodies have no key.
    """
    if node.body is not None:
        return None
    present = tuple(bool(output) for output in node.outputs)
    if not node.attributes:
        return (node.op, node.domain, present)
    attributes: list[tuple[str, type, object]] = []
    for name in sorted(node.attributes):
        value = node.attributes[name]
        if isinstance(value, Graph | Graphs):
            return None
        attributes.append((name, type(value), _attribute_key(value)))
    return (node.op, node.domain, present, tuple(attributes))


def _attribute_key(value: object) -> object:
    """Bits where ``==`` is not identity: 0.0 equals -0.0, and NaN does not equal itself."""
    if isinstance(value, Constant):
        return value.key
    if isinstance(value, float):
        return value.hex()
    return tuple(number.hex() for number in value) if isinstance(value, Floats) else value


def joined_origin(*nodes: Node) -> tuple[str, ...]:
    """The origin of one node that stands for several."""
    return tuple(dict.fromkeys(name for node in nodes for name in node.origin))


# Sorts nodes by position; the name decides between equals so that every order is deterministic.
program_key: Callable[[Node], tuple[int, str]] = attrgetter("position", "name")


_SERIAL = re.compile(r"@([0-9]{1,18})\Z")  # longer numbers are no serials: a draft never gets that far


def serial_of(name: str) -> int:
    """The number behind ``@`` at the end of a name made by a draft, -1 where there is none."""
    found = _SERIAL.search(name)
    return int(found.group(1)) if found else -1


def _topological_order(graph: Graph) -> tuple[Node, ...]:
    ordered = sorted(graph.nodes.values(), key=program_key)
    values = graph.values
    made: set[str] = set()
    for node in ordered:
        for name in node.uses:
            if name not in made:
                value = values.get(name)
                if value is not None and value.producer:
                    return _kahn_order(graph, ordered)
        made.update(node.outputs)
    return tuple(ordered)


def _kahn_order(graph: Graph, ordered: list[Node]) -> tuple[Node, ...]:
    rank = {node.name: i for i, node in enumerate(ordered)}
    waiting: dict[str, int] = {}
    followers: dict[str, list[str]] = {}
    for node in ordered:
        producers = {v.producer for n in node.uses if (v := graph.values.get(n)) is not None and v.producer}
        waiting[node.name] = len(producers)
        for producer in producers:
            followers.setdefault(producer, []).append(node.name)
    ready = [rank[name] for name, count in waiting.items() if not count]
    heapify(ready)
    result: list[Node] = []
    while ready:
        node = ordered[heappop(ready)]
        result.append(node)
        for follower in followers.get(node.name, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, rank[follower])
    if len(result) < len(ordered):
        raise _cycle_error(graph, [node for node in ordered if waiting[node.name]])
    return tuple(result)


def _cycle_error(graph: Graph, stuck: list[Node]) -> VerifyError:
    """Names a cycle among nodes that each wait for another of them: from user to producer, it must come round."""
    seen: dict[str, int] = {}
    path: list[Node] = []
    node = stuck[0]
    waiting = {node.name for node in stuck}
    while node.name not in seen:
        seen[node.name] = len(path)
        path.append(node)
        for name in node.uses:
            value = graph.values.get(name)
            if value is None or not value.producer:
                continue
            if value.producer not in graph.nodes:
                return VerifyError(node.name, f"uses {name}, whose producer {value.producer} does not exist")
            if value.producer in waiting:
                node = graph.nodes[value.producer]
                break
    cycle = path[seen[node.name] :][::-1]
    start = cycle.index(min(cycle, key=program_key))
    names = [node.name for node in cycle[start:] + cycle[:start]]
    shown = names if len(names) <= 6 else [*names[:3], f"... {len(names) - 5} more ...", *names[-2:]]
    return VerifyError(names[0], f"is part of a cycle: {' -> '.join([*shown, names[0]])}")
