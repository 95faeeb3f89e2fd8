"""A skyline over time: every buffer goes on top of what is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.hot import Cells, hot
from gexplorer.memory.planners.base import Effort, Placement, Planner, placement
from gexplorer.memory.planners.constraints import apart_of, check_pins, lists_of, pins_of
from gexplorer.memory.planners.orders import Order, order_of
from gexplorer.memory.planners.peel import Rest, peel
from gexplorer.memory.problem import FREE, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


class Skyline(Planner):
    """The longest-lived first, each on top of all placed before that live at the same time; gaps stay empty.

    Ties: the larger, then the one that begins first, then the one given first. Training graphs, whose lifetimes are
    nested, come out near the bound; graphs of many short lives do not. Pinned buffers are there from the start, so
    what lives with one lies above it; a buffer goes above those that it must be kept apart from, too.
    """

    name = "skyline"
    order = 60
    handles_constraints = True
    cost = "n log n"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; Declined when two are pinned onto each other."""
        check_pins(problem)
        rest = peel(problem)
        return placement(problem, rest.offsets(skyline_offsets(rest, Order.DURATION)))


def skyline_offsets(rest: Rest, by: Order) -> Ints:
    """Offsets of what is left to place, each on top: O(n log n)."""
    clock, size, order = rest.sections, rest.size_bytes, order_of(by, rest)
    n = len(size)
    offsets = pins_of(rest.problem, rest.members).copy()
    if rest.problem.pinned is not None:  # the pinned ones first, so that every later one raises the skyline
        free = offsets[order] == FREE
        pinned = order[~free]
        order = np.concatenate((pinned[np.argsort(offsets[pinned] + size[pinned], kind="stable")], order[free]))
    first, apart = lists_of(apart_of(rest.problem, rest.members), n)
    leaves = 1 << max(clock.count - 1, 0).bit_length()
    tops, raised = np.zeros(2 * leaves, dtype=np.int64), np.zeros(2 * leaves, dtype=np.int64)
    _pile(
        order,
        clock.lower,
        clock.upper,
        size,
        first,
        apart,
        leaves,
        offsets,
        tops,
        raised,
        work=6 * n * leaves.bit_length() + len(apart),
    )
    return offsets


@hot(writes=("offsets", "tops", "raised"))
def _pile(
    order: Cells,
    lower: Cells,
    upper: Cells,
    size_bytes: Cells,
    first: Cells,
    apart: Cells,
    leaves: int,
    offsets: Cells,
    tops: Cells,
    raised: Cells,
) -> int:
    """A segment tree over sections: the height below a node, and what was put on all of it.

    An offset that is there already is kept. Heights only grow, so what was put on a node need not be handed down:
    whoever asks about a part looks at the nodes above it as well.
    """
    pool = 0
    for i in order:
        height = 0
        left = lower[i] + leaves
        right = upper[i] - 1 + leaves
        a = left
        b = right
        while a <= b:
            if a & 1:
                if tops[a] > height:
                    height = tops[a]
                a += 1
            if not b & 1:
                if tops[b] > height:
                    height = tops[b]
                b -= 1
            a >>= 1
            b >>= 1
        a = left >> 1
        b = right >> 1
        while a > 0:
            if raised[a] > height:
                height = raised[a]
            if raised[b] > height:
                height = raised[b]
            a >>= 1
            b >>= 1
        for k in range(first[i], first[i + 1]):
            j = apart[k]
            if offsets[j] >= 0 and offsets[j] + size_bytes[j] > height:
                height = offsets[j] + size_bytes[j]
        if offsets[i] >= 0:
            height = offsets[i]
        offsets[i] = height
        height += size_bytes[i]
        if height > pool:
            pool = height
        a = left
        b = right
        while a <= b:
            if a & 1:
                tops[a] = height
                raised[a] = height
                a += 1
            if not b & 1:
                tops[b] = height
                raised[b] = height
                b -= 1
            a >>= 1
            b >>= 1
        a = left >> 1
        b = right >> 1
        while a > 0:
            if tops[a] < height:
                tops[a] = height
            if tops[b] < height:
                tops[b] = height
            a >>= 1
            b >>= 1
    return pool
