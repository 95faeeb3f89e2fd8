"""Checks a placement: no two live buffers overlap, all lie inside the pool, aligned, where they were pinned.

It shares no code with the planners, nor with what says how long a buffer lives. A sweep over time, O(N log N), exact
for every plan: it counts all pairs that overlap and lists the first.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.findings import Collector, Finding, Findings
from gexplorer.memory.overlaps import Rectangles, Sweep, overlapping_pairs, sweep_of
from gexplorer.memory.problem import FREE, LARGEST_BYTES, Problem
from gexplorer.memory.verify_sharing import verify_sharing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Ints = NDArray[np.int64]
    Rows = NDArray[np.intp]

__all__ = ["verify_placement", "verify_sharing"]

LARGEST_INT64 = int(np.iinfo(np.int64).max)


def verify_placement(problem: Problem, offsets: ArrayLike, pool_bytes: int, limit: int = 20) -> Findings:
    """What is wrong with a placement; an empty tuple for a sound one.

    A buffer of a negative size, an empty lifetime or an end beyond 64 bits is reported as such and takes no part in
    the checks of pairs; one of no bytes overlaps nothing.

    Args:
        problem: n buffers.
        offsets: [n] bytes from the start of the pool.
        pool_bytes: the pool that it claims to need.
        limit: how many findings to list in all; ``counts`` has them all.
    """
    found = Collector(limit)
    places = _offsets(problem, offsets, found)
    if places is None:
        return found.finish()
    size, low, high = problem.size_bytes, problem.lower, problem.upper
    pool = min(int(pool_bytes), LARGEST_INT64)

    def each(code: str, wrong: NDArray[np.bool_], **columns: Ints | int) -> None:
        rows = np.flatnonzero(wrong)
        found.add(code, len(rows), _one_each(problem, code, rows[:limit], columns))

    negative, empty = size < 0, low >= high
    overflow = ~negative & (places > LARGEST_INT64 - np.maximum(size, 0))
    well = ~(negative | empty | overflow)
    end = np.where(overflow, LARGEST_INT64, places + np.where(overflow, 0, size))
    each("negative_size", negative, size_bytes=size)
    each("empty_lifetime", empty, lower=low, upper=high)
    each("negative_offset", places < 0, before_bytes=-np.maximum(places, -LARGEST_INT64))
    each("address_overflow", overflow, offset=places, size_bytes=size)
    each("outside_pool", ~overflow & ~negative & (end > pool), end=end, pool_bytes=pool)
    each("misaligned", places % problem.alignment_bytes != 0, offset=places, alignment_bytes=problem.alignment_bytes)
    if problem.pinned is not None:
        moved = (problem.pinned != FREE) & (places != problem.pinned)
        each("pin_moved", moved, pinned=problem.pinned, offset=places)

    alive = np.flatnonzero(well & (size > 0))
    blocks = Rectangles(low, high, places, end).pick(alive)
    sweep = sweep_of(blocks.lower, blocks.upper)
    _check_bound(blocks, size[alive], sweep, int(pool_bytes), found)
    total, pairs = overlapping_pairs(blocks, limit, sweep)
    found.add("overlap", total, _pairs(problem, "overlap", alive[pairs], places, end))
    if problem.apart is not None:
        _check_apart(problem, problem.apart, well & (size > 0), places, end, found)
    return found.finish()


def _offsets(problem: Problem, offsets: ArrayLike, found: Collector) -> Ints | None:
    """The offsets as int64, None where they cannot be read as one for each buffer."""
    column = np.asarray(offsets)
    if column.shape != (len(problem),):
        shape = column.shape[0] if column.ndim == 1 else f"shape {column.shape}"
        parameters = {"offsets": shape, "buffers": len(problem)}
        found.add("wrong_length", 1, [Finding("wrong_length", (), parameters)])
        return None
    if column.dtype.kind not in "iu" and len(column):
        found.add("wrong_dtype", 1, [Finding("wrong_dtype", (), {"dtype": str(column.dtype)})])
        return None
    if column.dtype.kind == "u":  # what 64 unsigned bits hold beyond int64 is out of reach all the same
        column = np.minimum(column, LARGEST_INT64)
    return column.astype(np.int64)


def _one_each(problem: Problem, code: str, rows: Rows, columns: dict[str, Ints | int]) -> Iterator[Finding]:
    for row in rows.tolist():
        values = {name: c if isinstance(c, int) else int(c[row]) for name, c in columns.items()}
        yield Finding(code, (row,), {"first": problem.name(row), **values})


def _check_bound(blocks: Rectangles, size: Ints, sweep: Sweep, pool_bytes: int, found: Collector) -> None:
    """The pool holds at least what is alive at once; sums are exact even where they leave 64 bits."""
    if not len(size):
        return
    opened, closed = size[sweep.opens], size[sweep.closes]
    if float(size.sum(dtype=np.float64)) < LARGEST_BYTES:
        gone = np.concatenate(([0], np.cumsum(closed)))[sweep.closed_before]
        live = np.cumsum(opened) - gone
        at = int(live.argmax())
        bound = int(live[at])
    else:
        freed = [0, *accumulate(closed.tolist())]
        loads = [a - freed[b] for a, b in zip(accumulate(opened.tolist()), sweep.closed_before.tolist(), strict=True)]
        bound = max(loads)
        at = loads.index(bound)
    if pool_bytes < bound:
        point = int(blocks.lower[sweep.opens[at]])
        parameters = {"pool_bytes": pool_bytes, "bound_bytes": bound}
        found.add("pool_below_bound", 1, [Finding("pool_below_bound", (), parameters, window=(point, point))])


def _check_apart(
    problem: Problem, apart: Ints, solid: NDArray[np.bool_], places: Ints, end: Ints, found: Collector
) -> None:
    """Pairs that must be kept apart share no byte, whenever they live."""
    first, second = apart[:, 0], apart[:, 1]
    both = (first != second) & solid[first] & solid[second]
    shared = apart[both & (places[first] < end[second]) & (places[second] < end[first])]
    found.add("apart_shared", len(shared), _pairs(problem, "apart_shared", shared[: found.limit], places, end))


def _pairs(problem: Problem, code: str, pairs: Ints, places: Ints, end: Ints) -> Iterator[Finding]:
    for first, second in pairs.tolist():
        names = {"first": problem.name(first), "second": problem.name(second)}
        lower = max(int(problem.lower[first]), int(problem.lower[second]))
        upper = min(int(problem.upper[first]), int(problem.upper[second]))
        span = (max(int(places[first]), int(places[second])), min(int(end[first]), int(end[second])))
        yield Finding(code, (first, second), names, window=(lower, upper - 1) if lower < upper else None, span=span)
