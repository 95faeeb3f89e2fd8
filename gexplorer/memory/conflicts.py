"""Which buffers are alive together: how many pairs there are, and, where those are few enough, which.

The number of pairs decides which planner is worth running, so it is counted exactly without listing them: 100,000
buffers of a training graph have 1.7e9 pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.hot import Cells, hot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]

# Lists of so many pairs take 8 bytes a pair, 160 MB in all.
MOST_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Conflict lists, one behind the other.

    Attributes:
        first: [n + 1] where the list of each buffer begins; the last one is the end of them all.
        others: [2 * pairs] the buffers alive together with it (or kept apart from it), in no particular order.
    """

    first: Ints
    others: Rows

    def of(self, buffer: int) -> Rows:
        """The buffers that one buffer must not overlap."""
        return self.others[self.first[buffer] : self.first[buffer + 1]]


@dataclass(frozen=True, eq=False)
class Sections:
    """Lifetimes on the coarsest clock that tells them apart.

    Two buffers are alive together exactly if one begins while the other lives, so a new section starts only where
    some buffer begins.

    Attributes:
        lower: [n] section in which a buffer begins.
        upper: [n] the section before which it is gone; ``lower < upper``.
        count: number of sections, at most n.
    """

    lower: Ints
    upper: Ints
    count: int

    @cached_property
    def duration(self) -> Ints:
        """[n] sections that each buffer lives; it does not change when time is stretched."""
        return self.upper - self.lower

    @cached_property
    def begun(self) -> Ints:
        """[sections + 1] buffers that begin before each section."""
        return running_sums(np.bincount(self.lower, minlength=self.count))

    @cached_property
    def gone(self) -> Ints:
        """[sections + 1] buffers that are gone when each section begins."""
        return np.cumsum(np.bincount(self.upper, minlength=self.count + 1), dtype=np.int64)

    @cached_property
    def degree(self) -> Ints:
        """[n] how many others are alive together with each buffer: begun before its end, not gone at its begin."""
        return self.begun[self.upper] - self.gone[self.lower] - 1

    @cached_property
    def pairs(self) -> int:
        """How many pairs are alive together."""
        return int(self.degree.sum()) // 2

    def load(self, size_bytes: Ints) -> Ints:
        """[sections] bytes alive in each section."""
        steps = np.zeros(self.count + 1, dtype=np.int64)
        np.add.at(steps, self.lower, size_bytes)
        np.subtract.at(steps, self.upper, size_bytes)
        return np.cumsum(steps[:-1])

    def conflicts(self, apart: Ints | None = None) -> Conflicts:
        """The conflict lists: O(n log n + pairs).

        Args:
            apart: [k, 2] further pairs, of buffers that are never alive together.
        """
        n, degree = len(self.lower), self.degree
        pairs = np.zeros((0, 2), dtype=np.int64) if apart is None else self._never_together(apart)
        extra = np.bincount(pairs.ravel(), minlength=n)
        first = running_sums(degree + extra)
        others = np.empty(int(first[-1]), dtype=np.int32)
        filled = first[:-1].copy()
        if len(pairs):
            both = np.concatenate((pairs, pairs[:, ::-1]))
            both = both[np.argsort(both[:, 0], kind="stable")]
            within = np.arange(len(both)) - np.searchsorted(both[:, 0], both[:, 0])
            others[filled[both[:, 0]] + within] = both[:, 1]
            filled += extra
        _list_conflicts(
            np.argsort(self.lower, kind="stable"),
            np.argsort(self.upper, kind="stable"),
            self.lower,
            self.upper,
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=np.int64),
            filled,
            others,
            work=2 * n + 4 * self.pairs,
        )
        return Conflicts(first, others)

    def _never_together(self, pairs: Ints) -> Ints:
        """The pairs, each once, without those that live together and those of one buffer with itself."""
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        one, other = pairs[:, 0], pairs[:, 1]
        together = (self.lower[one] < self.upper[other]) & (self.lower[other] < self.upper[one])
        return pairs[~together]


def sections(lower: Ints, upper: Ints) -> Sections:
    """Compresses time: O(n log n), O(n) where points are dense, as those of a program are.

    >>> found = sections(np.array([10, 10, 70]), np.array([20, 90, 80]))
    >>> found.lower.tolist(), found.upper.tolist(), found.pairs
    ([0, 0, 1], [1, 2, 2], 2)
    """
    if not len(lower):
        return Sections(lower, upper, 0)
    start, end = int(lower.min()), int(upper.max())
    if end - start <= 8 * len(lower) + 1024:
        begins = np.zeros(end - start + 1, dtype=np.int64)
        begins[lower - start] = 1
        rank = running_sums(begins)
        return Sections(rank[lower - start], rank[upper - start], int(rank[-1]))
    points = np.unique(lower)
    return Sections(np.searchsorted(points, lower), np.searchsorted(points, upper), len(points))


def running_sums(counts: Ints) -> Ints:
    """Sums before each entry, and the whole sum at the end: one entry more than there are counts."""
    sums = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


@hot(writes=("alive", "place", "filled", "others"))
def _list_conflicts(
    by_lower: Cells,
    by_upper: Cells,
    lower: Cells,
    upper: Cells,
    alive: Cells,
    place: Cells,
    filled: Cells,
    others: Cells,
) -> int:
    """Sweeps over time with the set of live buffers; each one that begins meets all of them."""
    living = 0
    gone = 0
    for i in by_lower:
        while upper[by_upper[gone]] <= lower[i]:
            j = by_upper[gone]
            living -= 1
            last = alive[living]
            alive[place[j]] = last
            place[last] = place[j]
            gone += 1
        mine = filled[i]
        for k in range(living):
            j = alive[k]
            others[mine + k] = j
            others[filled[j]] = i
            filled[j] += 1
        filled[i] = mine + living
        alive[living] = i
        place[i] = living
        living += 1
    return living
