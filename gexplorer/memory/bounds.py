"""What no plan can beat: the max live load, where it is reached, what is alive there, and what alignment adds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.program import BEFORE, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.liveness import Liveness

    Ints = NDArray[np.int64]


def max_live_load(lower: Ints, upper: Ints, size_bytes: Ints) -> int:
    """The largest sum of sizes of buffers that are alive at once; a lower bound on every pool. O(n log n).

    Args:
        lower: [n] first point of a lifetime.
        upper: [n] first point behind it; lifetimes are half-open.
        size_bytes: [n] sizes.
    """
    _, load = load_curve(lower, upper, size_bytes)
    return int(load.max(initial=0))


def load_curve(lower: Ints, upper: Ints, size_bytes: Ints) -> tuple[Ints, Ints]:
    """The live load as a step curve. O(n log n).

    Returns:
        times, ascending, and loads: ``load_bytes[i]`` from ``times[i]`` until ``times[i + 1]``; the last load is 0.
    """
    size = np.asarray(size_bytes, dtype=np.int64)
    points = np.concatenate((np.asarray(lower, dtype=np.int64), np.asarray(upper, dtype=np.int64)))
    if not len(points):
        return points, points.copy()
    times, where = _ranks(points)
    change = np.zeros(len(times), dtype=np.int64)
    np.add.at(change, where[: len(size)], size)
    np.subtract.at(change, where[len(size) :], size)
    return times, np.cumsum(change)


def _ranks(points: Ints) -> tuple[Ints, Ints]:
    """The distinct points, and the place of each among them; without sorting where they lie close together."""
    low, high = int(points.min()), int(points.max())
    if high - low > 2 * len(points):
        return np.unique(points, return_inverse=True)
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[points - low] = True
    times = np.flatnonzero(seen) + low
    return times, (np.cumsum(seen) - 1)[points - low]


def pairs_alive_together(lower: Ints, upper: Ints) -> int:
    """How many pairs of buffers are ever alive together, without listing them. O(n log n).

    Each buffer meets those that begin before it ends, but for those that end before it begins, and itself; so every
    pair is counted twice.
    """
    starts, ends = np.sort(lower), np.sort(upper)
    met = np.searchsorted(starts, upper, "left") - np.searchsorted(ends, lower, "right") - 1
    return int(met.sum()) // 2


@dataclass(frozen=True, slots=True)
class Alive:
    """A tensor that lies in a buffer of its own at the peak.

    Attributes:
        tensor: the tensor that the buffer is named after.
        buffer: the buffer.
        size_bytes: size of the buffer.
        raw_bytes: size without padding and alignment.
        operator: the operator that made it; "" for what is there from the start.
        kind: a ``Kind``.
        others: what else lies in the buffer, by name.
    """

    tensor: str
    buffer: int
    size_bytes: int
    raw_bytes: int
    operator: str
    kind: Kind
    others: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lower bound of a pool, and what makes it.

    Attributes:
        liveness: what was measured.
        bound_bytes: the max live load of the pool's buffers; no plan is smaller.
        raw_bound_bytes: the same without padding and alignment.
        load_bytes: [points] live load while each operator runs: what it reads and writes, and what waits for others
            (its breadth, in Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).
        pairs: how many pairs of the pool's buffers are ever alive together.
    """

    liveness: Liveness
    bound_bytes: int
    raw_bound_bytes: int
    load_bytes: Ints
    pairs: int

    def __repr__(self) -> str:
        return f"Bounds(bound_bytes={self.bound_bytes}, raw_bound_bytes={self.raw_bound_bytes}, pairs={self.pairs})"

    @property
    def alignment_cost_bytes(self) -> int:
        """What padding and alignment add to the bound."""
        return self.bound_bytes - self.raw_bound_bytes

    @cached_property
    def peaks(self) -> Ints:
        """The points at which the bound is reached, ascending; none for an empty pool."""
        if not self.bound_bytes:
            return np.zeros(0, dtype=np.int64)
        found = np.flatnonzero(self.load_bytes == self.bound_bytes)
        found.flags.writeable = False
        return found

    @property
    def peak(self) -> int:
        """The first of them, 0 for an empty pool."""
        return int(self.peaks[0]) if len(self.peaks) else 0

    @property
    def operator(self) -> str:
        """The operator that runs there; "" for an empty pool."""
        return self.liveness.program.operators[self.peak] if len(self.peaks) else ""

    @cached_property
    def alive(self) -> tuple[Alive, ...]:
        """The buffers of the pool that are alive at the peak, largest first; their sizes sum up to the bound."""
        return self.alive_at(self.peak) if len(self.peaks) else ()

    def alive_at(self, point: int) -> tuple[Alive, ...]:
        """The buffers of the pool that are alive at a point, largest first, then by program order."""
        live = self.liveness
        pool = live.pool_buffers
        closed = int(live.policy.closed)
        there = pool[(live.first[pool] <= point) & (point <= live.last[pool] + closed)]
        there = there[np.argsort(-live.size_bytes[there], kind="stable")]
        return tuple(self._alive(buffer) for buffer in there.tolist())

    def _alive(self, buffer: int) -> Alive:
        live, program = self.liveness, self.liveness.program
        owner = int(live.owner[buffer])
        writer = int(program.writer[owner])
        return Alive(
            tensor=program.tensors[owner],
            buffer=buffer,
            size_bytes=int(live.size_bytes[buffer]),
            raw_bytes=int(live.raw_bytes[buffer]),
            operator="" if writer == BEFORE else program.operators[writer],
            kind=Kind(int(live.kind[buffer])),
            others=tuple([program.tensors[int(i)] for i in live.tensors_in(buffer).tolist() if i != owner]),
        )


def bounds_of(liveness: Liveness) -> Bounds:
    """The bounds of a program's pool. O(n log n)."""
    pool = liveness.pool_buffers
    lower = liveness.first[pool]
    upper = liveness.last[pool] + (2 if liveness.policy.closed else 1)
    load = _load_by_point(lower, upper, liveness.size_bytes[pool], len(liveness.program))
    return Bounds(
        liveness=liveness,
        bound_bytes=int(load.max(initial=0)),
        raw_bound_bytes=max_live_load(lower, upper, liveness.raw_bytes[pool]),
        load_bytes=load[: len(liveness.program)],
        pairs=pairs_alive_together(lower, upper),
    )


def _load_by_point(lower: Ints, upper: Ints, size_bytes: Ints, points: int) -> Ints:
    change = np.zeros(points + 3, dtype=np.int64)
    np.add.at(change, lower, size_bytes)
    np.subtract.at(change, upper, size_bytes)
    load = np.cumsum(change)
    load.flags.writeable = False
    return load
