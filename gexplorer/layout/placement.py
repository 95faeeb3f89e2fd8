"""What a layout gives: coordinates of boxes and routes of edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Placement:
    """A laid-out graph, in px from the top left corner, y downwards.

    Attributes:
        width: of the whole.
        height: of the whole.
        x: centre of each box.
        y: centre of each box.
        rank: of each box; boxes of one rank stand side by side.
        drawn: numbers of the edges that have a route, ascending.
        cut: numbers of the edges that are too long to be drawn; their ends are to be shown as stubs.
        route_at: offsets of each drawn edge's points in ``route``; one more than there are drawn edges.
        route: points by row; they run from the lower border of the tail to the upper border of the head, those two
            included. An edge without points is a straight line between the middles of these borders.
        pass_at: offsets of each drawn edge's places in ``passes``; one more than there are drawn edges.
        passes: x at which it goes through each rank between its tail's and its head's, in this order.
    """

    width: float
    height: float
    x: Floats
    y: Floats
    rank: Ints
    drawn: Ints
    cut: Ints
    route_at: Ints
    route: Floats
    pass_at: Ints
    passes: Floats
