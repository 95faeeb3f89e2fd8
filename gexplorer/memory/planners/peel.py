"""What remains of a problem once the buffers whose place is obvious have theirs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.conflicts import Sections, sections

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.problem import Problem

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rest:
    """The buffers that are left to place, renumbered, above a floor. Nothing is lost by placing the others first.

    Buffers of no bytes lie at 0. Buffers that live from the beginning to the end share with nobody: they lie at the
    bottom, one above the other, in the order given, and what is left is the same problem above them. (They alone
    would make a pair with every other buffer.) Where offsets are pinned nothing is put at the bottom.

    Attributes:
        problem: the whole problem.
        members: the buffers that are left, by their number in the problem, ascending.
        size_bytes: their sizes.
        settled: [n] offsets of the others, 0 for members.
        floor_bytes: where the room for the members begins.
    """

    problem: Problem
    members: Ints
    size_bytes: Ints
    settled: Ints
    floor_bytes: int

    @cached_property
    def sections(self) -> Sections:
        """When the members live."""
        return sections(self.problem.lower[self.members], self.problem.upper[self.members])

    @cached_property
    def load(self) -> Ints:
        """Bytes of members alive in each section."""
        return self.sections.load(self.size_bytes)

    @cached_property
    def bound_bytes(self) -> int:
        """The max live load of the members, or where the highest pinned one ends."""
        if self.problem.pinned is not None:
            return self.problem.bound_bytes  # nothing is at the bottom
        return int(self.load.max()) if len(self.members) else 0

    def offsets(self, of_members: Ints) -> Ints:
        """Offsets in the whole problem, from those of the members above the floor."""
        found = self.settled.copy()
        found[self.members] = of_members + self.floor_bytes
        return found


def peel(problem: Problem) -> Rest:
    """Puts the obvious ones in their place: O(n)."""
    size = problem.size_bytes
    settled = np.zeros(len(size), dtype=np.int64)
    left = size > 0
    floor = 0
    if problem.pinned is not None:
        settled[~left] = np.maximum(problem.pinned[~left], 0)
    if left.any() and not problem.is_constrained:
        lower, upper = problem.lower, problem.upper
        lasting = left & (lower == lower[left].min()) & (upper == upper[left].max())
        tops = np.cumsum(size[lasting])
        settled[lasting] = tops - size[lasting]
        floor = int(tops[-1]) if len(tops) else 0
        left &= ~lasting
    members = np.flatnonzero(left)
    return Rest(problem, members, size[members], settled, floor)
