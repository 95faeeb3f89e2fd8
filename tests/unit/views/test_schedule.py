"""A schedule as plain data."""

from __future__ import annotations

import json

import pytest

import gexplorer as gx
from gexplorer.memory.stage import Wishes, plan_memory
from gexplorer.schedule.stage import schedule
from gexplorer.views.schedule import (
    core_rows,
    kernel_rows,
    lanes,
    longest_waits,
    schedule_detail,
    schedule_numbers,
    schedule_summary,
    stream_rows,
    sync_rows,
)
from tests.memory_graphs import flat, simple
from tests.schedules import durations


@pytest.fixture(scope="module")
def memory():
    return gx.compile("bert-base:small=true,layers=2").memory


@pytest.fixture(scope="module")
def found(memory):
    return schedule(memory, durations(memory, 2), "cube_vector")


def test_the_summary_has_what_scripts_read_and_is_json(found):
    summary = schedule_summary(found)
    assert {"streams", "makespan_us", "critical_path_us"} <= set(summary)
    assert (summary["streams"], summary["makespan_us"]) == (2, found.makespan_us)
    assert json.loads(json.dumps(schedule_detail(found), allow_nan=False))["schedule"]["verified"] is True


def test_numbers_fit_each_other(found):
    numbers = schedule_numbers(found)
    assert numbers.data_path_us <= numbers.critical_path_us <= numbers.makespan_us <= numbers.serial_us
    assert numbers.events <= numbers.syncs <= numbers.crossing_edges <= numbers.edges
    assert numbers.kernels == len(found.kernels)


def test_rows_of_kernels_come_in_the_order_of_launching(found):
    rows = kernel_rows(found)
    assert [row.kernel for row in rows] == [found.kernels.names[k] for k in found.assigned.order]
    assert sum(row.duration_us for row in rows) == pytest.approx(found.serial_us)
    assert sum(row.duration_us for row in rows if row.critical) == pytest.approx(found.critical_path_us)
    assert {row.why for row in rows} <= {"", "data", "reuse", "stream"}
    ends = {row.kernel: row.start_us + row.duration_us for row in rows}
    for row in rows:
        assert bool(row.waits_for) == bool(row.why) == (row.start_us > 0 or row.waits_for != "")
        assert (row.tensor != "") == (row.why in ("data", "reuse"))
        if row.waits_for:
            assert ends[row.waits_for] == pytest.approx(row.start_us)


def test_a_wait_for_bytes_names_the_tensor():
    """n3 writes d over a, which n1 still reads."""
    nodes = [
        ("MatMul", ["x", "x"], ["a"]),
        ("Softmax", ["a"], ["b"]),
        ("MatMul", ["x", "a"], ["c"]),
        ("MatMul", ["c", "c"], ["d"]),
        ("MatMul", ["b", "d"], ["y"]),
    ]
    graph = simple(nodes, inputs=["x"], outputs=["y"], types=dict.fromkeys("xabcdy", flat(4)))
    found = schedule(plan_memory(graph, Wishes()), {"n0": 1, "n1": 9, "n2": 1, "n3": 1, "n4": 1}, "cv")
    (row,) = longest_waits(found, 1)
    assert (row.kernel, row.waits_for, row.why, row.tensor, row.wait_us) == ("n3", "n1", "reuse", "a", 8)
    assert (found.critical_path_us, found.data_path_us) == (12, 11)
    assert [(sync.source, sync.target, sync.why) for sync in sync_rows(found) if sync.why == "reuse"] == [
        ("n1", "n3", "reuse")
    ]


def test_longest_waits_come_longest_first(found):
    rows = longest_waits(found, 100)
    waits = [row.wait_us for row in rows]
    assert waits == sorted(waits, reverse=True)
    assert min(waits) > 0
    assert len(rows) == int((found.timeline.wait_us > 0).sum())
    assert longest_waits(found, 2) == rows[:2]


def test_loads_add_up(found):
    assert sum(row.kernels for row in stream_rows(found)) == len(found.kernels)
    assert sum(row.kernels for row in core_rows(found)) == len(found.kernels)
    assert sum(row.busy_us for row in stream_rows(found)) == pytest.approx(found.serial_us)
    assert all(row.shared_us == 0 for row in stream_rows(found))
    assert all(0 <= row.utilisation <= 1 for row in (*stream_rows(found), *core_rows(found)))


@pytest.mark.parametrize("slices", [1, 7, 64])
def test_lanes_show_the_core_that_is_busy_longest(found, slices):
    drawn = lanes(found, slices)
    assert [lane.stream for lane in drawn] == [0, 1]
    whole, rows = found.makespan_us, kernel_rows(found)
    for lane in drawn:
        for number, shown in enumerate(lane.cores):
            low, high = whole * number / slices, whole * (number + 1) / slices
            busy: dict[str, float] = {}
            for row in rows:
                if row.stream == lane.stream:
                    inside = min(high, row.start_us + row.duration_us) - max(low, row.start_us)
                    busy[row.core] = busy.get(row.core, 0) + max(inside, 0)
            if shown:
                assert busy[shown] == pytest.approx(max(busy.values()))
                assert sum(busy.values()) >= (high - low) * 0.499999
            else:
                assert sum(busy.values()) <= (high - low) * 0.500001


def test_a_schedule_that_takes_no_time(memory):
    found = schedule(memory, dict.fromkeys(durations(memory), 0.0), "streams:4")
    assert schedule_numbers(found).makespan_us == 0
    assert all(set(lane.cores) == {""} for lane in lanes(found, 5))
    assert all(row.utilisation == 0 for row in (*stream_rows(found), *core_rows(found)))
