"""Execution orders: the same graph in another order needs another amount of memory.

Names are those of GE's ``topo_sorting_mode`` 0 to 3, with one for the order that is there and one that looks at sizes.
Each does among equals what GE's does, but GE counts inputs and constants as nodes, and may delay a node behind another.
Every order is deterministic. Source of GE's rules: the topological sorting of its ``ComputeGraph``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from gexplorer.errors import OptionError
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.graph import Graph, Graphs, Node, program_key


def ordered(graph: Graph, order: str) -> Graph:
    """The graph with its nodes, and those of nested graphs, in another execution order; nothing else changes.

    Args:
        graph: any graph.
        order: a name of ``ORDERS``.

    Raises:
        OptionError: there is no such order.
    """
    if order not in ORDERS:
        near = get_close_matches(str(order), ORDERS, 1)
        raise OptionError(
            f"order: no {order!r}; {f'did you mean {near[0]}?' if near else 'there are: ' + ', '.join(ORDERS)}"
        )
    return _ordered(graph, ORDERS[order], pooled=False)


def _ordered(graph: Graph, order: Order, *, pooled: bool = True) -> Graph:
    edges = _edges(graph, pooled=pooled)
    nodes = graph.nodes.mutate()
    for place, number in enumerate(order(edges)):
        node = edges.nodes[number]
        moved = replace(node, position=place * POSITION_STEP)
        nodes[node.name] = _nested(moved, order) if node.name in graph.nested else moved
    return replace(graph, nodes=nodes.finish())


def _nested(node: Node, order: Order) -> Node:
    attributes = node.attributes
    for name, value in sorted(attributes.items()):
        if isinstance(value, Graph):
            attributes = attributes.set(name, _ordered(value, order))
        elif isinstance(value, Graphs):
            attributes = attributes.set(name, Graphs(_ordered(graph, order) for graph in value))
    return replace(node, attributes=attributes)


@dataclass(frozen=True, slots=True)
class Edges:
    """Who feeds whom, by numbers: nodes are numbered in the order that is there.

    Attributes:
        nodes: the nodes.
        written: the nodes by their place in the program, even where that is before what they need.
        feeds: for each node the nodes that use what it makes, ascending, without doubles.
        needs: for each node the nodes that make what it uses, in the order of its inputs, without doubles.
        makes: for each node its outputs' numbers.
        uses: for each node the numbers of values that it uses and a node of this graph makes, without doubles.
        size_bytes: for each such value its size in the pool; values are numbered as they are made. 0 where unknown, and
            for the results of the outermost graph, which have a place of their own all the time.
        lasting: for each such value whether it is a result of the graph, and so never freed.
    """

    nodes: tuple[Node, ...]
    written: Sequence[int]
    feeds: Sequence[Sequence[int]]
    needs: Sequence[Sequence[int]]
    makes: Sequence[Sequence[int]]
    uses: Sequence[Sequence[int]]
    size_bytes: Sequence[int]
    lasting: Sequence[bool]


Order = Callable[[Edges], Iterable[int]]


def _edges(graph: Graph, *, pooled: bool) -> Edges:
    nodes = graph.order
    results = frozenset(graph.outputs)
    number_of: dict[str, int] = {}
    made_by: list[int] = []
    size_bytes: list[int] = []
    lasting: list[bool] = []
    makes: list[list[int]] = []
    uses: list[list[int]] = []
    needs: list[list[int]] = []
    feeds: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        used = list(dict.fromkeys([number_of[name] for name in node.uses if name in number_of]))
        uses.append(used)
        needs.append(list(dict.fromkeys([made_by[value] for value in used])))
        for producer in needs[-1]:
            feeds[producer].append(number)
        makes.append([])
        for name in node.outputs:
            if name:
                number_of[name] = len(made_by)
                makes[-1].append(len(made_by))
                made_by.append(number)
                tensor = graph.values[name].tensor
                lasting.append(name in results)
                size = tensor.nbytes if tensor is not None and (pooled or not lasting[-1]) else None
                size_bytes.append(size or 0)
    number_by_name = {node.name: number for number, node in enumerate(nodes)}
    written = [number_by_name[node.name] for node in sorted(nodes, key=program_key)]
    return Edges(nodes, written, feeds, needs, makes, uses, size_bytes, lasting)


def as_written(edges: Edges) -> Iterable[int]:
    """The order that is there: the model's own, as far as the passes have left it."""
    return range(len(edges.nodes))


def bfs(edges: Edges) -> Iterable[int]:
    """Breadth first (GE's mode 0, its default in training): a queue of nodes that could run.

    All branches go forward side by side, so the results of all of them are alive together. Of several that become ready
    together, names decide.
    """
    waiting = [len(needs) for needs in edges.needs]
    ready = deque(number for number, count in enumerate(waiting) if not count)
    while ready:
        number = ready.popleft()
        yield number
        ready.extend(sorted(_released(edges, number, waiting), key=lambda free: edges.nodes[free].name))


