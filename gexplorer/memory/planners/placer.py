"""Places what is left of a problem in any order asked for, by the cheaper of the two ways, preparing it once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.conflicts import MOST_PAIRS, Conflicts
from gexplorer.memory.planners.base import Declined
from gexplorer.memory.planners.constraints import apart_of, check_pins, pins_of
from gexplorer.memory.planners.fit import NO_LIMIT, Fit, gather, scan
from gexplorer.memory.planners.peel import Rest
from gexplorer.memory.problem import FREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Nanoseconds, measured: scanning looks at n / 4 placed ones for each buffer, gathering sorts the pairs.
STEPS_A_SCAN = 2
STEPS_A_PAIR = 64
# No order is worth more than this (some minutes).
MOST_STEPS = 200_000_000_000


class Placer:
    """Places the members of a problem in any order.

    Attributes:
        rest: what is to be placed.
        scans: whether it scans; otherwise it gathers.
        steps: about the nanoseconds that one order takes, compiled.
    """

    def __init__(self, rest: Rest) -> None:
        """Chooses the way.

        Raises:
            Declined: there are too many buffers alive together for either, or two are pinned onto each other.
        """
        check_pins(rest.problem)
        n, pairs = len(rest.members), rest.sections.pairs
        by_scan, by_pair = STEPS_A_SCAN * n * n // 4, STEPS_A_PAIR * pairs
        self.rest = rest
        self.scans = rest.problem.apart is None and (by_scan <= by_pair or pairs > MOST_PAIRS)
        self.steps = by_scan if self.scans else by_pair
        if self.steps > MOST_STEPS or not (self.scans or pairs <= MOST_PAIRS):
            raise Declined(f"{n} buffers with {pairs} pairs alive together are too many to place one by one")

    def offsets(self, order: Ints, fit: Fit) -> Ints:
        """Offsets of the members, the pinned ones placed first, the others in the given order."""
        return self.offsets_below(order[self.pins[order] == FREE], fit, NO_LIMIT)[0]

    def offsets_below(self, order: Ints, fit: Fit, below: int) -> tuple[Ints, int]:
        """The same for an order without the pinned ones, until a buffer would end above ``below``.

        Returns:
            Offsets, and how many buffers of the order were placed.
        """
        rest = self.rest
        if self.scans:
            return scan(order, rest.sections, rest.size_bytes, fit, self.pins, below)
        return gather(order, self._conflicts, rest.size_bytes, fit, self.pins, below)

    @cached_property
    def pins(self) -> Ints:
        """[members] the offset that each must have, ``FREE`` where any will do."""
        return pins_of(self.rest.problem, self.rest.members)

    @cached_property
    def _conflicts(self) -> Conflicts:
        return self.rest.sections.conflicts(apart_of(self.rest.problem, self.rest.members))
