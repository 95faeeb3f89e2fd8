"""Times, waits and slack of small schedules, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.ops.row import Unit
from gexplorer.schedule.streams import Assignment
from gexplorer.schedule.timeline import PS_PER_US, core_loads, picoseconds, stream_loads, timeline_of
from tests.schedules import edges_of, kernels

CUBE, VECTOR = Unit.CUBE, Unit.VECTOR


def timed(pairs, stream, times_us, cores=None):
    edges = edges_of(pairs, cores or [CUBE] * len(stream))
    assigned = Assignment(np.array(stream, dtype=np.int64), np.arange(len(stream)))
    return edges, assigned, timeline_of(edges, assigned, [round(t * PS_PER_US) for t in times_us])


def test_a_fork_and_a_join():
    _, _, timeline = timed([(0, 1), (0, 2), (1, 3), (2, 3)], [0, 0, 1, 0], [1, 2, 5, 1])
    assert timeline.start_us.tolist() == [0, 1, 1, 6]
    assert timeline.end_us.tolist() == [1, 3, 6, 7]
    assert timeline.wait_us.tolist() == [0, 0, 1, 3]
    assert timeline.waits_for.tolist() == [-1, 0, 0, 2]
    assert timeline.slack_us.tolist() == [0, 3, 0, 0]
    assert timeline.makespan_us == 7


def test_a_stream_is_waited_for_like_a_dependency():
    _, _, timeline = timed([], [0, 0, 1], [2, 3, 1])
    assert timeline.start_us.tolist() == [0, 2, 0]
    assert timeline.slack_us.tolist() == [0, 0, 4]
    assert timeline.waits_for.tolist() == [-1, 0, -1]


def test_sums_are_exact():
    times = [0.1] * 1000
    _, _, timeline = timed([], [0] * 1000, times)
    assert timeline.makespan_us == 100.0
    assert timeline.slack_us.max() == 0


def test_no_kernels():
    _, _, timeline = timed([], [], [])
    assert timeline.makespan_us == 0


def test_loads():
    edges, assigned, timeline = timed([(0, 3)], [0, 1, 2, 0], [2, 3, 1, 2], [CUBE, CUBE, VECTOR, VECTOR])
    streams = stream_loads(edges.kernels, assigned, timeline)
    assert [(load.kernels, load.busy_us, load.utilisation) for load in streams] == [
        (2, 4, 1.0),
        (1, 3, 0.75),
        (1, 1, 0.25),
    ]
    cores = core_loads(edges.kernels, timeline)
    assert set(cores) == {CUBE, VECTOR}
    assert (cores[CUBE].kernels, cores[CUBE].busy_us, cores[CUBE].shared_us) == (2, 3, 2)
    assert (cores[VECTOR].busy_us, cores[VECTOR].shared_us, cores[VECTOR].utilisation) == (3, 0, 0.75)


def test_durations_are_looked_up_by_name():
    assert picoseconds(kernels([CUBE, VECTOR]), {"k1": 2.5, "k0": 1e-6, "other": -1}) == [1, 2_500_000]


@pytest.mark.parametrize("time_us", [-1.0, float("nan"), float("inf")])
def test_times_that_cannot_be(time_us):
    with pytest.raises(OptionError, match=r"^schedule: kernel k0 \(Op\) cannot take"):
        picoseconds(kernels([CUBE]), {"k0": time_us})


def test_a_kernel_without_a_time_is_named():
    with pytest.raises(OptionError, match=r"^schedule: no duration for kernel k0 \(Op\)$"):
        picoseconds(kernels([CUBE]), {})
