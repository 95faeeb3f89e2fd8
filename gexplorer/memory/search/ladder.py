"""From decisions to the smallest pool: the bound first, then capacities between it and the best plan so far.

Most capacities are either easy or hopeless within any budget, and a decision at the bound is often easy, because so
little waste is allowed that wrong turns show at once. So the bound comes first, with a good part of the budget. Where
it stays undecided, capacities above it are tried in rounds: one that stays undecided counts as too low for the rest
of its round, a plan found counts with the height that it really has, and each round may spend twice as much on a
capacity as the one before. Work is counted in nodes, never in seconds, so the same input gives the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.search.restarts import Search
from gexplorer.memory.search.tables import Tables, make_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# What the bound gets before anything else: this share of all nodes, but no more than so many.
BOUND_SHARE = 0.6
BOUND_NODES = 2_000_000
# What one capacity gets in the first round: this share of all nodes, but no more than so many.
FIRST_SHARE = 0.15
FIRST_NODES = 200_000
# The next capacity lies this share of the gap below the best height: a plan costs less than a failure.
STEP = 0.4
# A round ends when the gap between what is too low and what is reached is no more than this share of the bound.
FINEST = 0.005


@dataclass(frozen=True, eq=False)
class Found:
    """The best plan that a search came to.

    Attributes:
        offsets: [n] int64 in bytes, None where nothing better than the given plan was found.
        pool_bytes: the pool of the best plan, found or given.
        bound_bytes: no pool is smaller: the max live load, or more where capacities were proved impossible.
        nodes: nodes spent.
    """

    offsets: Ints | None
    pool_bytes: int
    bound_bytes: int
    nodes: int

    @property
    def is_proved(self) -> bool:
        """True when no plan can be better."""
        return self.pool_bytes == self.bound_bytes


def minimise(
    lower: Ints, upper: Ints, size_bytes: Ints, pool_bytes: int, most_nodes: int, *, floor_bytes: int = 0
) -> Found:
    """Searches for a smaller pool than one that is reached already.

    Args:
        lower: [n] first point at which a buffer is alive.
        upper: [n] first point at which it is not any more.
        size_bytes: [n] sizes, above 0.
        pool_bytes: the pool of a plan that is there already.
        most_nodes: nodes to spend.
        floor_bytes: what lies below it all in a larger pool; not part of any number here.

    Raises:
        TooLarge: there are too many buffers, or they live for too long.
    """
    if not len(size_bytes):
        return Found(None, pool_bytes, 0, 0)
    unit = int(np.gcd.reduce(size_bytes))
    climb = _Climb(make_tables(lower, upper, size_bytes // unit), unit, -(-pool_bytes // unit), most_nodes, floor_bytes)
    climb.run()
    if climb.offsets is None:
        return Found(None, pool_bytes, min(climb.bound * unit, pool_bytes), climb.search.spent)
    return Found(climb.offsets * unit, climb.height * unit, climb.bound * unit, climb.search.spent)


class _Climb:
    """One run up and down the capacities, in units."""

    def __init__(self, t: Tables, unit: int, height: int, most_nodes: int, floor_bytes: int) -> None:
        self.search = Search(t)
        self.unit = unit
        self.floor_bytes = floor_bytes
        self.height = height
        self.bound = int(t.load.max())
        self.offsets: Ints | None = None
        self.most_nodes = most_nodes

    @property
    def is_over(self) -> bool:
        return self.height <= self.bound or self.search.spent >= self.most_nodes

    def run(self) -> None:
        """Climbs until the bound is met or the nodes are spent."""
        self.at_bound(min(self.most_nodes * BOUND_SHARE, BOUND_NODES))
        nodes = min(self.most_nodes * FIRST_SHARE, FIRST_NODES)
        while not self.is_over:
            self.between(nodes)
            nodes *= 2
            self.at_bound(nodes)

    def at_bound(self, nodes: float) -> None:
        """Tries the bound, and the next one as long as it is proved to be too low."""
        until = self.search.spent + nodes
        while not self.is_over:
            bound = self.bound
            self.attempt(bound, until - self.search.spent)
            if self.bound == bound:
                return

    def between(self, nodes: float) -> None:
        """One round of capacities above the bound."""
        too_low = self.bound
        for capacity in self.powers_of_two():
            if not self.is_over and too_low < capacity < self.height and not self.attempt(capacity, nodes):
                too_low = max(capacity, self.bound)
        finest = max(1, int(self.bound * FINEST))
        while not self.is_over and self.height - too_low > finest:
            capacity = self.height - max(1, int((self.height - too_low) * STEP))
            if not self.attempt(capacity, nodes):
                too_low = max(capacity, self.bound)

    def powers_of_two(self) -> Iterator[int]:
        """Capacities that make the whole pool a power of two, from above: real memories have such sizes."""
        power = 1 << (self.height * self.unit + self.floor_bytes).bit_length()
        while (capacity := (power - self.floor_bytes) // self.unit) >= self.bound:
            yield capacity
            power >>= 1

    def attempt(self, capacity: int, nodes: float) -> bool:
        """Decides about a capacity; True if there is a plan."""
        decision = self.search.decide(capacity, int(min(nodes, self.most_nodes - self.search.spent)))
        if decision.offsets is not None:
            self.offsets = decision.offsets
            self.height = int((decision.offsets + self.search.tables.size).max())
        elif decision.is_impossible:
            self.bound = max(self.bound, capacity + 1)
        return decision.offsets is not None
