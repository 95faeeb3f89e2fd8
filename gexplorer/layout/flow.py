"""A graph as arrays: which nodes there are, in program order, and what flows from which to which.

Nodes and values go by their numbers in the document (``Numbering``), so arrays of different steps can be compared.
Nested graphs are laid flat into the one around; constants are no flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.ir.graph import Graph, Node, operation_key
from gexplorer.layout.boundary import INPUT, KINDS, OUTPUT, boundary, end_of, is_boundary
from gexplorer.layout.box import boundary_size, node_size
from gexplorer.layout.facts import Facts, Table
from gexplorer.layout.paths import Path, Paths, nested_graphs
from gexplorer.layout.placement import Ints
from gexplorer.ops.table import entry_of
from gexplorer.views.explorer.nodes import detail_text
from gexplorer.views.explorer.numbering import Numbering

# Nodes of nested graphs come behind all others: positions count from anew in each graph.
_INNER = 50


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of one graph.

    Attributes:
        nodes: numbers of the nodes, and of the graph's inputs and outputs (see ``boundary``), in program order.
        identity: by node, see ``Facts``.
        group: by node.
        order: by node.
        edges: rows (from, to, value); nodes go by their identity.
        enters: rows (node, value) for inputs of the graphs nested in it; nodes go by their identity.
        leaves: rows (node, value) for results of the graphs nested in it; nodes go by their identity.
    """

    nodes: Ints
    identity: Ints
    group: Ints
    order: Ints
    edges: Ints
    enters: Ints
    leaves: Ints


