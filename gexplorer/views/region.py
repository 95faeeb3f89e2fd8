"""What a rewrite changed, as a small graph before and after: the nodes it touched and their direct neighbours.

A constant that did not change is a line in the box of its user; one that came or went is a box of its own. Of boxes
that are alike (same mark, same operator) only the first few are drawn, and what is left out is counted. The work
depends on the size of the region, not of the graph: a value with very many users is never walked through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from gexplorer.ir.draft import Change, changed_nodes
from gexplorer.ir.graph import Graph, Node, Value, program_key
from gexplorer.trace.records import Place, Rewrite, Step, replay
from gexplorer.views.describe import attribute_lines, change_lines, constant_text, type_text
from gexplorer.views.scope import Scope, scope_at

Mark = Literal["removed", "added", "changed", "kept"]
Kind = Literal["node", "constant", "input", "output", "around", "more"]

MOST_BOXES = 24
ALIKE = 3
HUB_USERS = 64


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a picture.

    Attributes:
        key: unique in the picture; the same thing has the same key before and after.
        kind: an operator, or a stub for what lies at the region's edge.
        title: the operator, or what kind of stub it is.
        name: of the node or value.
        type: of the first output, or of the value; "" where unknown.
        mark: what became of it.
        details: what else is worth seeing, the most telling first.
    """

    key: str
    kind: Kind
    title: str
    name: str
    type: str = ""
    mark: Mark = "kept"
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A value that flows from one box to another.

    Attributes:
        source: key of the box that makes it.
        target: key of the box that uses it.
        value: its name.
        type: its type; "" where unknown.
    """

    source: str
    target: str
    value: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A small graph.

    Attributes:
        boxes: in program order, stubs beside what they belong to.
        edges: between them.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """What one or several rewrites changed.

    Attributes:
        before: the region before.
        after: the region after.
        left_out: how many touched nodes and constants are not drawn, by mark.
        inside: the nested graph that it lies in, outermost first, as ``node.attribute``.
    """

    before: Picture
    after: Picture
    left_out: tuple[tuple[Mark, int], ...] = ()
    inside: tuple[str, ...] = ()


def rewrite_regions(step: Step, numbers: Iterable[int], most_boxes: int = MOST_BOXES) -> list[Region]:
    """The regions of some rewrites of a step, by ascending number; the step is replayed once for all of them."""
    regions: list[Region] = []
    graph, done = step.before, 0
    for number in sorted(set(numbers)):
        rewrite = step.rewrites[number]
        graph = _replay_all(graph, step.rewrites[done:number])
        after = replay(graph, rewrite.path, rewrite.changes)
        regions.append(changed_region(graph, after, rewrite.changes, rewrite.path, most_boxes))
        graph, done = after, number + 1
    return regions


def step_region(step: Step, path: tuple[Place, ...] = (), most_boxes: int = MOST_BOXES) -> Region:
    """What a whole step changed in one graph of the model: the outermost, or the nested one at ``path``."""
    changes = [change for rewrite in step.rewrites if rewrite.path == path for change in rewrite.changes]
    return changed_region(step.before, step.after, changes, path, most_boxes)


def changed_region(
    before: Graph,
    after: Graph,
    changes: Sequence[Change],
    path: tuple[Place, ...] = (),
    most_boxes: int = MOST_BOXES,
) -> Region:
    """What recorded changes did to a graph, or to the graph nested in it at ``path``."""
    old, new = scope_at(before, path), scope_at(after, path)
    touched = [(a, b) for a, b in changed_nodes(changes)]
    marks: dict[str, Mark] = {}
    for a, b in sorted(touched, key=lambda pair: program_key(pair[0] or pair[1])):  # pyright: ignore
        marks[(a or b).name] = "added" if a is None else "removed" if b is None else "changed"  # pyright: ignore
    constants = dict(_changed_constants(changes))
    chosen = _Choice(marks, constants, old, new, most_boxes)
    return Region(
        before=_Side(old, chosen, None).picture(),
        after=_Side(new, chosen, old).picture(),
        left_out=tuple(sorted(chosen.left_out.items())),
        inside=tuple(f"{place.node}.{place.attribute}" for place in path),
    )


class _Choice:
    """Which nodes and constants are drawn: touched ones first, then their neighbours while there is room."""

    def __init__(
        self, marks: dict[str, Mark], constants: dict[str, Mark], old: Scope, new: Scope, most_boxes: int
    ) -> None:
        self.marks = marks
        self.nodes: dict[str, None] = {}
        self.constants: dict[str, Mark] = {}
        self.left_out: Counter[Mark] = Counter()
        self._alike: Counter[tuple[str, str]] = Counter()
        self._room = most_boxes
        for wanted in ("removed", "added", "changed"):
            for name in (name for name, mark in marks.items() if mark == wanted):
                node = new.graph.nodes.get(name) or old.graph.nodes[name]
                if self._take(wanted, node.op):
                    self.nodes[name] = None
                else:
                    self.left_out[wanted] += 1
            for name in (name for name, mark in constants.items() if mark == wanted):
                if self._take(wanted, "constant"):
                    self.constants[name] = wanted
                else:
                    self.left_out[wanted] += 1
        for name in _exchanged_constants(self.nodes, old, new):
            if name not in constants and self._take("kept", "constant"):
                self.constants[name] = "kept"
        neighbours = {
            node.name: node
            for scope in (old, new)
            for name in tuple(self.nodes)
            if (touched := scope.graph.nodes.get(name)) is not None
            for node in _neighbours(scope.graph, touched)
            if node.name not in marks
        }
        for node in sorted(neighbours.values(), key=program_key):
            if self._take("kept", node.op):
                self.nodes[node.name] = None

    def _take(self, mark: str, op: str) -> bool:
        if not self._room or self._alike[mark, op] >= ALIKE:
            return False
        self._room -= 1
        self._alike[mark, op] += 1
        return True


class _Side:
    """Draws one side of a region."""

    def __init__(self, scope: Scope, choice: _Choice, old: Scope | None) -> None:
        self.scope = scope
        self.choice = choice
        self.old = old
        self.boxes: dict[str, Box] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}

    def picture(self) -> Picture:
        graph = self.scope.graph
        nodes = sorted((graph.nodes[n] for n in self.choice.nodes if n in graph.nodes), key=program_key)
        for name, mark in self.choice.constants.items():
            value = graph.values.get(name)
            if value is not None and value.constant is not None:
                self._add(Box(f"c:{name}", "constant", "constant", name, constant_text(value.constant), mark))
        for node in nodes:
            self._add_inputs(node)
            self._add(self._node_box(node))
        for node in nodes:
            self._connect(node)
        for node in nodes:
            if node.name in self.choice.marks:
                for name in node.outputs:
                    self._add_results(node, name)
                    self._add_more_users(f"n:{node.name}", name)
        for name in self.choice.constants:
            self._add_more_users(f"c:{name}", name)
        return Picture(tuple(self.boxes.values()), tuple(self.edges.values()))

    def _add(self, box: Box) -> None:
        self.boxes.setdefault(box.key, box)

    def _node_box(self, node: Node) -> Box:
        mark = self.choice.marks.get(node.name, "kept")
        details: list[str] = []
        output = next((name for name in node.outputs if name), "")
        title = f"{node.domain}::{node.op}" if node.domain else node.op
        if mark == "kept":  # it is there for orientation only
            return Box(f"n:{node.name}", "node", title, node.name, self._type(output))
        if self.old is not None and mark == "changed":
            details += change_lines(self.old.graph.nodes[node.name], node)
        for index, name in enumerate(node.inputs):
            value = self.scope.value(name)
            if value is not None and value.constant is not None and name not in self.choice.constants:
                details.append(f"input {index}: {constant_text(value.constant)}")
        details += attribute_lines(node)
        return Box(f"n:{node.name}", "node", title, node.name, self._type(output), mark, tuple(details))

    def _add_inputs(self, node: Node) -> None:
        """Stubs for what a touched node takes from outside the graph."""
        if node.name not in self.choice.marks:
            return
        for name in node.uses:
            value = self.scope.graph.values.get(name)
            if value is None:
                if (outer := self.scope.value(name)) is None or outer.constant is None:
                    self._add(Box(f"a:{name}", "around", "from around", name, self._type(name)))
            elif not value.producer and value.constant is None:
                self._add(Box(f"i:{name}", "input", "input", name, self._type(name)))

    def _connect(self, node: Node) -> None:
        for name in node.uses:
            for key in (f"c:{name}", f"i:{name}", f"a:{name}"):
                if key in self.boxes:
                    self._edge(key, f"n:{node.name}", name)
            producer = self.scope.graph.producer(name)
            if producer is not None and producer.name in self.choice.nodes:
                self._edge(f"n:{producer.name}", f"n:{node.name}", name)

    def _add_results(self, node: Node, name: str) -> None:
        graph = self.scope.graph
        if name and name in graph.outputs:
            result = graph.output_names[graph.outputs.index(name)]
            self._add(Box(f"o:{result}", "output", "output", result, self._type(name)))
            self._edge(f"n:{node.name}", f"o:{result}", name)

    def _add_more_users(self, source: str, name: str) -> None:
        users = self.scope.graph.users.get(name, ())
        drawn = sum(user in users for user in self.choice.nodes)
        if source in self.boxes and len(users) > drawn:
            more = len(users) - drawn
            self._add(Box(f"m:{name}", "more", f"… {more:,} more {'user' if more == 1 else 'users'}", ""))
            self._edge(source, f"m:{name}", name)

    def _edge(self, source: str, target: str, value: str) -> None:
        self.edges.setdefault((source, target, value), Edge(source, target, value, self._type(value)))

    def _type(self, name: str) -> str:
        value = self.scope.value(name)
        return type_text(value.type or value.declared) if value is not None else ""


def _neighbours(graph: Graph, node: Node) -> Iterator[Node]:
    for name in node.uses:
        producer = graph.producer(name)
        if producer is not None:
            yield producer
    for name in node.outputs:
        if name and len(graph.users.get(name, ())) <= HUB_USERS:
            yield from graph.users_of(name)


def _exchanged_constants(nodes: Iterable[str], old: Scope, new: Scope) -> Iterator[str]:
    """Constants that a changed node uses on one side only: they are what the change is about."""
    for name in nodes:
        before, after = old.graph.nodes.get(name), new.graph.nodes.get(name)
        if before is None or after is None or before.inputs == after.inputs:
            continue
        for scope, here, there in ((old, before, after), (new, after, before)):
            for value in here.inputs:
                found = scope.graph.values.get(value)
                if value not in there.inputs and found is not None and found.constant is not None:
                    yield value


def _changed_constants(changes: Iterable[Change]) -> Iterator[tuple[str, Mark]]:
    first: dict[str, Value | None] = {}
    last: dict[str, Value | None] = {}
    for change in changes:
        if change.kind == "value":
            first.setdefault(change.name, change.old)  # pyright: ignore[reportCallIssue, reportArgumentType]
            last[change.name] = change.new  # pyright: ignore[reportArgumentType]
    for name, old in first.items():
        new = last[name]
        before, after = old is not None and old.constant, new is not None and new.constant
        if bool(before) != bool(after):
            yield name, "removed" if before else "added"


def _replay_all(graph: Graph, rewrites: Sequence[Rewrite]) -> Graph:
    for path, run in groupby(rewrites, key=lambda rewrite: rewrite.path):
        graph = replay(graph, path, [change for rewrite in run for change in rewrite.changes])
    return graph
