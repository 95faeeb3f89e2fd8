"""The planner of the articles, as printed: a list of blocks, first fit in order of definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def place_in_blocks(lower: Ints, upper: Ints, size_bytes: Ints, *, check_sizes: bool) -> tuple[Ints, Ints, int]:
    """Puts each buffer into the first block whose last buffer is dead, or into a new block behind the others.

    Args:
        lower: [n] first point of each buffer.
        upper: [n] point behind its last.
        size_bytes: [n] sizes, as the planner sees them.
        check_sizes: whether a block must be large enough; the articles' listing does not look.

    Returns:
        Offsets [n], the size of the block that each buffer was put into [n], and the pool. O(n x blocks).
    """
    offsets, rooms = np.zeros(len(lower), np.int64), np.zeros(len(lower), np.int64)
    blocks: list[list[int]] = []  # offset, size, point from which it is free
    pool = 0
    for buffer in np.argsort(lower, kind="stable").tolist():
        begin, end, size = int(lower[buffer]), int(upper[buffer]), int(size_bytes[buffer])
        block = next((b for b in blocks if b[2] <= begin and (not check_sizes or size <= b[1])), None)
        if block is None:
            block = [pool, size, end]
            blocks.append(block)
            pool += size
        block[2] = end
        offsets[buffer], rooms[buffer] = block[:2]
    return offsets, rooms, pool
