"""Places buffers one after the other, each into a gap between those placed before that live at the same time.

There are two ways to walk over those in the order of their offsets. *Scanning* looks at everything placed so far and
skips what lives at another time: n * n / 2 steps, each very short, no lists needed. *Gathering* takes the placed ones
from the conflict lists and sorts them: work in the number of pairs. Which is cheaper depends on how many pairs there
are; the offsets are the same.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.hot import Cells, hot
from gexplorer.memory.problem import FREE, LARGEST_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.conflicts import Conflicts, Sections

    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]

UNPLACED = FREE
NO_LIMIT = LARGEST_BYTES


class Fit(IntEnum):
    """Which gap a buffer takes."""

    FIRST = 0  # the lowest that is large enough
    BEST = 1  # the smallest that is large enough, the lowest of equal ones; on top only where none is


def scan(
    order: Ints, sections: Sections, size_bytes: Ints, fit: Fit, placed: Ints, below: int = NO_LIMIT
) -> tuple[Ints, int]:
    """Places buffers in the given order, by scanning: at most n * n / 2 steps.

    Args:
        order: the buffers to place, the first one first.
        sections: when they live.
        size_bytes: [n].
        fit: which gap to take.
        placed: [n] offsets of buffers that have their place already, ``UNPLACED`` for those in ``order``.
        below: stop at a buffer that ends above it.

    Returns:
        [n] int64 offsets, and how many buffers of the order were placed; all, unless it stopped.
    """
    n = len(size_bytes)
    lower, upper, offsets = sections.lower, sections.upper, placed.copy()
    columns = [np.zeros(n, dtype=np.int64) for _ in range(4)]
    there = np.flatnonzero(placed != UNPLACED)
    there = there[np.argsort(placed[there], kind="stable")]
    for column, values in zip(columns, (lower, upper, placed, placed + size_bytes), strict=True):
        column[: len(there)] = values[there]
    best = fit == Fit.BEST
    count = _scan(order, lower, upper, size_bytes, best, below, len(there), offsets, *columns, work=len(order) * n // 2)
    return offsets, count


def gather(
    order: Ints, conflicts: Conflicts, size_bytes: Ints, fit: Fit, placed: Ints, below: int = NO_LIMIT
) -> tuple[Ints, int]:
    """Places buffers in the given order, by gathering: O(pairs log pairs).

    Args:
        order: the buffers to place, the first one first.
        conflicts: what each must not overlap.
        size_bytes: [n].
        fit: which gap to take.
        placed: [n] offsets of buffers that have their place already, ``UNPLACED`` for those in ``order``.
        below: stop at a buffer that ends above it.

    Returns:
        [n] int64 offsets, and how many buffers of the order were placed; all, unless it stopped.
    """
    n = len(size_bytes)
    offsets = placed.copy()
    starts, ends = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    work = 10 * len(order) + 5 * len(conflicts.others)
    best = fit == Fit.BEST
    count = _gather(order, conflicts.first, conflicts.others, size_bytes, best, below, offsets, starts, ends, work=work)
    return offsets, count


@hot(writes=("offsets", "lowers", "uppers", "starts", "ends"))
def _scan(
    order: Cells,
    lower: Cells,
    upper: Cells,
    size_bytes: Cells,
    smallest_gap: bool,
    limit: int,
    there: int,
    offsets: Cells,
    lowers: Cells,
    uppers: Cells,
    starts: Cells,
    ends: Cells,
) -> int:
    """Keeps the placed ones in columns sorted by offset; so many are there at first. Returns how many it placed."""
    placed = there
    for i in order:
        size = size_bytes[i]
        begin = lower[i]
        end = upper[i]
        chosen = -1
        smallest = 0
        below = 0
        for k in range(placed):
            if lowers[k] < end and uppers[k] > begin:
                gap = starts[k] - below
                if gap >= size and (chosen < 0 or gap < smallest):
                    chosen = below
                    smallest = gap
                    if not smallest_gap or gap == size:
                        break
                if ends[k] > below:
                    below = ends[k]
        if chosen < 0:
            chosen = below
        if chosen + size > limit:
            return placed - there
        offsets[i] = chosen
        k = placed
        while k > 0 and starts[k - 1] > chosen:
            starts[k] = starts[k - 1]
            ends[k] = ends[k - 1]
            lowers[k] = lowers[k - 1]
            uppers[k] = uppers[k - 1]
            k -= 1
        starts[k] = chosen
        ends[k] = chosen + size
        lowers[k] = begin
        uppers[k] = end
        placed += 1
    return placed - there


@hot(writes=("offsets", "starts", "ends"))
def _gather(
    order: Cells,
    first: Cells,
    others: Cells,
    size_bytes: Cells,
    smallest_gap: bool,
    limit: int,
    offsets: Cells,
    starts: Cells,
    ends: Cells,
) -> int:
    """Sorts the taken ranges around each buffer (shell sort). Returns how many it placed."""
    placed = 0
    for i in order:
        size = size_bytes[i]
        taken = 0
        for k in range(first[i], first[i + 1]):
            j = others[k]
            if offsets[j] >= 0:
                starts[taken] = offsets[j]
                ends[taken] = offsets[j] + size_bytes[j]
                taken += 1
        step = taken // 2
        while step > 0:
            for k in range(step, taken):
                start = starts[k]
                end = ends[k]
                m = k - step
                while m >= 0 and starts[m] > start:
                    starts[m + step] = starts[m]
                    ends[m + step] = ends[m]
                    m -= step
                starts[m + step] = start
                ends[m + step] = end
            step = 1 if step == 2 else step * 5 // 11
        chosen = -1
        smallest = 0
        below = 0
        for k in range(taken):
            gap = starts[k] - below
            if gap >= size and (chosen < 0 or gap < smallest):
                chosen = below
                smallest = gap
                if not smallest_gap or gap == size:
                    break
            if ends[k] > below:
                below = ends[k]
        if chosen < 0:
            chosen = below
        if chosen + size > limit:
            return placed
        offsets[i] = chosen
        placed += 1
    return placed
