"""When each kernel runs, why not earlier, and how much later it could without anybody noticing.

Times are whole picoseconds inside, so that sums are exact: one stream takes exactly the sum of its kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.errors import OptionError
from gexplorer.ops.row import Unit
from gexplorer.schedule.dependencies import Dependencies
from gexplorer.schedule.kernels import Kernels
from gexplorer.schedule.streams import Assignment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

PS_PER_US = 1_000_000
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Timeline:
    """The kernels in time. Arrays are read-only; [k] in execution order.

    Attributes:
        start_us: [k] when a kernel is launched.
        end_us: [k] when it is done; the launch is part of its time.
        wait_us: [k] how long its stream stood idle before it.
        waits_for: [k] the kernel at whose end it starts: one that it depends on, or the one before it on its stream;
            ``NOBODY`` for one that starts at 0.
        slack_us: [k] how much later it could end without a longer makespan, everything else in its order; 0 on the
            critical paths of the schedule.
        makespan_us: when the last kernel is done.
    """

    start_us: Floats
    end_us: Floats
    wait_us: Floats
    waits_for: Ints
    slack_us: Floats
    makespan_us: float

    @property
    def duration_us(self) -> Floats:
        """[k] how long each kernel runs."""
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a stream or a core type is.

    Attributes:
        kernels: how many are launched there.
        busy_us: time in which at least one does.
        shared_us: time in which several do at once; on real cores they would slow each other down.
        utilisation: busy_us / makespan; 0 where nothing runs.
    """

    kernels: int
    busy_us: float
    shared_us: float
    utilisation: float


def picoseconds(kernels: Kernels, durations_us: Mapping[str, float]) -> list[int]:
    """[k] the kernels' times; names that are no kernels' are left alone.

    Raises:
        OptionError: a kernel has no time, or a time that is negative or no number.
    """
    found: list[int] = []
    for node, is_launched in zip(kernels.nodes, kernels.launched.tolist(), strict=True):
        time_us = durations_us.get(node.name, None if is_launched else 0.0)
        if time_us is None:
            raise OptionError(f"schedule: no duration for kernel {node.name} ({node.op})")
        if not isfinite(time_us) or time_us < 0:
            raise OptionError(f"schedule: kernel {node.name} ({node.op}) cannot take {time_us} us")
        found.append(round(time_us * PS_PER_US))
    return found


def timeline_of(edges: Dependencies, assigned: Assignment, durations_ps: Sequence[int]) -> Timeline:
    """Every kernel as early as its stream and what it waits for allow. O(k + e)."""
    count = len(edges.kernels)
    stream, order = assigned.stream.tolist(), assigned.order.tolist()
    start, wait, blocker = [0] * count, [0] * count, [NOBODY] * count
    end = list(durations_ps)
    last = [NOBODY] * assigned.streams
    next_one = [NOBODY] * count
    for kernel in order:
        before = last[stream[kernel]]
        free = end[before] if before != NOBODY else 0
        at, by = free, before
        for source in edges.waits_for[kernel]:
            if end[source] > at:
                at, by = end[source], source
        start[kernel], wait[kernel], blocker[kernel] = at, at - free, by
        end[kernel] += at
        if before != NOBODY:
            next_one[before] = kernel
        last[stream[kernel]] = kernel
    makespan = max(end, default=0)
    latest = [makespan] * count  # end
    for kernel in reversed(order):
        followers = [*edges.followers[kernel], next_one[kernel]]
        starts = [latest[one] - durations_ps[one] for one in followers if one != NOBODY]
        latest[kernel] = min(starts, default=makespan)
    slack = [a - b for a, b in zip(latest, end, strict=True)]
    blockers = np.array(blocker, dtype=np.int64)
    blockers.flags.writeable = False
    return Timeline(_us(start), _us(end), _us(wait), blockers, _us(slack), makespan / PS_PER_US)


def stream_loads(kernels: Kernels, assigned: Assignment, timeline: Timeline) -> list[Load]:
    """How busy each stream is."""
    return [_load(np.flatnonzero(assigned.stream == number), kernels, timeline) for number in range(assigned.streams)]


def core_loads(kernels: Kernels, timeline: Timeline) -> dict[Unit, Load]:
    """How busy each core type is, those that have something to do; control flow, which has many, as ``Unit.NONE``."""
    cores: dict[Unit, list[int]] = {unit: [] for unit in Unit}
    for kernel, (core, is_launched) in enumerate(zip(kernels.cores, kernels.launched.tolist(), strict=True)):
        if is_launched:
            cores[core].append(kernel)
    return {unit: _load(np.array(ones, dtype=np.int64), kernels, timeline) for unit, ones in cores.items() if ones}


def _load(chosen: Ints, kernels: Kernels, timeline: Timeline) -> Load:
    """Busy and shared time by a sweep over starts and ends."""
    times = np.concatenate((timeline.start_us[chosen], timeline.end_us[chosen]))
    steps = np.repeat((1, -1), len(chosen))
    order = np.lexsort((steps, times))
    running = np.cumsum(steps[order]).tolist()
    busy = shared = 0.0
    for level, (low, high) in zip(running, pairwise(times[order].tolist()), strict=False):
        busy += (high - low) * (level > 0)
        shared += (high - low) * (level > 1)
    whole = timeline.makespan_us
    return Load(int(kernels.launched[chosen].sum()), busy, shared, min(busy / whole, 1.0) if whole else 0.0)


def _us(times_ps: Sequence[int]) -> Floats:
    column = np.array(times_ps, dtype=np.float64) / PS_PER_US
    column.flags.writeable = False
    return column
