"""When pipes run at the same time: only if the buffer between them holds two of what they hand over."""

from __future__ import annotations

import numpy as np

from gexplorer.cost.tile import Bools, Floats


def double_buffered(footprint_bytes: Floats, capacity_bytes: int) -> Bools:
    """True where two footprints fit: one is filled while the other is used. Shape as ``footprint_bytes``."""
    return 2 * footprint_bytes <= capacity_bytes


def body_us(inner: Floats, store: Floats, last_store: Floats, stores_overlap: Bools) -> Floats:
    """Time of a kernel between launch and end.

    Args:
        inner: time until the last result is there, loading and computing overlapped, [T].
        store: time of the pipe that takes results away, [T].
        last_store: its time for the last result, which nothing can hide, [T].
        stores_overlap: true where a second accumulator takes over while the first is emptied, [T].

    Where there is no second accumulator, computing waits for every store.
    """
    return np.where(stores_overlap, np.maximum(inner, store - last_store) + last_store, inner + store)


def pipeline_us(first: Floats, second: Floats, share: Floats) -> Floats:
    """Time of two pipes in a double-buffered chain: the slower one, and one step of the faster one before or after.

    Args:
        first: time of the one, [T].
        second: time of the other, [T].
        share: the share of the work that one step is, [T].
    """
    return np.maximum(first, second) + np.minimum(first, second) * share
