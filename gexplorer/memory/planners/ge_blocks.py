"""Reuse of blocks by size classes, as the real GE does it."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.hot import Cells, hot
from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

BLOCK_ALIGNMENT = 512
# A block looks for guests among so many of the blocks that are no larger; GE looks at all of them.
LOOKED_AT = 1_000


class GeBlocks(Planner):
    """Blocks instead of offsets: a released block of the same size class is taken again, then small ones nest.

    First level, in program order: a tensor takes the block of its class that was released last, or a new one. There
    are three ways to make classes, and the one with the smallest pool counts, the first of equal ones: real sizes
    (``binary-block``), ranges halved again and again from the largest size (what the policy MemoryPriority adds), one
    class for all (``max-block``). A block is then as large as its largest member, which is what makes reuse without
    a look at sizes sound. Second level: blocks by size, the earlier first among equals; each takes in smaller ones
    that never live together with it, side by side. What is left lies one behind the other.

    Simplified: one stream and one kind of memory; ranges are not merged, GE merges those with few members; blocks
    that cross in part are not split; a guest takes no guests; a block looks at a thousand others. Offsets are
    multiples of 512, as GE's; that sizes grow by 32 bytes first is the alignment policy's business.

    Source: HybridMemAssigner, BinaryBlockMemAssigner, MaxBlockMemAssigner and ReuseBlocksByLifeTime in
    compiler/graph/build/memory of the open GE.
    """

    name = "ge_blocks"
    ge_name = "HybridMemAssigner"
    order = 20
    cost = "n log n"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; cannot pin or keep apart."""
        if problem.is_constrained:
            raise Declined("blocks are laid out one behind the other; none can be pinned")
        alignment = lcm(BLOCK_ALIGNMENT, problem.alignment_bytes)
        size = -(-problem.size_bytes // alignment) * alignment
        best: Placement | None = None
        for name, classes in _classes(size).items():
            found = placement(problem, _offsets(problem, size, classes), note=name)
            if best is None or found.pool_bytes < best.pool_bytes:
                best = found
        assert best is not None
        return best


def _classes(size: Ints) -> dict[str, Ints]:
    """The size class of every tensor, by the name of the assigner; classes count from 0."""
    largest = max(int(size.max(initial=1)), 1)
    halvings = np.floor(np.log2(largest / np.maximum(size, 1))).astype(np.int64)
    return {
        "binary-block": np.unique(size, return_inverse=True)[1].astype(np.int64),
        "binary-block, ranges": np.unique(halvings, return_inverse=True)[1].astype(np.int64),
        "max-block": np.zeros(len(size), dtype=np.int64),
    }


def _offsets(problem: Problem, size: Ints, classes: Ints) -> Ints:
    n = len(size)
    block = np.zeros(n, dtype=np.int64)
    count = _take_blocks(
        by_lower := np.argsort(problem.lower, kind="stable"),
        np.argsort(problem.upper, kind="stable"),
        problem.lower,
        problem.upper,
        classes,
        np.full(int(classes.max(initial=0)) + 1, -1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        block,
        work=2 * n,
    )
    sizes = np.zeros(count, dtype=np.int64)
    np.maximum.at(sizes, block, size)
    begins = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(begins, block, problem.lower)
    ranked = np.lexsort((begins, -sizes))
    rank = np.empty(count, dtype=np.int64)
    rank[ranked] = np.arange(count)
    sizes, block = sizes[ranked], rank[block]
    members = by_lower[np.argsort(block[by_lower], kind="stable")]  # by block, then by begin
    first = np.searchsorted(block[members], np.arange(count + 1))
    host, inside = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    _nest(sizes, first, problem.lower[members], problem.upper[members], LOOKED_AT, host, inside, work=count * count)
    outer = np.where(host < 0, sizes, 0)
    starts = np.cumsum(outer) - outer
    return (np.where(host < 0, starts, starts[host]) + inside)[block]


@hot(writes=("newest", "older", "block"))
def _take_blocks(
    by_lower: Cells,
    by_upper: Cells,
    lower: Cells,
    upper: Cells,
    classes: Cells,
    newest: Cells,
    older: Cells,
    block: Cells,
) -> int:
    """Released blocks lie in one stack for each class, linked by ``older``. Returns the number of blocks."""
    count = 0
    gone = 0
    for i in by_lower:
        while upper[by_upper[gone]] <= lower[i]:
            j = by_upper[gone]
            older[block[j]] = newest[classes[j]]
            newest[classes[j]] = block[j]
            gone += 1
        taken = newest[classes[i]]
        if taken >= 0:
            newest[classes[i]] = older[taken]
        else:
            taken = count
            count += 1
        block[i] = taken
    return count


@hot(writes=("host", "inside"))
def _nest(sizes: Cells, first: Cells, lower: Cells, upper: Cells, looked_at: int, host: Cells, inside: Cells) -> int:
    """Walks over two blocks' lives side by side, to see whether they cross. Returns how many found a host."""
    nested = 0
    for outer in range(len(sizes)):
        if host[outer] >= 0:
            continue
        used = 0
        looked = 0
        for guest in range(outer + 1, len(sizes)):
            if host[guest] >= 0:
                continue
            looked += 1
            if looked > looked_at:
                break
            if used + sizes[guest] > sizes[outer]:
                continue
            a = first[outer]
            b = first[guest]
            while a < first[outer + 1] and b < first[guest + 1] and (upper[a] <= lower[b] or upper[b] <= lower[a]):
                if upper[a] <= lower[b]:
                    a += 1
                else:
                    b += 1
            if a == first[outer + 1] or b == first[guest + 1]:
                host[guest] = outer
                inside[guest] = used
                used += sizes[guest]
                nested += 1
    return nested
