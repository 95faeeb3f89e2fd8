"""Checks placements by looking at every pair, and finds the public problems beside this checkout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gexplorer.memory.problem import Problem, make_problem

DSA = Path(__file__).parents[2] / "shared" / "data" / "dsa"
MISSING = f"the public memory problems are not beside this checkout ({DSA.name})"
SMALL = tuple("ABCDEFGHIJK")


def public_problem(name: str) -> Problem:
    """minimalloc's A to K, or one of idealloc's."""
    file = DSA / (f"{name}.1048576.csv" if name in SMALL else f"{name}.csv")
    return make_problem(*np.loadtxt(file, delimiter=",", skiprows=1, usecols=(1, 2, 3), dtype=np.int64).T)


def overlapping(problem: Problem, offsets) -> list[tuple[int, int]]:
    """All pairs that live together, or must be kept apart, and share a byte: O(n * n)."""
    place, size = np.asarray(offsets, dtype=np.int64), problem.size_bytes
    end = place + size
    together = (problem.lower[:, None] < problem.upper) & (problem.lower < problem.upper[:, None])
    if problem.apart is not None:
        together[tuple(problem.apart.T)] = together[tuple(problem.apart[:, ::-1].T)] = True
    shared = (place[:, None] < end) & (place < end[:, None]) & (size[:, None] > 0) & (size > 0)
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(together & shared, 1))]


def faults(problem: Problem, found) -> list[str]:
    """What is wrong with a placement."""
    offsets, size = found.offsets, problem.size_bytes
    wrong = [f"{problem.name(i)} and {problem.name(j)} overlap" for i, j in overlapping(problem, offsets)]
    if len(offsets) != len(problem):
        wrong.append("not every buffer has an offset")
    if len(offsets) and (offsets.min() < 0 or (offsets + size).max() > found.pool_bytes):
        wrong.append("a buffer lies outside the pool")
    if (offsets % problem.alignment_bytes).any():
        wrong.append("an offset is not aligned")
    if problem.pinned is not None and ((problem.pinned >= 0) & (problem.pinned != offsets)).any():
        wrong.append("a pinned buffer was moved")
    return wrong
