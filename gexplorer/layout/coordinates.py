"""Brandes and Köpf's horizontal placement: four alignments, each packed, and the mean of the middle two.

U. Brandes, B. Köpf: Fast and Simple Horizontal Coordinate Assignment, Graph Drawing 2001. Vertices are aligned with
the median of their neighbours, so chains and the inner segments of long edges are straight. Blocks of aligned
vertices are packed by longest path over the order within ranks, not by the classes of the paper: with boxes of
different widths that can neither overlap nor shift one rank after another sideways.
"""

from __future__ import annotations

import numpy as np

from gexplorer.layout.crossings import Layers
from gexplorer.layout.placement import Bools, Floats


def across(graph: Layers, widths: Floats, inner: Bools, gap: float) -> Floats:
    """The x of every vertex's centre, the leftmost border at 0.

    Args:
        graph: with the order within ranks.
        widths: of the vertices, in px.
        inner: whether a vertex is a bend of a long edge.
        gap: between neighbours, in px.
    """
    count = len(widths)
    if not count:
        return np.zeros(0)
    place = graph.place
    for lists in (graph.above, graph.below):
        for near in lists:
            if len(near) > 1:
                near.sort(key=place.__getitem__)
    blocked = _crossed_by_inner(graph, inner.tolist())
    half: list[float] = (widths / 2 + gap / 2).tolist()
    found = np.empty((4, count))
    for row, (down, left) in enumerate(((True, True), (True, False), (False, True), (False, False))):
        root = _aligned(graph, blocked, down=down, left=left)
        found[row] = _packed(graph.layers, root, half, left=left)
    edges = widths / 2
    low, high = (found - edges).min(axis=1), (found + edges).max(axis=1)
    narrowest = int(np.argmin(high - low))
    for row in range(4):
        # Left-leaning ones share the left border of the narrowest, right-leaning ones its right border.
        found[row] += low[narrowest] - low[row] if row % 2 == 0 else high[narrowest] - high[row]
    x = np.sort(found, axis=0)[1:3].mean(axis=0)
    return x - (x - edges).min()


def _crossed_by_inner(graph: Layers, inner: list[bool]) -> set[tuple[int, int]]:
    """Edges (upper, lower) that cross an inner segment of a long edge: they give way."""
    place, above = graph.place, graph.above
    blocked: set[tuple[int, int]] = set()
    for upper, layer in zip(graph.layers, graph.layers[1:], strict=False):
        left, scanned = 0, 0
        last = len(layer) - 1
        for position, vertex in enumerate(layer):
            near = above[vertex]
            segment = inner[vertex] and near and inner[near[0]]
            if not segment and position < last:
                continue
            right = place[near[0]] if segment else len(upper)
            for lower in layer[scanned : position + 1]:
                for one in above[lower]:
                    if (place[one] < left or place[one] > right) and not (inner[lower] and inner[one]):
                        blocked.add((one, lower))
            scanned, left = position + 1, right
    return blocked


def _aligned(graph: Layers, blocked: set[tuple[int, int]], *, down: bool, left: bool) -> list[int]:
    """The root of each vertex's block: vertices are joined with a median neighbour in the rank before theirs."""
    root = list(range(len(graph.place)))
    free = [True] * len(root)
    place = graph.place
    neighbours = graph.above if down else graph.below
    layers = graph.layers if down else graph.layers[::-1]
    for layer in layers[1:]:
        reached = -1 if left else len(place)
        for vertex in layer if left else reversed(layer):
            near = neighbours[vertex]
            if not near:
                continue
            middle = len(near) // 2
            pair = (middle - 1, middle) if left else (middle, middle - 1)
            for one in (middle,) if len(near) % 2 else pair:
                other = near[one]
                at = place[other]
                if free[other] and (at > reached if left else at < reached):
                    if blocked and ((other, vertex) if down else (vertex, other)) in blocked:
                        continue
                    root[vertex] = root[other]
                    free[other] = False
                    reached = at
                    break
    return root


def _packed(layers: list[list[int]], root: list[int], half: list[float], *, left: bool) -> Floats:
    """Packs blocks to one side, then draws each back to its neighbour on the other side where there is room."""
    count = len(root)
    follow: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    waiting = [0] * count
    for layer in layers:
        vertices = iter(layer if left else reversed(layer))
        one = next(vertices)
        for other in vertices:
            follow[root[one]].append((root[other], half[one] + half[other]))
            waiting[root[other]] += 1
            one = other
    x = [0.0] * count
    order = [block for block in range(count) if root[block] == block and not waiting[block]]
    for block in order:  # grows as it is walked
        at = x[block]
        for other, apart in follow[block]:
            if x[other] < at + apart:
                x[other] = at + apart
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    for block in reversed(order):
        if follow[block]:
            room = min([x[other] - apart for other, apart in follow[block]])
            if room > x[block]:
                x[block] = room
    found = np.array(x)[np.array(root)]
    return found if left else -found
