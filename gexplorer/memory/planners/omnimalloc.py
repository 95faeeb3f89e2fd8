"""The exact solver of another project, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.problem import Problem

# It tries the bound itself only with six threads or more (measured on version 1.0.0: with twelve it proves nine of
# minimalloc's eleven public problems optimal, with two none of them).
THREADS = 12
# Its budget is a time. So many of our nodes take about a second.
NODES_A_SECOND = 800_000


class Omnimalloc(Planner):
    """The package omnimalloc: its exact solver where there is effort to spend, its greedy portfolio otherwise.

    The exact solver is limited by seconds, so here alone the same problem may get another plan on another machine,
    unless the plan is proved optimal.
    """

    name = "omnimalloc"
    order = 90
    cost = "n * n, then exponential within a time"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer.

        Raises:
            Declined: the package is absent, or offsets are pinned or pairs kept apart.
        """
        if find_spec("omnimalloc") is None:
            raise Declined("the package omnimalloc is not installed")
        if problem.is_constrained:
            raise Declined("omnimalloc is only asked where every offset is free")
        # It takes no buffers of no bytes; those lie anywhere.
        members = np.flatnonzero(problem.size_bytes)
        offsets = np.zeros(len(problem), dtype=np.int64)
        note = "nothing to place"
        if len(members):
            start = problem.lower.min()  # it counts time from 0
            columns = [problem.size_bytes, problem.lower - start, problem.upper - start]
            columns = [column[members].tolist() for column in columns]
            offsets[members], note = _solve(list(zip(*columns, strict=True)), effort)
        return placement(problem, offsets, note=note)


def _solve(rows: list[tuple[int, int, int]], effort: Effort) -> tuple[list[int], str]:
    """Offsets of buffers of (size, begin, end), and how they came about."""
    import omnimalloc
    from omnimalloc.allocators import SupermallocAllocator

    buffers = tuple(omnimalloc.Allocation(number, *row) for number, row in enumerate(rows))
    if not effort.search_nodes:
        placed, note = omnimalloc.allocate(buffers, "omni"), "its greedy portfolio"
    else:
        before = omnimalloc.max_threads()
        omnimalloc.set_max_threads(max(before, THREADS))
        try:
            solver = SupermallocAllocator(timeout=effort.search_nodes / NODES_A_SECOND, num_threads=THREADS)
            result = solver.solve(buffers)
        finally:
            omnimalloc.set_max_threads(before)
        placed = result.allocations
        note = "its exact solver, " + ("proved optimal" if result.proved_optimal else "out of time")
    offset = {item.id: item.offset or 0 for item in placed}
    return [offset[number] for number in range(len(rows))], note
