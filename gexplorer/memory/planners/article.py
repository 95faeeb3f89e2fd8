"""The reuse of whole buffers as the articles print it: both readings share one loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.hot import Cells, hot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.problem import Problem

    Ints = NDArray[np.int64]


def reuse_buffers(problem: Problem, checks_size: bool) -> tuple[Ints, int]:
    """Gives every tensor the first buffer whose tenant is dead, or a new one at the end of the pool.

    Tensors come in the order of ``def_op``, their first point; equal ones in the order given (the articles' sort does
    not say). ``use_op`` is the last point that reads them, so ``last_use_op < def_op`` says that the lifetimes are
    apart. The articles walk over all buffers; a tree over them finds the same one in O(log n).

    Args:
        problem: the tensors.
        checks_size: whether a buffer must be as large as the tensor; in the articles it need not be.

    Returns:
        [n] offsets, and the sum of the sizes of all buffers: what the articles take for the pool.
    """
    n = len(problem)
    leaves = 1 << max(n - 1, 0).bit_length()
    room = np.full(2 * leaves, -1, dtype=np.int64)
    offsets, buffer, capacity, start = (np.zeros(n, dtype=np.int64) for _ in range(4))
    pool = _reuse(
        np.argsort(problem.lower, kind="stable"),
        np.argsort(problem.upper, kind="stable"),
        problem.lower,
        problem.upper,
        problem.size_bytes if checks_size else np.zeros(n, dtype=np.int64),
        problem.size_bytes,
        leaves,
        offsets,
        buffer,
        capacity,
        start,
        room,
        work=4 * n * leaves.bit_length(),
    )
    return offsets, pool


@hot(writes=("offsets", "buffer", "capacity", "start", "room"))
def _reuse(
    by_lower: Cells,
    by_upper: Cells,
    lower: Cells,
    upper: Cells,
    wanted: Cells,
    size_bytes: Cells,
    leaves: int,
    offsets: Cells,
    buffer: Cells,
    capacity: Cells,
    start: Cells,
    room: Cells,
) -> int:
    """``room`` is a tree over buffers: the largest capacity of the free ones below each node, -1 where none is free."""
    pool = 0
    buffers = 0
    gone = 0
    for i in by_lower:
        while upper[by_upper[gone]] <= lower[i]:
            b = buffer[by_upper[gone]]
            gone += 1
            node = b + leaves
            room[node] = capacity[b]
            node >>= 1
            while node > 0 and room[node] < capacity[b]:
                room[node] = capacity[b]
                node >>= 1
        if room[1] >= wanted[i]:
            node = 1
            while node < leaves:
                node *= 2
                if room[node] < wanted[i]:
                    node += 1
            b = node - leaves
            room[node] = -1
            node >>= 1
            while node > 0:
                room[node] = max(room[2 * node], room[2 * node + 1])
                node >>= 1
        else:
            b = buffers
            buffers += 1
            capacity[b] = size_bytes[i]
            start[b] = pool
            pool += size_bytes[i]
        buffer[i] = b
        offsets[i] = start[b]
    return pool
