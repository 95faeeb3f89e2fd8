"""What L2 still holds between kernels, without simulating a cache.

A tensor is in L2 at a kernel that reads it if what has passed through L2 since it was last touched, and the tensor
itself, fit the part of L2 that holds data for a second reader. What passes is what kernels write and what they fetch
from HBM. A result that is in L2 at every kernel that reads it, and is no result of the graph, is never fetched back:
its bytes count for no kernel. Evidence for the rule: an 84 MB copy runs above the rate of HBM, a 394 MB operator at it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gexplorer.ir.graph import Graph, Node
from gexplorer.ops.table import entry_of
from gexplorer.ops.traits import is_view
from gexplorer.ops.work import nbytes


def sources_of(graph: Graph) -> dict[str, str]:
    """For every output of a view the value whose bytes it is."""
    source: dict[str, str] = {}
    for node in graph.order:
        if node.inputs and is_view(node):
            source[node.outputs[0]] = source.get(node.inputs[0], node.inputs[0])
    return source


def read_bytes(graph: Graph, node: Node, name: str) -> float:
    """Bytes that a node reads of a value: of a table that it only picks from, no more than it picks."""
    value = graph.values.get(name)
    whole = nbytes(value.type) if value is not None else None
    size = float(whole) if isinstance(whole, int) else 0.0
    if node.body is not None:
        formals = [formal for formal, actual in zip(node.body.inputs, node.inputs, strict=True) if actual == name]
        return min(size, sum(_read_inside(node.body, formal) for formal in formals))
    entry = entry_of(node)
    if entry is not None and node.inputs and name == node.inputs[0]:
        if entry.family.traffic in ("shape_only", "view"):
            return 0.0
        if entry.family.traffic == "gathered":
            made = nbytes(graph.values[node.outputs[0]].type) if node.outputs[0] in graph.values else None
            return min(size, float(made)) if isinstance(made, int) else size
    return size


def _read_inside(body: Graph, formal: str) -> float:
    """The same for an input of a kernel, by what its body does with it."""
    return sum(
        _read_inside(body, user.outputs[0]) if is_view(user) else read_bytes(body, user, formal)
        for user in body.users_of(formal)
    )


def storages_of(graph: Graph, source: Mapping[str, str], in_place: Collection[str]) -> dict[str, str]:
    """For every value that lies in one piece of memory with others the value that stands for all of them.

    Args:
        graph: the graph.
        source: what the outputs of views are (``sources_of``).
        in_place: nodes that move nothing, as the memory plan has their inputs and outputs in the same place: a Concat
            whose inputs are written to where they belong, a Split whose outputs stay where they are.
    """
    storage: dict[str, str] = {}

    def stands(name: str) -> str:
        name = source.get(name, name)
        while name in storage:
            name = storage[name]
        return name

    for node in graph.order:
        if node.name in in_place:
            first, *others = dict.fromkeys(map(stands, (*node.outputs, *node.uses)))
            storage |= dict.fromkeys(others, first)
    return {name: stands(name) for name in (*source, *storage)}


@dataclass(frozen=True, slots=True)
class Account:
    """What goes to HBM and comes from it, value by value; views count as what they are views of.

    Attributes:
        spared: for each kernel by name the bytes of its inputs and outputs that L2 spares HBM.
        fetched: bytes of a value that a kernel, (kernel, value), fetches from HBM.
        written: bytes of a value that go to HBM when it is made.
    """

    spared: Mapping[str, float]
    fetched: Mapping[tuple[str, str], float]
    written: Mapping[str, float]


def account(
    graph: Graph,
    kernels: Sequence[Node],
    source: Mapping[str, str],
    usable_bytes: float,
    opaque: Collection[str] = (),
    storage: Mapping[str, str] | None = None,
) -> Account:
    """What L2 spares HBM, by kernel and by value.

    Args:
        graph: the graph.
        kernels: its nodes that launch a kernel, in execution order.
        source: what the outputs of views are (``sources_of``).
        usable_bytes: the part of L2 that holds data for a second reader.
        opaque: names of kernels of which nobody knows what they move; behind one of them L2 may hold anything.
        storage: which values lie together (``storages_of``); as views say where it is left out.
    """
    place = source if storage is None else storage
    passed = 0.0
    touched: dict[str, float] = {}  # by place: what had passed when it was last read or written
    held: dict[str, float] = {}  # by place: how much of it that was; of a table only what was picked
    missed: set[str] = set()  # places that some kernel did not find
    spared: dict[str, float] = {}
    fetched: dict[tuple[str, str], float] = {}
    sizes: dict[str, tuple[str, float]] = {}  # who made a value, and its bytes
    results = {place.get(name, name) for name in graph.outputs}
    read_at_all: set[str] = set()
    for node in kernels:
        spared[node.name] = 0.0
        if node.name in opaque:
            touched.clear()
            missed |= {place.get(name, name) for name in node.uses}
            continue
        seen: set[str] = set()
        for name in node.uses:
            origin = source.get(name, name)
            if origin in seen:
                continue
            seen.add(origin)
            where = place.get(name, name)
            read_at_all.add(where)
            size = read_bytes(graph, node, name)
            if where in touched and passed - touched[where] + size <= usable_bytes:
                there = min(size, held[where])
                spared[node.name] += there
                passed += size - there
                fetched[node.name, origin] = size - there
            else:
                passed += size
                missed.add(where)
                fetched[node.name, origin] = size
            held[where] = max(size, held.get(where, 0.0))
        touched |= {place.get(name, name): passed for name in seen}
        for name in node.outputs:
            if name:
                value = graph.values.get(name)
                size = nbytes(value.type) if value is not None else None
                passed += size if isinstance(size, int) else 0
                sizes[name] = (node.name, float(size) if isinstance(size, int) else 0.0)
                where = place.get(name, name)
                held[where] = sizes[name][1] + (0.0 if where == name else held.get(where, 0.0))
                touched[where] = passed
    written: dict[str, float] = {}
    for name, (maker, size) in sizes.items():
        where = place.get(name, name)
        stays = where not in results and where not in missed and where in read_at_all
        written[name] = 0.0 if stays else size
        spared[maker] += size - written[name]
    return Account(spared, fetched, written)


def compulsory_bytes(
    graph: Graph,
    kernels: Sequence[Node],
    source: Mapping[str, str],
    opaque: Collection[str] = (),
    storage: Mapping[str, str] | None = None,
) -> float:
    """Bytes that any implementation of the whole graph moves: inputs and weights that are read, and results.

    Arguments as for ``account``; what only opaque kernels read or write is not counted.
    """
    place = source if storage is None else storage
    inner = {place.get(name, name) for node in kernels for name in node.outputs if name}
    kernels = [node for node in kernels if node.name not in opaque]
    made = {place.get(name, name) for node in kernels for name in node.outputs if name}
    read: dict[str, float] = {}
    for node in kernels:
        for name in node.uses:
            origin = source.get(name, name)
            if place.get(name, name) not in inner:
                read[origin] = max(read.get(origin, 0.0), read_bytes(graph, node, name))
    written = 0.0
    for name in {source.get(name, name) for name in graph.outputs}:
        size = nbytes(graph.values[name].type) if place.get(name, name) in made else 0
        written += size if isinstance(size, int) else 0
    return sum(read.values()) + written
