"""Orders in which to place buffers: the large, the long, the crowded first."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.planners.peel import Rest

    Ints = NDArray[np.int64]


class Order(StrEnum):
    """What comes first. Ties: the larger, then the one that begins first, then the one given first."""

    SIZE = "size"
    CONFLICTS = "conflicts"  # size x number of buffers alive together with it
    AREA = "area"  # size x lifetime
    WEIGHT = "weight"  # size x square root of the lifetime
    DURATION = "duration"
    BREADTH = "breadth"  # the largest live load that it is part of
    PEAK = "peak"  # whose middle is nearest to the busiest moment, so it goes outward from there
    START = "start"  # as the program runs, of those that begin together the longest-lived


def order_of(order: Order, rest: Rest) -> Ints:
    """The members of a problem in an order: O(n log n).

    Lifetimes are counted in sections and loads in bytes, so neither stretching time nor scaling sizes changes it
    (products are rounded to 53 bits).
    """
    clock, size = rest.sections, rest.size_bytes
    if not len(size):
        return np.zeros(0, dtype=np.int64)
    ties = (clock.lower, -size)
    match order:
        case Order.SIZE:
            keys = ()
        case Order.CONFLICTS:
            keys = (-(size.astype(np.float64) * clock.degree),)
        case Order.AREA:
            keys = (-(size.astype(np.float64) * clock.duration),)
        case Order.WEIGHT:
            keys = (-(size.astype(np.float64) ** 2 * clock.duration),)
        case Order.DURATION:
            keys = (-clock.duration,)
        case Order.BREADTH:
            keys = (-range_max(rest.load, clock.lower, clock.upper),)
        case Order.PEAK:
            keys = (np.abs(clock.lower + clock.upper - 2 * int(rest.load.argmax())),)
        case Order.START:
            keys = (-clock.duration, clock.lower)
    return np.lexsort((*ties, *keys))


def range_max(values: Ints, lower: Ints, upper: Ints) -> Ints:
    """The maximum of ``values[lower[i]:upper[i]]`` for each i, no range empty: O((n + T) log T).

    A range of length l is covered by two of length 2^floor(log2 l); their maxima are made length by length.
    """
    found = np.empty(len(lower), dtype=values.dtype)
    exponent = np.frexp((upper - lower).astype(np.float64))[1] - 1
    by_exponent = np.argsort(exponent, kind="stable")
    ends = np.searchsorted(exponent[by_exponent], np.arange(int(exponent.max(initial=-1)) + 2))
    level = values
    for power in range(len(ends) - 1):
        ranges = by_exponent[ends[power] : ends[power + 1]]
        found[ranges] = np.maximum(level[lower[ranges]], level[upper[ranges] - (1 << power)])
        level = np.maximum(level[: -(1 << power)], level[1 << power :]) if len(level) > 1 << power else level
    return found
