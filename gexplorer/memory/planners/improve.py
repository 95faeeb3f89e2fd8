"""Improves an order: whoever does not fit below the best pool so far is placed earlier next time.

The idea is that of squeaky wheel optimisation (Joslin and Clements, 1999): a greedy order fails at the buffers that it
left for too late. One buffer moves at a time, the first that would end above what is to be beaten; placing stops
there, so a round costs less than a whole placing. How far it moves differs from line to line, and every line starts
from another greedy order, since no one of them is best for all problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.placer import Placer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# What a buffer's place in the order becomes: (share of its place, share of the whole order taken off).
MOVES = ((1.0, 0.3), (0.5, 0.0), (1.0, 0.15), (0.7, 0.0))
# A node is a buffer placed; it counts once more for each further so many others to look at.
CROWD = 2_000


@dataclass(frozen=True, eq=False)
class Start:
    """A greedy plan to improve on.

    Attributes:
        order: the buffers in the order in which it placed them, without pinned ones.
        pool_bytes: what came out.
    """

    order: Ints
    pool_bytes: int


def improve(
    placer: Placer, starts: list[Start], pool_bytes: int, bound_bytes: int, nodes: int
) -> tuple[Ints | None, int]:
    """Improves the best of some plans; every buffer takes the lowest gap that holds it.

    Args:
        placer: places orders.
        starts: plans made so far.
        pool_bytes: the pool to beat.
        bound_bytes: stop when a pool is as small as this.
        nodes: buffers that may be placed in all.

    Returns:
        Offsets of a plan with a smaller pool, None where none was found; and the nodes used.
    """
    starts = sorted(starts, key=lambda start: start.pool_bytes)[: len(MOVES)]
    offsets, used = None, 0
    weight = max(1, len(placer.rest.members) // CROWD)
    for number, (start, (keep, take_off)) in enumerate(zip(starts, MOVES, strict=False)):
        allowed = nodes * (number + 1) // len(starts)
        order, to_beat = start.order.copy(), start.pool_bytes
        while used + len(order) * weight <= allowed and pool_bytes > bound_bytes:
            found, placed = placer.offsets_below(order, Fit.FIRST, to_beat - 1)
            used += max(1, placed) * weight
            if placed < len(order):
                late = order[placed]
                place = max(0, int(placed * keep - len(order) * take_off))
                order[place + 1 : placed + 1] = order[place:placed].copy()
                order[place] = late
                continue
            pool = int((found + placer.rest.size_bytes).max())
            if pool < pool_bytes:
                pool_bytes, offsets = pool, found
            if pool >= to_beat:  # a pinned buffer ends there
                break
            to_beat = pool
    return offsets, used
