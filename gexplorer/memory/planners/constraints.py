"""Pinned offsets and pairs kept apart, as the planners that honour them want them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.conflicts import running_sums, sections
from gexplorer.memory.planners.base import Declined
from gexplorer.memory.problem import FREE, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def pins_of(problem: Problem, members: Ints) -> Ints:
    """[members] the offset that each must have, ``FREE`` where any will do."""
    return np.full(len(members), FREE, dtype=np.int64) if problem.pinned is None else problem.pinned[members]


def apart_of(problem: Problem, members: Ints) -> Ints:
    """[k, 2] the pairs to keep apart, by their numbers among the members; pairs of one buffer with itself left out."""
    if problem.apart is None:
        return np.zeros((0, 2), dtype=np.int64)
    number = np.full(len(problem), -1, dtype=np.int64)
    number[members] = np.arange(len(members))
    pairs = number[problem.apart]
    return pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]


def lists_of(pairs: Ints, count: int) -> tuple[Ints, Ints]:
    """The pairs as lists, one behind the other: where the list of each buffer begins, and the lists."""
    both = np.concatenate((pairs, pairs[:, ::-1]))
    both = both[np.argsort(both[:, 0], kind="stable")]
    return running_sums(np.bincount(both[:, 0], minlength=count)), np.ascontiguousarray(both[:, 1])


def check_pins(problem: Problem) -> None:
    """Raises Declined when two buffers are pinned onto each other: O(n log n + pairs of pinned ones)."""
    if problem.pinned is None:
        return
    pinned = np.flatnonzero((problem.pinned != FREE) & (problem.size_bytes > 0))
    begin = problem.pinned[pinned]
    end = begin + problem.size_bytes[pinned]
    conflicts = sections(problem.lower[pinned], problem.upper[pinned]).conflicts(apart_of(problem, pinned))
    one = np.repeat(np.arange(len(pinned)), np.diff(conflicts.first))
    other = conflicts.others
    if (hit := np.flatnonzero((begin[one] < end[other]) & (begin[other] < end[one]))).size:
        first, second = (problem.name(int(pinned[k[hit[0]]])) for k in (one, other))
        raise Declined(f"{first} and {second} are pinned onto each other")
