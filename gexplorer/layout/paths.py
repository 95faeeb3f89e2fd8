"""Where in the tree of containers each node belongs: decided once, on the source graph, and inherited from there.

A container has a path: modules by scope name, nested graphs by the node that holds them, and where names do not help,
repeated blocks or stretches of the program. Nodes that passes make inherit the place of what they were made from
(``Node.origin``), so the tree is the same in every step of a trace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gexplorer.ir.graph import Graph, Graphs, Node, program_key
from gexplorer.layout.blocks import repeated_runs
from gexplorer.layout.boundary import End, Home, homes

Path = tuple[str, ...]

# A container with more children than this is parted further where names do not do it.
MOST_CHILDREN = 100
# Equal neighbours are one box until a step changes some of them: so they may be more, but not any number.
MOST_ALIKE = 160
# Nodes beside containers: more than so many are put into containers too, in stretches of at most so many.
MOST_LOOSE = 40
STRETCH = 32
LEAST = 6
MOST_PIECES = 40
_ROUNDS = 4
MOST_VOTES = 64
_MAIN_SHARE = 0.7
_TO = " … "
_INDEX = re.compile(r"[0-9]+\Z")


def nested_graphs(node: Node) -> Iterator[tuple[str, Graph]]:
    """The graphs nested in a node, each with a name that is unique in it."""
    for name in sorted(node.attributes):
        held = node.attributes[name]
        if isinstance(held, Graph):
            yield name, held
        elif isinstance(held, Graphs):
            yield from ((f"{name}[{index}]", graph) for index, graph in enumerate(held))


def scope_path(scope: str) -> Path:
    """The containers that a scope name stands for; a list's index belongs to the list: ``model.layers.3.mlp``.

    Example:
        >>> scope_path("model.layers.3.mlp")
        ('model', 'layers.3', 'mlp')
    """
    path: list[str] = []
    for part in scope.split("."):
        if path and _INDEX.match(part) and not _INDEX.search(path[-1]):
            path[-1] = f"{path[-1]}.{part}"
        elif part:
            path.append(part)
    return tuple(path)


def is_stretch(label: str) -> bool:
    """Whether a container is a mere stretch of the program: nothing but the order of its nodes holds it together."""
    return _TO in label


class Paths:
    """The path of every node of a trace.

    Args:
        source: the graph before the first change, with the types of its values.
    """

    def __init__(self, source: Graph | None) -> None:
        self._by_graph: dict[Path, dict[str, Path]] = {}
        self._source = source
        waiting: list[tuple[Path, Graph]] = [((), source)] if source is not None else []
        while waiting:
            inside, graph = waiting.pop()
            self._by_graph[inside] = _source_paths(graph, inside)
            for name in graph.nested:
                node = graph.nodes[name]
                waiting += [((*inside, name, within), inner) for within, inner in nested_graphs(node)]

    @cached_property
    def _homes(self) -> dict[End, Home]:
        return homes(self._source, self._by_graph[()]) if self._source is not None else {}

    def home(self, side: int, name: str) -> Home:
        """Where an input or output of the whole graph stands; around everything where the source has none such."""
        return self._homes.get((side, name)) or Home((), 0)

    def of(self, node: Node, inside: Path = ()) -> Path:
        """The path of a node of any step; ``inside`` names the nested graph it is in."""
        known = self._by_graph.get(inside, {})
        own = known.get(node.name) if len(node.origin) < 2 else None
        if own is None:
            # A node may stand for thousands: then some of them, evenly, speak for all.
            origin = node.origin[:: len(node.origin) // MOST_VOTES + 1]
            found = [known[name] for name in origin if name in known]
            own = _common(found) if found else scope_path(node.scope)
        return own


def _common(paths: Sequence[Path]) -> Path:
    """As deep as most of several paths agree; of two that are equally frequent the later wins."""
    left: Sequence[Path] = paths
    depth = 0
    while True:
        votes = Counter(path[depth] for path in reversed(left) if len(path) > depth)
        if not votes:
            break
        part, count = votes.most_common(1)[0]
        if 2 * count < len(left):
            break
        left = [path for path in left if len(path) > depth and path[depth] == part]
        depth += 1
    return left[0][:depth]


def _source_paths(graph: Graph, inside: Path) -> dict[str, Path]:
    nodes = sorted(graph.nodes.values(), key=program_key)
    by_scope: dict[str, Path] = {}
    paths: list[Path] = []
    for node in nodes:
        path = by_scope.get(node.scope)
        if path is None:
            path = by_scope[node.scope] = scope_path(node.scope)
        paths.append(path)
    main = _main_trunk(paths)
    paths = [path[len(main) :] if path[: len(main)] == main else _off_trunk(path, main) for path in paths]
    paths = _parted(nodes, graph, paths)
    return {node.name: path for node, path in zip(nodes, paths, strict=True)}


def _main_trunk(paths: Sequence[Path]) -> Path:
    """Outer containers that hold nearly everything: they say nothing, and are left out."""
    trunk: Path = ()
    left: Sequence[Path] = paths
    while left:
        votes = Counter(path[len(trunk)] for path in left if len(path) > len(trunk))
        if not votes:
            break
        part, count = votes.most_common(1)[0]
        if count < _MAIN_SHARE * len(paths) or _INDEX.search(part):
            break
        trunk = (*trunk, part)
        left = [path for path in left if len(path) >= len(trunk) and path[len(trunk) - 1] == part]
    return trunk


def _off_trunk(path: Path, trunk: Path) -> Path:
    shared = 0
    while shared < min(len(path), len(trunk)) and path[shared] == trunk[shared]:
        shared += 1
    return path[shared:]


def _parted(nodes: Sequence[Node], graph: Graph, paths: list[Path]) -> list[Path]:
    """Parts what names leave in too large a heap: into repeated blocks, then into stretches of the program.

    A part that is still too large is parted in the next round.
    """
    codes, exact = _codes(nodes, graph)
    for _ in range(_ROUNDS):
        members: dict[Path, dict[str | int, list[int]]] = {}
        for number, path in enumerate(paths):
            for depth in range(len(path)):
                members.setdefault(path[:depth], {}).setdefault(path[depth], []).append(number)
            members.setdefault(path, {})[number] = [number]
        added: dict[int, list[tuple[int, str]]] = {}
        for path, children in members.items():
            if len(children) <= MOST_LOOSE:
                continue
            items = sorted(children.items(), key=lambda child: child[1][0])
            heap = [
                _Item(isinstance(name, str), tuple([codes[n] for n in held]), tuple([exact[n] for n in held]))
                for name, held in items
            ]
            for part in _parts(heap):
                inside = [number for _, held in items[part.start : part.stop] for number in held]
                label = f"{nodes[inside[0]].op}{_TO}{nodes[inside[-1]].op} #{part.start + 1}-{part.stop}"
                for number in inside:
                    added.setdefault(number, []).append((len(path), label))
        if not added:
            break
        for number, labels in added.items():
            path = paths[number]
            for depth, label in sorted(labels, reverse=True):
                path = (*path[:depth], label, *path[depth:])
            paths[number] = path
    return paths


@dataclass(frozen=True, slots=True)
class _Item:
    """A child of a container.

    Attributes:
        container: whether it is one itself.
        code: what it does, by the operators of its nodes.
        exact: the same with the types of its results.
    """

    container: bool
    code: tuple[int, ...]
    exact: tuple[int, ...]


def _parts(items: Sequence[_Item]) -> list[range]:
    """Stretches of a container's children that become containers of their own."""
    # Equal neighbours will be one box.
    containers = sum(
        item.container and (before is None or item.exact != before.exact)
        for item, before in zip(items, [None, *items], strict=False)
    )
    loose = sum(not item.container for item in items)
    too_many = containers > MOST_CHILDREN or len(items) - loose > MOST_ALIKE
    if loose <= (MOST_LOOSE if containers else MOST_CHILDREN) and not too_many:
        return []
    kinds: dict[object, int] = {}
    shape = [kinds.setdefault((item.container, item.code), len(kinds)) for item in items]
    longest = max(STRETCH, -(-len(items) // MOST_PIECES))
    parts: list[range] = []
    for heap in _heaps(items, with_containers=too_many):
        start = heap.start
        # Containers among the items have been looked through already: what repeats there is no block.
        runs = repeated_runs(shape[heap.start : heap.stop], least=3) if not containers else []
        for run in runs:
            first = heap.start + run.start
            parts += _stretches(start, first, longest)
            parts += [range(first + run.period * n, first + run.period * (n + 1)) for n in range(run.count)]
            start = first + run.period * run.count
        parts += _stretches(start, heap.stop, longest)
    return [] if parts == [range(len(items))] else parts


def _heaps(items: Sequence[_Item], *, with_containers: bool) -> list[range]:
    """Stretches of nodes; of containers too where there are too many that differ."""
    if with_containers:
        return [range(len(items))]
    heaps: list[range] = []
    start = 0
    for number in range(len(items) + 1):
        if number == len(items) or items[number].container:
            if number - start >= LEAST:
                heaps.append(range(start, number))
            start = number + 1
    return heaps


def _stretches(start: int, end: int, longest: int) -> list[range]:
    if end - start < LEAST:
        return []
    pieces = -(-(end - start) // longest)
    cuts = [start + (end - start) * piece // pieces for piece in range(pieces + 1)]
    return [range(low, high) for low, high in pairwise(cuts)]


def _codes(nodes: Sequence[Node], graph: Graph) -> tuple[list[int], list[int]]:
    """Equal numbers for nodes of one operator; then for those that also get from the same kinds, and make one type."""
    kinds: dict[object, int] = {}
    codes: list[int] = []
    exact: list[int] = []
    producer, values = graph.producer, graph.values
    for node in nodes:
        makers: list[str] = []
        for name in node.inputs:
            maker = producer(name) if name else None
            makers.append(maker.op if maker is not None else "")
        result = values.get(node.outputs[0]) if node.outputs else None
        type_ = result.type if result is not None else None
        codes.append(kinds.setdefault((node.op, node.domain), len(kinds)))
        exact.append(kinds.setdefault((codes[-1], tuple(makers), type_), len(kinds)))
    return codes, exact