class Atlas:
    """Facts of the nodes and flows of the graphs of one trace, each found once.

    Attributes:
        groups: path of each container, by number; a container's number is higher than that of the one around it.
        around: number of the container around, by container; the root's is itself.
        nested: by container, whether it is a nested graph or the node that holds one.
        facts: by number of the node.
    """

    def __init__(self, paths: Paths, numbering: Numbering) -> None:
        self.groups: list[Path] = [()]
        self.around: list[int] = [0]
        self.nested: list[bool] = [False]
        self.facts: dict[int, Facts] = {}
        self._paths = paths
        self._numbering = numbering
        self._group: dict[Path, int] = {(): 0}
        self._child: dict[tuple[int, str], int] = {}
        self._identity: dict[tuple[Path, str], int] = {}
        self._kind: dict[object, int] = {}
        self._sizes: dict[tuple[str, str, bool], tuple[float, float]] = {}
        self._details: dict[int, str] = {}
        self._inner_value: dict[tuple[Path, str], int] = {}
        self._outer_value: list[int] = []
        self._flows: dict[int, tuple[Graph, Flow]] = {}
        self._nested: dict[int, tuple[tuple[Path, Graph], ...]] = {}
        self._table = Table(len(numbering.nodes))

    def renumbered(self, numbering: Numbering) -> Atlas:
        """An atlas for another trace, with what is known here of the nodes that both number alike."""
        nodes = _agreeing(self._numbering.nodes, numbering.nodes)
        values = _agreeing(self._numbering.values, numbering.values)

        def agrees(number: int) -> bool:
            return end_of(number)[0] < values if is_boundary(number) else number < nodes

        made = Atlas(self._paths, numbering)
        made.groups, made.around, made.nested = self.groups.copy(), self.around.copy(), self.nested.copy()
        made._group, made._child, made._identity = self._group.copy(), self._child.copy(), self._identity.copy()
        made._kind, made._sizes = self._kind.copy(), self._sizes.copy()
        made._outer_value, made._table = self._outer_value.copy(), self._table.first(nodes, len(numbering.nodes))
        made._nested = {number: held for number, held in self._nested.items() if number < nodes}
        made.facts = {number: fact for number, fact in self.facts.items() if agrees(number)}
        made._inner_value = {
            key: value for key, value in self._inner_value.items() if self._outer_value[-2 - value] < values
        }
        made._flows = {
            key: (graph, flow) for key, (graph, flow) in self._flows.items() if all(map(agrees, flow.nodes.tolist()))
        }
        return made

    def flow(self, graph: Graph) -> Flow:
        """The flow of an outermost graph."""
        found = self._flows.get(id(graph))
        if found is None:
            found = self._flows[id(graph)] = (graph, self._flow(graph))
        return found[1]

    def _flow(self, graph: Graph) -> Flow:
        found: list[Ints] = []
        enters, leaves = set[int](), list[int]()
        number = self._numbering.node
        waiting: list[tuple[Path, Graph]] = [((), graph)]
        scopes: dict[Path, frozenset[str]] = {}
        while waiting:
            inside, inner = waiting.pop()
            if inside:
                scopes[inside] = frozenset(inner.values)
                enters.update(self._values(inner.inputs, inside, scopes))
                leaves += self._values(inner.outputs, inside, scopes)
            rows = np.fromiter(map(number, inner.nodes.values()), np.int64, len(inner.nodes))
            rows.sort()  # the same order in every run
            for row in rows[~self._table.known[rows]].tolist():
                self._take(row, self._read(self._numbering.nodes[row], inside, scopes))
            found.append(rows)
            if self._nested:
                waiting += [held for row in rows.tolist() for held in self._nested.get(row, ())]
        ends = self._boundaries(graph)
        nodes = np.concatenate(found)
        around = np.array([(fact.identity, fact.group, fact.order) for _, fact in ends], np.int64).reshape(-1, 3)
        table = np.concatenate([self._table.rows[nodes, :3], around])
        nodes = np.concatenate([nodes, np.array([row for row, _ in ends], np.int64)])
        sorted_ = np.lexsort((nodes, table[:, 2]))
        identity, group, order = table[sorted_].T.copy()
        return Flow(nodes[sorted_], identity, group, order, *self._flowing(nodes, ends, enters, leaves))

    def _take(self, row: int, fact: Facts) -> None:
        """Notes what has been read of a node."""
        self.facts[row] = fact
        self._table.add(row, fact)
        if fact.nested:
            self._nested[row] = fact.nested

    def _boundaries(self, graph: Graph) -> list[tuple[int, Facts]]:
        """The inputs and outputs of the whole graph by number."""
        found: list[tuple[int, Facts]] = []
        for side, names in ((INPUT, graph.inputs), (OUTPUT, graph.outputs)):
            for name in dict.fromkeys(names):
                row = boundary(self._numbering.value(name), side)
                fact = self.facts.get(row)
                if fact is None:
                    fact = self.facts[row] = self._end(name, side)
                found.append((row, fact))
        return found

    def _end(self, name: str, side: int) -> Facts:
        """An input or output of the whole graph."""
        home, value, detail = self._paths.home(side, name), self._numbering.value(name), self._detail(name)
        return Facts(
            # Containers of nested graphs have paths of even length: this is nobody else's.
            identity=self._identity.setdefault(((KINDS[side],), name), len(self._identity)),
            group=self.group(home.path),
            kind=self._kind.setdefault((KINDS[side], detail), len(self._kind)),
            size=boundary_size(name, detail),
            inputs=(value,) if side == OUTPUT else (),
            outputs=(value,) if side == INPUT else (),
            nested=(),
            order=home.order,
        )

    def _flowing(
        self, nodes: Ints, ends: Sequence[tuple[int, Facts]], enters: set[int], leaves: list[int]
    ) -> tuple[Ints, Ints, Ints]:
        """Edges, entries and exits, by identity: of nodes, the last of which are inputs and outputs."""
        inside = nodes[: len(nodes) - len(ends)]
        user, used = _joined(self._table.inputs(inside), [(end.identity, v) for _, end in ends for v in end.inputs])
        maker, made = _joined(self._table.outputs(inside), [(end.identity, v) for _, end in ends for v in end.outputs])
        inner = len(self._outer_value) + 1  # values of nested graphs have negative numbers
        size = inner + max(len(self._numbering.values), 1)
        producer = np.full(size, -1, dtype=np.int64)
        producer[made + inner] = maker
        outside = np.zeros(size, dtype=np.bool_)
        outside[np.array(sorted(enters), dtype=np.int64) + inner] = True
        names = np.concatenate([np.array([*self._outer_value[::-1], -1], dtype=np.int64), np.arange(size - inner)])
        result = np.array(list(dict.fromkeys(leaves)), dtype=np.int64)
        result = result[producer[result + inner] >= 0]
        source = producer[used + inner]
        flows, comes = source >= 0, (source < 0) & outside[used + inner]
        return (
            np.stack([source[flows], user[flows], names[used[flows] + inner]], axis=1),
            np.stack([user[comes], names[used[comes] + inner]], axis=1),
            np.stack([producer[result + inner], names[result + inner]], axis=1),
        )

    def _read(self, node: Node, inside: Path, scopes: dict[Path, frozenset[str]]) -> Facts:
        path = (*inside, *self._paths.of(node, inside))
        nested: tuple[tuple[Path, Graph], ...] = ()
        if node.attributes:
            # Where a node belongs may change with its origin: its nested graphs go by names alone.
            nested = tuple(((*inside, node.name, name), graph) for name, graph in nested_graphs(node))
        holder = self.group(path, inside)
        if nested:
            holder = self._open(holder, node.name, nested=True)
            for below, _ in nested:
                self._group[below] = self._open(holder, below[-1], nested=True)
        detail = self._detail(node.outputs[0] if node.outputs else "")
        key = operation_key(node)
        if key is None:
            body = tuple(n.op for n in node.body.order) if node.body is not None else tuple(map(len, node.graphs))
            key = (node.op, node.domain, body, tuple(sorted(node.attributes)))
        return Facts(
            identity=self._identity.setdefault((inside, node.name), len(self._identity)),
            group=holder,
            kind=self._kind.setdefault((key, detail, len(node.inputs)), len(self._kind)),
            size=self._size(node, detail),
            inputs=tuple(dict.fromkeys(self._values(node.inputs, inside, scopes))),
            outputs=self._values(node.outputs, inside, scopes),
            nested=nested,
            order=node.position + (len(inside) << _INNER),
        )

    def identity(self, name: str, inside: Path = ()) -> int:
        """The identity of the node of a name, -1 where none of that name has been seen."""
        return self._identity.get((inside, name), -1)

    def group(self, path: Path, inside: Path = ()) -> int:
        """The number of the container of a path; new ones are made."""
        found = self._group.get(path)
        if found is None:
            around = self._group[inside] if path == inside else self.group(path[:-1], inside)
            found = self._group[path] = self._open(around, path[-1], nested=False)
        return found

    def _open(self, around: int, label: str, *, nested: bool) -> int:
        found = self._child.get((around, label))
        if found is None:
            found = self._child[around, label] = len(self.groups)
            self.groups.append((*self.groups[around], label))
            self.around.append(around)
            self.nested.append(nested)
        return found

    def _values(self, names: Iterable[str], inside: Path, scopes: dict[Path, frozenset[str]]) -> tuple[int, ...]:
        """Numbers of values as seen from inside a nested graph: two branches may use one name for different things."""
        if not inside:
            value = self._numbering.value
            return tuple([value(name) for name in names if name])
        found: list[int] = []
        for name in names:
            where = inside
            while where and name not in scopes.get(where, ()):
                where = where[:-2]
            if name and not where:
                found.append(self._numbering.value(name))
            elif name:
                key = (where, name)
                number = self._inner_value.get(key)
                if number is None:
                    number = self._inner_value[key] = -2 - len(self._outer_value)
                    self._outer_value.append(self._numbering.value(name))
                found.append(number)
        return tuple(found)

    def _detail(self, name: str) -> str:
        number = self._numbering.value(name) if name else -1
        value = self._numbering.typed[number] if number >= 0 else None
        if value is None or value.type is None:
            return ""
        found = self._details.get(id(value.type))
        if found is None:
            found = self._details[id(value.type)] = detail_text(value.type)
        return found

    def size(self, node: Node) -> tuple[float, float]:
        """Width and height of a node's box, in px."""
        return self._size(node, self._detail(node.outputs[0] if node.outputs else ""))

    def _size(self, node: Node, detail: str) -> tuple[float, float]:
        key = (node.op, detail, node.body is not None)
        found = self._sizes.get(key)
        if found is None:
            entry = entry_of(node)
            cann = entry.lowering.cann if entry is not None else ""
            title = f"{node.domain}.{node.op}" if node.domain and node.body is None else node.op
            found = self._sizes[key] = node_size(max(title, cann, key=len), detail, opens=node.body is not None)
        return found


def _joined(pairs: tuple[Ints, Ints], more: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Two columns with more rows."""
    who, what = np.array(more, dtype=np.int64).reshape(-1, 2).T
    return np.concatenate([pairs[0], who]), np.concatenate([pairs[1], what])


def _agreeing(one: Sequence[object], other: Sequence[object]) -> int:
    """How many of the first entries are equal."""
    if len(one) <= len(other) and one == other[: len(one)]:
        return len(one)
    pairs = zip(one, other, strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
