"""Rectangles in address and time that overlap: how many pairs, and which come first.

Every buffer is a rectangle: bytes ``[begin, end)`` at times ``[lower, upper)``. A sweep over time keeps the bounds of
all that is alive in two ordered sets, begins and ends. Of the live rectangles, those that overlap a new one are
those that begin before its end, without those that end at or before its begin; the latter are all among the former, so
their number is the difference of two ranks. That is exact, whatever overlaps already, and costs O(log N) each.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Up to here sorted lists are quicker than importing numba (0.3 s).
FEW_RECTANGLES = 20_000


@dataclass(frozen=True, eq=False)
class Rectangles:
    """What lies where and when, as int64 columns; ``lower < upper`` and ``begin < end`` in every row."""

    lower: Ints
    upper: Ints
    begin: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.lower)

    def pick(self, rows: NDArray[np.intp]) -> Rectangles:
        """Some of the rows."""
        return Rectangles(self.lower[rows], self.upper[rows], self.begin[rows], self.end[rows])


@dataclass(frozen=True, eq=False)
class Sweep:
    """The order in which a sweep over time meets the rectangles.

    Attributes:
        opens: [n] rows by ``lower``, ties by row.
        closes: [n] rows by ``upper``.
        closed_before: [n] how many have closed when the k-th of ``opens`` opens; what ends at t is gone at t.
    """

    opens: NDArray[np.intp]
    closes: NDArray[np.intp]
    closed_before: NDArray[np.intp]


def sweep_of(lower: Ints, upper: Ints) -> Sweep:
    """The sweep over lifetimes ``[lower, upper)``."""
    opens = np.argsort(lower, kind="stable")
    closes = np.argsort(upper)
    return Sweep(opens, closes, np.searchsorted(upper[closes], lower[opens], side="right"))


def overlapping_pairs(rectangles: Rectangles, limit: int, sweep: Sweep | None = None) -> tuple[int, Ints]:
    """How many pairs of rectangles overlap, and the first of them.

    Args:
        rectangles: n of them.
        limit: how many pairs to list.
        sweep: the order of their lifetimes, where it is known already.

    Returns:
        The number of pairs, and [k, 2] rows with ``k <= limit``: the one that was there, then the one that came; in
        order of the time at which they meet, then of the first byte that both claim.
    """
    sweep = sweep or sweep_of(rectangles.lower, rectangles.upper)
    count = _count_few if len(rectangles) <= FEW_RECTANGLES else _count_many
    met = count(rectangles, sweep)
    total = int(met.sum())
    return total, _first_pairs(rectangles, sweep, met, min(limit, total))


def _count_few(rectangles: Rectangles, sweep: Sweep) -> Ints:
    """For each of ``sweep.opens``, how many live rectangles it overlaps when it opens."""
    begin, end = rectangles.begin.tolist(), rectangles.end.tolist()
    closes = sweep.closes.tolist()
    begins: list[int] = []
    ends: list[int] = []
    met = np.zeros(len(begin), np.int64)
    closed = 0
    for at, (row, gone) in enumerate(zip(sweep.opens.tolist(), sweep.closed_before.tolist(), strict=True)):
        while closed < gone:
            dead = closes[closed]
            del begins[bisect_left(begins, begin[dead])]
            del ends[bisect_left(ends, end[dead])]
            closed += 1
        if over := bisect_left(begins, end[row]) - bisect_right(ends, begin[row]):
            met[at] = over
        insort(begins, begin[row])
        insort(ends, end[row])
    return met


def _count_many(rectangles: Rectangles, sweep: Sweep) -> Ints:
    """The same with ranks in place of sorted lists, compiled."""
    from gexplorer.memory.overlaps_compiled import count_met

    by_begin, by_end = np.argsort(rectangles.begin), np.argsort(rectangles.end)
    begins, ends = rectangles.begin[by_begin], rectangles.end[by_end]
    n = len(rectangles)
    rank_begin, rank_end, begun, ended = (np.empty(n, np.int32) for _ in range(4))
    rank_begin[by_begin] = rank_end[by_end] = np.arange(n, dtype=np.int32)
    begun[by_end] = np.searchsorted(begins, ends, side="left")  # sorted keys: the search stays in the cache
    ended[by_begin] = np.searchsorted(ends, begins, side="right")
    return count_met(sweep.opens, sweep.closes, sweep.closed_before, rank_begin, rank_end, begun, ended)


def _first_pairs(rectangles: Rectangles, sweep: Sweep, met: Ints, limit: int) -> Ints:
    """The first pairs, by looking at all rectangles once for each of the first that overlap anything."""
    pairs: list[tuple[int, int, int, int]] = []
    position = np.empty(len(rectangles), np.intp)
    position[sweep.opens] = np.arange(len(rectangles))
    for at in np.flatnonzero(met):
        if len(pairs) >= limit:
            break
        row = int(sweep.opens[at])
        there = (
            (position < at)
            & (rectangles.upper > rectangles.lower[row])
            & (rectangles.begin < rectangles.end[row])
            & (rectangles.end > rectangles.begin[row])
        )
        when, begin = int(rectangles.lower[row]), int(rectangles.begin[row])
        pairs += [(when, max(begin, int(rectangles.begin[i])), int(i), row) for i in np.flatnonzero(there)]
    pairs.sort()
    return np.array([pair[2:] for pair in pairs[:limit]], np.int64).reshape(-1, 2)
