"""What a picture of a memory plan shows, as numbers: who lies where from when to when, and how full the pool is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.bounds import load_curve
from gexplorer.memory.plan import Plan
from gexplorer.memory.verify import verify_placement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Buffers that a picture shows one by one; the others are the smallest parts of it.
MOST_BLOCKS = 2000
# Overlaps that a picture of an unsound plan shows.
MOST_CLASHES = 1000
UNKNOWN = "buffer"


@dataclass(frozen=True, slots=True)
class Block:
    """One buffer.

    Attributes:
        name: the tensor that gave it its name.
        kind: what colours it: the unit that writes it, ``workspace``, or ``buffer`` where nothing is known.
        lower: first point at which it is alive.
        upper: first point at which it is not any more.
        offset: bytes from the start of the pool.
        size_bytes: its size.
    """

    name: str
    kind: str
    lower: int
    upper: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Clash:
    """Bytes that two live buffers both claim: points ``[lower, upper)``, bytes ``[low, high)``."""

    first: str
    second: str
    lower: int
    upper: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class PoolPicture:
    """The picture. Points count from the first of the program, bytes from the start of the pool.

    Attributes:
        points: length of the program; all lifetimes lie in ``[0, points]``.
        pool_bytes: the pool that the planner believes it needs.
        bound_bytes: the max live load.
        height_bytes: where the highest of pool, bound and buffers ends.
        buffers: how many there are in all.
        blocks: those with the most bytes x points, in program order.
        rest: [k, 4] lower, upper, offset and size of the others.
        kinds: kinds of all buffers, each with their bytes in all, the most first.
        at: [c] points at which the load changes, ascending.
        live_bytes: [c] bytes alive from there to the next.
        top_bytes: [c] end of the highest buffer alive there; what is free below it are holes.
        peak: the first point with the most alive.
        clashes: bytes that two live buffers both claim; empty for a sound plan.
    """

    points: int
    pool_bytes: int
    bound_bytes: int
    height_bytes: int
    buffers: int
    blocks: tuple[Block, ...]
    rest: Ints
    kinds: tuple[tuple[str, int], ...]
    at: Ints
    live_bytes: Ints
    top_bytes: Ints
    peak: int
    clashes: tuple[Clash, ...]


def pool_picture(
    plan: Plan, kinds: Sequence[str] = (), *, points: int = 0, most: int = MOST_BLOCKS, holes: bool = True
) -> PoolPicture:
    """The picture of a plan, sound or not.

    Args:
        plan: the plan.
        kinds: [n] what colours each buffer; left out, nothing is known.
        points: length of the program; 0 for as long as the buffers live, from the first one on.
        most: how many buffers to show one by one.
        holes: whether ``top_bytes`` are wanted; without they are 0.
    """
    problem, offsets = plan.problem, plan.placement.offsets
    first = 0 if points or not len(problem) else int(problem.lower.min())
    lower, upper, sizes = problem.lower - first, problem.upper - first, problem.size_bytes
    order = np.argsort(-(sizes.astype(np.float64) * (upper - lower)), kind="stable")
    chosen = np.sort(order[:most])
    chosen = chosen[np.argsort(lower[chosen], kind="stable")]
    others = np.stack([lower, upper, offsets, sizes], axis=1)[np.sort(order[most:])]
    at, live = load_curve(lower, upper, sizes)
    ends = offsets + sizes
    known = list(kinds) or [UNKNOWN] * len(problem)
    return PoolPicture(
        points=max(points, int(upper.max(initial=0))),
        pool_bytes=plan.pool_bytes,
        bound_bytes=problem.bound_bytes,
        height_bytes=max(plan.pool_bytes, problem.bound_bytes, int(ends.max(initial=0))),
        buffers=len(problem),
        blocks=tuple(
            Block(problem.name(row), known[row], *map(int, (lower[row], upper[row], offsets[row], sizes[row])))
            for row in chosen.tolist()
        ),
        rest=others,
        kinds=_bytes_by_kind(known, sizes),
        at=at,
        live_bytes=live,
        top_bytes=_highest_ends(at, lower, upper, ends) if holes else np.zeros_like(live),
        peak=int(at[live.argmax()]) if len(at) else 0,
        clashes=() if plan.is_sound else _clashes(plan, first),
    )


def _clashes(plan: Plan, first: int) -> tuple[Clash, ...]:
    found = verify_placement(plan.problem, plan.placement.offsets, plan.pool_bytes, MOST_CLASHES)
    name = plan.problem.name
    return tuple(
        Clash(name(finding.rows[0]), name(finding.rows[1]), window[0] - first, window[1] + 1 - first, *span)
        for finding in found
        if finding.code == "overlap" and (window := finding.window) and (span := finding.span)
    )


def _bytes_by_kind(kinds: Sequence[str], sizes: Ints) -> tuple[tuple[str, int], ...]:
    total: dict[str, int] = {}
    for kind, size in zip(kinds, sizes.tolist(), strict=True):
        total[kind] = total.get(kind, 0) + size
    return tuple(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _highest_ends(at: Ints, lower: Ints, upper: Ints, ends: Ints) -> Ints:
    """[c] the highest end of what is alive from each point to the next.

    Buffers by falling end, each paints the stretches that no higher one has painted; a stretch is painted once and then
    skipped, so this is O(N log N).
    """
    begin, end = np.searchsorted(at, lower).tolist(), np.searchsorted(at, upper).tolist()
    top = [0] * len(at)
    following = list(range(len(at) + 1))  # the next stretch from here that is not painted yet
    for row in np.argsort(-ends, kind="stable").tolist():
        stretch = _next(following, begin[row])
        while stretch < end[row]:
            top[stretch] = int(ends[row])
            following[stretch] = stretch + 1
            stretch = _next(following, stretch)
    return np.array(top, dtype=np.int64)


def _next(following: list[int], stretch: int) -> int:
    """Follows the links to where they end, and shortens them on the way."""
    root = stretch
    while following[root] != root:
        root = following[root]
    while following[stretch] != root:
        following[stretch], stretch = root, following[stretch]
    return root
