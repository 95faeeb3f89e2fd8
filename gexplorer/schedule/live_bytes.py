"""How many bytes of the pool are in use at each moment of a schedule: what runs side by side keeps more alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.liveness import NO_BUFFER
from gexplorer.memory.program import BEFORE
from gexplorer.schedule.kernels import NOTHING, Kernels, roots_of
from gexplorer.schedule.timeline import Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.stage import Memory


@dataclass(frozen=True, eq=False)
class LiveBytes:
    """A step function of time. Arrays are read-only.

    Attributes:
        time_us: [t] when the number changes, ascending.
        size_bytes: [t] bytes in use from then on; the last is 0.
    """

    time_us: NDArray[np.float64]
    size_bytes: NDArray[np.int64]

    @property
    def peak_bytes(self) -> int:
        """The most at one moment."""
        return int(self.size_bytes.max(initial=0))


def live_bytes(memory: Memory, kernels: Kernels, timeline: Timeline) -> LiveBytes:
    """The pool's bytes in use: a buffer from the start of its first writer to the end of its last user. O(n log n).

    Inside of a control-flow kernel nobody knows the times; its points are taken to share its time evenly. Where others
    take a buffer over piece by piece, all of it counts until its last user is done; in all never more than the pool.
    """
    program, live = memory.program, memory.liveness
    begin, end = _point_times(kernels, timeline)
    buffer_of = live.buffer[roots_of(live)]
    everything = np.arange(len(live.buffer))
    tensor = np.concatenate((program.read_tensor, everything, everything))
    point = np.concatenate((program.read_point, program.writer, live.last_read))  # the last after loops too
    used = (point > BEFORE) & (buffer_of[tensor] != NO_BUFFER)
    used[used] = kernels.at_point[point[used]] != NOTHING
    buffer, point = buffer_of[tensor[used]], point[used]
    first = np.full(len(live.owner), np.inf)
    last = np.zeros(len(live.owner))
    np.minimum.at(first, buffer, begin[point])
    np.maximum.at(last, buffer, end[point])
    rows = live.pool_buffers[np.isfinite(first[live.pool_buffers])]
    time = np.concatenate((first[rows], last[rows]))
    change = np.concatenate((live.size_bytes[rows], -live.size_bytes[rows]))
    order = np.argsort(time, kind="stable")
    time, total = time[order], np.minimum(np.cumsum(change[order]), memory.pool_bytes)
    final = np.ones(len(time), dtype=np.bool_)  # of several changes at one moment what comes of them all
    final[:-1] = time[1:] > time[:-1]
    time, total = time[final], total[final]
    time.flags.writeable = total.flags.writeable = False
    return LiveBytes(time, total)


def _point_times(kernels: Kernels, timeline: Timeline) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[points] when each point begins and ends; 0 where nothing is launched."""
    begin, end = np.zeros(len(kernels.at_point)), np.zeros(len(kernels.at_point))
    points = np.flatnonzero(kernels.at_point != NOTHING)
    kernel = kernels.at_point[points]
    length = kernels.last[kernel] - kernels.first[kernel] + 1
    done = points - kernels.first[kernel]
    start, time = timeline.start_us[kernel], timeline.duration_us[kernel]
    begin[points] = start + time * (done / length)
    end[points] = np.where(done + 1 == length, timeline.end_us[kernel], start + time * ((done + 1) / length))
    return begin, end
