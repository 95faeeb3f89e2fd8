"""The layered layout: ranks, order within ranks, coordinates, routes. Deterministic, and without recursion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gexplorer.layout.coordinates import across
from gexplorer.layout.crossings import ordered
from gexplorer.layout.placement import Bools, Floats, Ints, Placement
from gexplorer.layout.ranks import downwards, ranks
from gexplorer.layout.routes import routed

LONGEST_SPAN = 16
MOST_USERS = 8
BOX_GAP = 22.0
BEND_WIDTH = 2.0


def lay_out(
    widths: ArrayLike,
    heights: ArrayLike,
    tails: ArrayLike,
    heads: ArrayLike,
    *,
    values: ArrayLike | None = None,
    seeds: ArrayLike | None = None,
    passes: tuple[Ints, Floats] | None = None,
    on_top: ArrayLike | None = None,
) -> Placement:
    """Lays out a graph from top to bottom.

    Edges over more than ``LONGEST_SPAN`` ranks, and all edges of a value that has more than ``MOST_USERS`` users or
    whose users lie more than ``LONGEST_SPAN`` ranks apart, get no route: they are named in ``cut``. O(N log N) for
    graphs whose drawn edges span a bounded number of ranks.

    Args:
        widths: of the boxes, in px.
        heights: of the boxes, in px.
        tails: box that each edge leaves.
        heads: box that each edge enters; not the same one.
        values: what flows along each edge, by number; without it, what leaves a box is one value.
        seeds: x of the boxes in an earlier picture, NaN where there is none; their order is kept if it is any good.
        passes: where each edge went through the ranks between its ends there, from its tail to its head: offsets of the
            edges and x, as ``Placement`` has them. Nothing for an edge that had no line: then a straight one is taken.
        on_top: boxes that do not move down to what they feed.
    """
    width, height = np.asarray(widths, dtype=np.float64), np.asarray(heights, dtype=np.float64)
    tail, head = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    value = tail if values is None else np.asarray(values, dtype=np.int64)
    count = len(width)
    upper, lower, order = downwards(count, tail, head)
    hub = _many_users(value, head)
    top = None if on_top is None else np.asarray(on_top, dtype=np.bool_)
    rank = ranks(count, upper, lower, order, hub.astype(np.int64), top)
    cut = hub | (rank[lower] - rank[upper] > LONGEST_SPAN) | _scattered(value, rank[lower])
    drawn = np.flatnonzero(~cut)
    upper, lower = upper[drawn], lower[drawn]
    bends = _Bends(rank, upper, lower)
    starts: list[Floats] = []
    if seeds is not None:
        stood = np.asarray(seeds, dtype=np.float64)
        edges = (tail[drawn], head[drawn], tail[drawn] != upper)
        if passes is not None and bends.count:
            at, x = passes
            starts.append(_with_bends(stood, bends, edges, (at[drawn], at[drawn + 1] - at[drawn], x)))
        nowhere = np.zeros(len(drawn), dtype=np.int64)
        starts.append(_with_bends(stood, bends, edges, (nowhere, nowhere, np.zeros(0))))
    graph = ordered(bends.rank, bends.tails, bends.heads, starts)
    all_widths = np.concatenate([width, np.full(bends.count, BEND_WIDTH)])
    inner = np.arange(len(all_widths)) >= count
    x = across(graph, all_widths, inner, BOX_GAP)
    return routed(
        width, height, rank, x, (upper, lower), (bends.first, bends.spans - 1), (tail, drawn, np.flatnonzero(cut))
    )


class _Bends:
    """Long edges cut into pieces from rank to rank, with a vertex at each joint, numbered after the boxes.

    Attributes:
        count: how many joints.
        rank: of boxes and joints.
        tails: of the pieces.
        heads: of the pieces.
        first: the first joint of each edge, where it has any; the others follow it.
        spans: how many ranks each edge goes down.
    """

    def __init__(self, rank: Ints, upper: Ints, lower: Ints) -> None:
        boxes = len(rank)
        self.spans = rank[lower] - rank[upper]
        joints = self.spans - 1
        self.count = int(joints.sum())
        self.first = boxes + np.cumsum(joints) - joints
        edge = np.repeat(np.arange(len(upper)), joints)
        step = np.arange(self.count) - np.repeat(np.cumsum(joints) - joints, joints)
        joint = boxes + np.arange(self.count)
        self.edge, self.step = edge, step
        self.rank = np.concatenate([rank, rank[upper][edge] + 1 + step])
        long = joints > 0
        before = np.where(step == 0, upper[edge], joint - 1)
        last = self.first[long] + joints[long] - 1
        self.tails = np.concatenate([np.where(long, -1, upper)[~long], before, last])
        self.heads = np.concatenate([lower[~long], joint, lower[long]])


def _many_users(value: Ints, head: Ints) -> Bools:
    """Edges of values that more than ``MOST_USERS`` boxes use."""
    if not len(value) or np.bincount(value).max() <= MOST_USERS:
        return np.zeros(len(value), dtype=np.bool_)
    pairs = np.unique(np.stack([value, head]), axis=1)
    users = np.bincount(pairs[0])
    return users[value] > MOST_USERS


def _scattered(value: Ints, rank: Ints) -> Bools:
    """Edges of values whose users lie too many ranks apart."""
    if not len(value) or rank.max() <= LONGEST_SPAN:
        return np.zeros(len(value), dtype=np.bool_)
    low = np.full(int(value.max()) + 1, np.iinfo(np.int64).max)
    high = np.zeros(len(low), dtype=np.int64)
    np.minimum.at(low, value, rank)
    np.maximum.at(high, value, rank)
    return high[value] - low[value] > LONGEST_SPAN


def _with_bends(
    seeds: Floats, bends: _Bends, edges: tuple[Ints, Ints, Bools], passes: tuple[Ints, Ints, Floats]
) -> Floats:
    """Seeds for the joints too: where the line of their edge was, which may have gone through more ranks or fewer.

    Args:
        seeds: of the boxes.
        bends: of the drawn edges.
        edges: tail and head of each drawn edge, and whether it was turned round.
        passes: first place and number of places of each drawn edge, and x of all places.
    """
    if not bends.count:
        return seeds
    tail, head, turned = edges
    first, count, x = passes
    share = (bends.step + 1) / bends.spans[bends.edge]
    at = np.where(turned[bends.edge], 1 - share, share) * (count[bends.edge] + 1)
    before = np.minimum(at.astype(np.int64), count[bends.edge])
    places = np.append(x, np.nan)  # something to point at where there is none

    def place(number: Ints) -> Floats:
        inner = places[np.clip(first[bends.edge] + number - 1, 0, len(x))]
        ends = np.where(number == 0, seeds[tail[bends.edge]], seeds[head[bends.edge]])
        return np.where((number == 0) | (number > count[bends.edge]), ends, inner)

    start, end = place(before), place(before + 1)
    return np.concatenate([seeds, start + (end - start) * (at - before)])
