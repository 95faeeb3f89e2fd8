"""An arena in program order: allocate where a buffer begins, free where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.hot import Cells, hot
from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.planners.peel import Rest, peel
from gexplorer.memory.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NOTHING = -1


class BestFit(Planner):
    """Allocates and frees in program order, as an arena at run time would; a buffer takes the smallest free gap.

    Gaps that are too small for the next larger of all buffer sizes count as equal: the one freed last is taken. Where
    none is large enough the pool grows, from the gap at its top if there is one. Of buffers that begin together the
    larger goes first, then the one given first.
    """

    name = "best_fit"
    order = 50
    cost = "n log n"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; cannot pin or keep apart."""
        if problem.is_constrained:
            raise Declined("an arena chooses places as it goes")
        rest = peel(problem)
        return placement(problem, rest.offsets(arena_offsets(rest)))


def arena_offsets(rest: Rest) -> Ints:
    """Offsets of what is left to place, in program order: O(n log n)."""
    clock, size = rest.sections, rest.size_bytes
    n = len(size)
    sizes = np.unique(size)
    leaves = 1 << max(len(sizes) - 1, 0).bit_length()
    offsets, starts = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    columns = [np.full(n, NOTHING, dtype=np.int64) for _ in range(6)]
    newest = np.full(len(sizes), NOTHING, dtype=np.int64)
    gaps = np.zeros(2 * leaves, dtype=np.int64)
    _run_arena(
        np.lexsort((-size, -clock.duration, clock.lower)),
        np.argsort(clock.upper, kind="stable"),
        clock.lower,
        clock.upper,
        size,
        sizes,
        np.searchsorted(sizes, size),
        leaves,
        offsets,
        starts,
        *columns,
        newest,
        gaps,
        work=8 * n * leaves.bit_length(),
    )
    return offsets


@hot(writes=("offsets", "starts", "lengths", "rank", "below", "above", "newer", "older", "newest", "gaps"))
def _run_arena(
    by_lower: Cells,
    by_upper: Cells,
    lower: Cells,
    upper: Cells,
    size_bytes: Cells,
    sizes: Cells,
    rank_of_size: Cells,
    leaves: int,
    offsets: Cells,
    starts: Cells,
    lengths: Cells,
    rank: Cells,
    below: Cells,
    above: Cells,
    newer: Cells,
    older: Cells,
    newest: Cells,
    gaps: Cells,
) -> int:
    """Blocks, free or taken, in a list by address; the free ones also in a list for each rank of sizes they hold.

    A block has the number of the buffer that last took it. ``rank`` is the position of the largest size that fits a
    gap, -2 for a taken block, -1 for a gap too small for anything; ``gaps`` counts the gaps below each node of a tree
    over ranks. Returns the pool.
    """

    def link(block: int) -> None:
        low = 0
        high = len(sizes)
        while low < high:
            middle = (low + high) >> 1
            if sizes[middle] <= lengths[block]:
                low = middle + 1
            else:
                high = middle
        held = low - 1
        rank[block] = held
        if held >= 0:
            older[block] = newest[held]
            newer[block] = -1
            if newest[held] >= 0:
                newer[newest[held]] = block
            newest[held] = block
            node = held + leaves
            while node > 0:
                gaps[node] += 1
                node >>= 1

    def unlink(block: int) -> None:
        held = rank[block]
        if held >= 0:
            if newer[block] >= 0:
                older[newer[block]] = older[block]
            else:
                newest[held] = older[block]
            if older[block] >= 0:
                newer[older[block]] = newer[block]
            node = held + leaves
            while node > 0:
                gaps[node] -= 1
                node >>= 1

    pool = 0
    last = -1
    gone = 0
    for i in by_lower:
        while upper[by_upper[gone]] <= lower[i]:
            block = by_upper[gone]
            gone += 1
            after = above[block]
            if after >= 0 and rank[after] > -2:
                unlink(after)
                lengths[block] += lengths[after]
                above[block] = above[after]
                if above[after] >= 0:
                    below[above[after]] = block
                else:
                    last = block
            before = below[block]
            if before >= 0 and rank[before] > -2:
                unlink(before)
                starts[block] = starts[before]
                lengths[block] += lengths[before]
                below[block] = below[before]
                if below[before] >= 0:
                    above[below[before]] = block
            link(block)
        size = size_bytes[i]
        node = rank_of_size[i] + leaves
        found = gaps[node] > 0
        while not found and node > 1:
            found = not node & 1 and gaps[node + 1] > 0
            node = node + 1 if found else node >> 1
        if found:
            while node < leaves:
                node = 2 * node if gaps[2 * node] > 0 else 2 * node + 1
            gap = newest[node - leaves]
            unlink(gap)
            starts[i] = starts[gap]
            below[i] = below[gap]
            if below[gap] >= 0:
                above[below[gap]] = i
            if lengths[gap] > size:
                starts[gap] += size
                lengths[gap] -= size
                above[i] = gap
                below[gap] = i
                link(gap)
            else:
                above[i] = above[gap]
                if above[gap] >= 0:
                    below[above[gap]] = i
                else:
                    last = i
        elif last >= 0 and rank[last] > -2:
            unlink(last)
            starts[i] = starts[last]
            below[i] = below[last]
            if below[last] >= 0:
                above[below[last]] = i
            above[i] = -1
            last = i
        else:
            starts[i] = pool
            below[i] = last
            above[i] = -1
            if last >= 0:
                above[last] = i
            last = i
        rank[i] = -2
        lengths[i] = size
        offsets[i] = starts[i]
        if starts[i] + size > pool:
            pool = starts[i] + size
    return pool
