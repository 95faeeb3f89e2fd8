"""Restarts of the decision search, each with an order that the failures of those before have taught it.

A depth-first search that took a wrong turn near the root does not come back in time; a short one that begins anew
does, if it begins otherwise. Sections that overflowed count as hard, and buffers that live in hard sections go first
(the idea of weighted degrees: Boussemart, Hemery, Lecoutre and Sais, ECAI 2004). No one way of counting is best for
all problems, so several take turns. States that failed stay known from one start to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.search.tables import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Weights = NDArray[np.float64]

# Placements of a start: so many, and enough to place everything with some to spare. Each round of all arms allows a
# little more, so that in the end one comes to its end.
FIRST_START = 500
START_PER_BUFFER = 1.2
GROWTH = 1.02
# How much of the blame of earlier starts is kept.
MEMORY = 0.9
# Fixed order, and whether blame is summed over the sections of a buffer; otherwise the highest counts.
ARMS = (("load", False), ("area", False), ("width", True))
# States that failed: 2^18 of 16 bytes.
FAILED_STATES = 1 << 18


@dataclass(frozen=True, eq=False)
class Decision:
    """What came out at one capacity.

    Attributes:
        offsets: [n] int64 in units, None unless a plan was found.
        is_impossible: True if it was proved that there is none.
    """

    offsets: Ints | None
    is_impossible: bool


@dataclass
class Arm:
    """One way to order: by blame, ties by a fixed order."""

    order: Ints
    by_sum: bool
    blame: Weights
    rank: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.rank = _rank(self.order)

    def learn(self, t: Tables) -> None:
        """Makes the next order from the blame, then forgets a part of it."""
        if self.by_sum:
            sums = np.concatenate(([0.0], np.cumsum(self.blame)))
            weight = sums[t.upper] - sums[t.lower]
        else:
            weight = highest_within(self.blame, t.lower, t.upper)
        self.rank = _rank(self.order[np.argsort(-weight[self.order], kind="stable")])
        self.blame *= MEMORY


class Search:
    """Decisions about one problem. Each capacity learns by itself: sections that are hard at one are not at another."""

    def __init__(self, t: Tables) -> None:
        self.tables = t
        self.nodes = 0
        self.spent = 0
        self._failed = np.zeros((FAILED_STATES, 2), dtype=np.uint64)
        self._arms: dict[int, list[Arm]] = {}
        self._turn: dict[int, int] = {}

    def decide(self, capacity: int, most_spent: int) -> Decision:
        """Restarts until there is an answer, or until so much is spent; asked again, it goes on where it was."""
        from gexplorer.memory.search.descent import FOUND, GAVE_UP, descend

        t, until = self.tables, self.spent + most_spent
        if capacity not in self._arms:
            self._arms[capacity], self._turn[capacity] = make_arms(t), 0
        arms = self._arms[capacity]
        first = max(FIRST_START, START_PER_BUFFER * len(t.size))
        while self.spent < until:
            rounds, number = divmod(self._turn[capacity], len(arms))
            self._turn[capacity] += 1
            arm, allowed = arms[number], int(first * GROWTH**rounds)
            offsets = np.zeros(len(t.size), dtype=np.int64)
            answer, nodes, spent = descend(
                t, capacity, arm.rank, allowed, until - self.spent, self._failed, arm.blame, offsets
            )
            self.nodes += nodes
            self.spent += spent
            if answer != GAVE_UP:
                return Decision(offsets if answer == FOUND else None, answer != FOUND)
            arm.learn(t)
        return Decision(None, False)


def make_arms(t: Tables) -> list[Arm]:
    """The ways to order that take turns.

    Fixed orders are made of the fullest section that a buffer lives in (load), how long it lives (width), and its
    size times that (area), all descending; ties by number.
    """
    number = np.arange(len(t.size))
    width = t.upper - t.lower
    area = width * t.size
    load = highest_within(t.load, t.lower, t.upper)
    sections = len(t.load)
    orders = {
        "load": np.lexsort((number, -area, -width, -load)),
        "area": np.lexsort((number, -load, -width, -area)),
        "width": np.lexsort((number, -load, -area, -width)),
    }
    return [Arm(orders[name], by_sum, np.zeros(sections)) for name, by_sum in ARMS]


def highest_within(values: NDArray[np.float64] | Ints, lower: Ints, upper: Ints) -> Weights:
    """[n] the highest value in each range, by a table of ranges of powers of two."""
    table = [np.asarray(values, dtype=np.float64)]
    step = 1
    while 2 * step <= len(values):
        last = table[-1]
        table.append(np.maximum(last[:-step], last[step:]))
        step *= 2
    level = np.frexp((upper - lower).astype(np.float64))[1] - 1  # floor of log2
    found = np.empty(len(lower))
    for k in np.unique(level):
        rows = level == k
        found[rows] = np.maximum(table[k][lower[rows]], table[k][upper[rows] - (1 << k)])
    return found


def _rank(order: Ints) -> Ints:
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank
