"""Order within the ranks: barycentre sweeps down and up, the order with the fewest crossings kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.layout.placement import Floats, Ints
from gexplorer.layout.ranks import neighbour_lists

_SWEEPS = 12
_SWEEPS_OF_LARGE = 4
_LARGE = 4_000
# An order that is known from before is given up only for one that is much better: what stays put is easier to follow.
WORTH_MOVING = 0.6


@dataclass(slots=True)
class Layers:
    """A graph all of whose edges lead from one rank to the next.

    Attributes:
        rank: of each vertex.
        tails: of each edge.
        heads: of each edge.
        above: neighbours in the rank above, by vertex.
        below: neighbours in the rank below, by vertex.
        layers: vertices of each rank, from left to right.
        place: of each vertex in its layer.
    """

    rank: Ints
    tails: Ints
    heads: Ints
    above: list[list[int]]
    below: list[list[int]]
    layers: list[list[int]]
    place: list[int]


def ordered(rank: Ints, tails: Ints, heads: Ints, starts: Sequence[Floats] = ()) -> Layers:
    """Orders the vertices of every rank.

    Args:
        rank: of each vertex.
        tails: of edges; each leads from one rank to the next.
        heads: of edges.
        starts: where each vertex stood before, from left to right; NaN where it is new. The order of the first stays
            unless far fewer edges cross in another; the others are where else a search for such a one begins.
    """
    count = len(rank)
    above, below = neighbour_lists(count, heads, tails), neighbour_lists(count, tails, heads)
    graph = Layers(rank, tails, heads, above, below, [], [0] * count)
    known = [seeds for seeds in starts if np.isfinite(seeds).any()]
    best = wanted = -1
    kept: list[list[int]] = []
    for number, seeds in enumerate([_filled(graph, one) for one in known] or [np.arange(count)]):
        _arrange(graph, np.lexsort((seeds, rank)))
        found = crossings(graph)
        if not number or found < wanted:
            best, kept = found, [list(layer) for layer in graph.layers]
            wanted = best * WORTH_MOVING if known and not number else best
        idle = 0
        for sweep in range(_SWEEPS if count < _LARGE else _SWEEPS_OF_LARGE):
            if not best or idle > 3:
                break
            _sweep(graph, down=sweep % 2 == 0, lean_right=sweep % 4 > 1)
            found = crossings(graph)
            idle += 1
            if found < wanted or (sweep == 0 and not known and found <= best):
                best = wanted = found
                kept = [list(layer) for layer in graph.layers]
                idle = 0
        if not best:
            break
    graph.layers = kept
    for layer in kept:
        for position, vertex in enumerate(layer):
            graph.place[vertex] = position
    return graph


def crossings(graph: Layers) -> int:
    """How many pairs of edges cross; all ranks at once, by inversions of the lower ends, one bit at a time."""
    if not len(graph.tails):
        return 0
    place = np.array(graph.place)
    group, low = graph.rank[graph.tails], place[graph.heads]
    order = np.lexsort((low, place[graph.tails], group))
    group, low = group[order], low[order]
    total = 0
    for bit in range(int(low.max()).bit_length() - 1, -1, -1):
        # Within a group all higher bits are equal, so a 1 before a 0 is an inversion, and none is counted twice.
        ones = (low >> bit) & 1
        before = np.cumsum(ones) - ones
        in_group = before - before[group.searchsorted(group)]
        total += int(in_group[ones == 0].sum())
        group = group * 2 + ones
        stable = group.argsort(kind="stable")
        group, low = group[stable], low[stable]
    return total


def _arrange(graph: Layers, vertices: Ints) -> None:
    sizes = np.bincount(graph.rank)
    graph.layers = []
    start = 0
    listed = vertices.tolist()
    for size in sizes.tolist():
        layer = listed[start : start + size]
        graph.layers.append(layer)
        for position, vertex in enumerate(layer):
            graph.place[vertex] = position
        start += size


def _sweep(graph: Layers, *, down: bool, lean_right: bool) -> None:
    """Orders each rank by the mean place of its neighbours in the rank before it; equals keep their order, or turn."""
    place = graph.place
    neighbours = graph.above if down else graph.below
    layers = graph.layers if down else graph.layers[::-1]
    for layer in layers[1:]:
        if len(layer) < 2:
            continue
        keys: dict[int, float] = {}
        for vertex in layer:
            near = neighbours[vertex]
            if len(near) == 1:
                keys[vertex] = place[near[0]]
            elif near:
                keys[vertex] = sum([place[one] for one in near]) / len(near)
            else:
                keys[vertex] = place[vertex]
        if lean_right:
            layer.reverse()
        layer.sort(key=keys.__getitem__)
        for position, vertex in enumerate(layer):
            place[vertex] = position


def _filled(graph: Layers, seeds: Floats) -> Floats:
    """Seeds for new vertices too: the mean of their neighbours', from above, else from below, else the far right."""
    x: list[float] = seeds.tolist()
    order = np.argsort(graph.rank, kind="stable").tolist()
    for vertices, neighbours in ((order, graph.above), (order[::-1], graph.below)):
        for vertex in vertices:
            if x[vertex] != x[vertex]:
                near = [x[one] for one in neighbours[vertex] if x[one] == x[one]]
                if near:
                    x[vertex] = sum(near) / len(near)
    return np.nan_to_num(np.array(x), nan=np.inf)