def dfs(edges: Edges) -> Iterable[int]:
    """Depth first (GE's mode 1, its default in inference): a stack of nodes that could run.

    What has just become ready runs next, so a branch is followed to the point where it waits for another. Of several
    that become ready together, the last in the order that is there runs first.
    """
    waiting = [len(needs) for needs in edges.needs]
    ready = [number for number, count in enumerate(waiting) if not count]
    while ready:
        number = ready.pop()
        yield number
        ready.extend(_released(edges, number, waiting))


def _released(edges: Edges, number: int, waiting: list[int]) -> list[int]:
    """The nodes that can run once a node has run; counts it off what they wait for."""
    free: list[int] = []
    for follower in edges.feeds[number]:
        waiting[follower] -= 1
        if not waiting[follower]:
            free.append(follower)
    return free


def rdfs(edges: Edges) -> Iterable[int]:
    """Depth first against the edges (GE's mode 2): the ends of the graph in order, each with all that it needs.

    A node runs only when something that runs soon wants it. Of what a node needs, that which makes the fewest bytes
    comes first; between equals, names decide.
    """
    made = [sum(edges.size_bytes[value] for value in values) for values in edges.makes]
    needs = [sorted(needed, key=lambda other: (made[other], edges.nodes[other].name)) for needed in edges.needs]
    return _from_ends((number for number, feeds in enumerate(edges.feeds) if not feeds), needs)


def stable_rdfs(edges: Edges) -> Iterable[int]:
    """The order as written, and only what is needed earlier is pulled forward, with all that it needs (GE's mode 3).

    A graph that is in a valid order stays in it.
    """
    return _from_ends(edges.written, [sorted(needed) for needed in edges.needs])


def _from_ends(ends: Iterable[int], needs: Sequence[Sequence[int]]) -> Iterable[int]:
    seen = [False] * len(needs)
    for end in ends:
        if seen[end]:
            continue
        path = [(end, iter(needs[end]))]
        seen[end] = True
        while path:
            number, rest = path[-1]
            following = next((other for other in rest if not seen[other]), None)
            if following is None:
                path.pop()
                yield number
            else:
                seen[following] = True
                path.append((following, iter(needs[following])))


def memory_aware(edges: Edges) -> Iterable[int]:
    """The best of three orders, by the largest sum of live tensors: greedy, ``rdfs``, and the order that is there.

    Greedy means: of the nodes that could run, the one after which least is alive, that is, what it makes less what it
    is the last to need; of several, the earliest in the order that is there. It looks one step ahead, and so it can be
    worse than an order that somebody thought about; hence the other two. O((nodes + edges) log nodes).
    """
    orders = [list(order(edges)) for order in (as_written, _greedy, rdfs)]
    return min(orders, key=lambda order: _peak_bytes(edges, order))


def _greedy(edges: Edges) -> Iterable[int]:
    waiting = [len(needs) for needs in edges.needs]
    users = _users(edges)
    left = [len(who) for who in users]
    growth = [sum(edges.size_bytes[v] for v in made if users[v] or edges.lasting[v]) for made in edges.makes]
    done = [False] * len(edges.nodes)
    for value, who in enumerate(users):
        if len(who) == 1 and not edges.lasting[value]:
            growth[who[0]] -= edges.size_bytes[value]
    ready = [(growth[number], number) for number, count in enumerate(waiting) if not count]
    heapify(ready)
    while ready:
        _, number = heappop(ready)
        if done[number]:
            continue  # weighed again since, and so it has run with the smaller weight
        done[number] = True
        yield number
        for value in edges.uses[number]:
            left[value] -= 1
            if left[value] == 1 and not edges.lasting[value]:
                last = next(user for user in users[value] if not done[user])
                growth[last] -= edges.size_bytes[value]
                if not waiting[last]:
                    heappush(ready, (growth[last], last))
        for follower in _released(edges, number, waiting):
            heappush(ready, (growth[follower], follower))


def _users(edges: Edges) -> list[list[int]]:
    """For each value the nodes that use it."""
    users: list[list[int]] = [[] for _ in edges.size_bytes]
    for number, used in enumerate(edges.uses):
        for value in used:
            users[value].append(number)
    return users


def _peak_bytes(edges: Edges, order: Sequence[int]) -> int:
    """The largest sum of live tensors of an order, nothing shared."""
    left = [len(who) for who in _users(edges)]
    live = peak = 0
    for number in order:
        live += sum(edges.size_bytes[value] for value in edges.makes[number])
        peak = max(peak, live)
        for value in edges.uses[number]:
            left[value] -= 1
            if not left[value] and not edges.lasting[value]:
                live -= edges.size_bytes[value]
        live -= sum(edges.size_bytes[v] for v in edges.makes[number] if not left[v] and not edges.lasting[v])
    return peak


ORDERS: Mapping[str, Order] = MappingProxyType(
    {order.__name__: order for order in (as_written, bfs, dfs, rdfs, stable_rdfs, memory_aware)}
)
