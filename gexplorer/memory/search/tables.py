"""What the search knows of a problem before it begins, as arrays.

Sizes are counted in units, their greatest common divisor: in a plan in which every buffer lies at 0 or on top of
another one, and no other plans need to be looked at, all offsets are multiples of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gexplorer.memory.conflicts import Sections

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# The stacks of the search take about 18 * n * n bytes at worst, 160 MB.
MOST_BUFFERS = 3_000
# (buffer, section) cells: what one node looks at, and twice the pairs are no more than that times the buffers.
MOST_CELLS = 4_000_000


class TooLarge(Exception):  # noqa: N818 - no fault of anybody's
    """A problem is too large for the search; the message is a sentence without a full stop."""


class Tables(NamedTuple):
    """A problem in the form that the compiled search wants: plain arrays, int64 where nothing is said.

    Attributes:
        lower: [n] section in which a buffer begins.
        upper: [n] section before which it is gone.
        size: [n] size in units.
        first: [n + 1] where the list of the buffers alive together with each begins.
        others: the lists, int32.
        twin: [n] the buffer before it of the same lifetime and size, -1 where there is none. Twins can change
            places, so of equal ones the first always lies lowest.
        load: [sections] units alive in each section.
    """

    lower: Ints
    upper: Ints
    size: Ints
    first: Ints
    others: NDArray[np.int32]
    twin: Ints
    load: Ints


def make_tables(lower: Ints, upper: Ints, size: Ints) -> Tables:
    """The tables of a problem.

    Args:
        lower: [n] first point at which a buffer is alive.
        upper: [n] first point at which it is not any more.
        size: [n] sizes in units, above 0.

    Raises:
        TooLarge: there are too many buffers, or they live for too long.
    """
    n = len(size)
    if n > MOST_BUFFERS:
        raise TooLarge(f"{n} buffers are too many for the search, which takes {MOST_BUFFERS}")
    low, high, count = full_sections(lower, upper)
    if (cells := int((high - low).sum())) > MOST_CELLS:
        raise TooLarge(f"lifetimes of {cells} sections in all are too long for the search, which takes {MOST_CELLS}")
    clock = Sections(low, high, count)
    conflicts = clock.conflicts()
    twin = np.full(n, -1, dtype=np.int64)
    order = np.lexsort((np.arange(n), size, high, low))
    before, after = order[:-1], order[1:]
    same = (low[before] == low[after]) & (high[before] == high[after]) & (size[before] == size[after])
    twin[after[same]] = before[same]
    return Tables(low, high, np.ascontiguousarray(size), conflicts.first, conflicts.others, twin, clock.load(size))


def full_sections(lower: Ints, upper: Ints) -> tuple[Ints, Ints, int]:
    """Compresses time to the sections that matter: a new one starts where something begins after something ended.

    Of neighbours, one whose buffers all live in the other as well cannot be the fuller one, so it is left out.

    >>> low, high, count = full_sections(np.array([0, 1, 7]), np.array([5, 9, 8]))
    >>> low.tolist(), high.tolist(), count
    ([0, 0, 1], [1, 2, 2], 2)
    """
    points = np.unique(np.concatenate((lower, upper)))
    begins = np.zeros(len(points), dtype=np.bool_)
    ends = begins.copy()
    begins[np.searchsorted(points, lower)] = True
    ends[np.searchsorted(points, upper)] = True
    ended = np.cumsum(ends)  # points up to here at which something ended, this one included
    at_begins = ended[begins]
    fresh = np.concatenate(([False], at_begins[1:] > at_begins[:-1]))
    section_of = np.zeros(len(points), dtype=np.int64)
    section_of[begins] = np.cumsum(fresh)
    # What ends at a point was still alive in the last section begun before it.
    last = np.maximum.accumulate(np.where(begins, section_of, 0))
    before = np.concatenate(([0], last[:-1]))
    return (
        section_of[np.searchsorted(points, lower)],
        before[np.searchsorted(points, upper)] + 1,
        int(fresh.sum()) + 1,
    )
