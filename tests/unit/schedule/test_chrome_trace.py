"""The Chrome trace: what Perfetto needs, at the times of the schedule."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import gexplorer as gx
from gexplorer.schedule.chrome_trace import chrome_trace, write_chrome_trace
from gexplorer.schedule.stage import schedule
from tests.schedules import durations


@pytest.fixture(scope="module")
def found():
    memory = gx.compile("bert-base:small=true,layers=2").memory
    return schedule(memory, durations(memory, 3), "cube_vector")


@pytest.fixture(scope="module")
def events(found):
    return chrome_trace(found)["traceEvents"]


def of(events, phase):
    return [event for event in events if event["ph"] == phase]


def test_it_is_json_that_can_be_read_back(found, tmp_path):
    path = tmp_path / "trace.json"
    write_chrome_trace(found, path)
    assert json.loads(path.read_text(encoding="utf-8")) == chrome_trace(found)


def test_streams_are_threads_with_names(found, events):
    names = {event["tid"]: event["args"]["name"] for event in of(events, "M") if event["name"] == "thread_name"}
    assert names == {0: "stream 0", 1: "stream 1"}
    assert len(names) == found.streams


def test_kernels_are_complete_events(found, events):
    slices = {event["name"]: event for event in of(events, "X")}
    assert set(slices) == set(found.kernels.names)
    for kernel, name in enumerate(found.kernels.names):
        event = slices[name]
        assert event["tid"] == found.assigned.stream[kernel]
        assert event["ts"] == found.timeline.start_us[kernel]
        assert event["ts"] + event["dur"] == pytest.approx(found.timeline.end_us[kernel])
        assert event["args"]["slack_us"] == found.timeline.slack_us[kernel]
        assert event["args"]["core"] == event["cat"] == found.kernels.cores[kernel].value
        assert event["args"]["critical"] == (kernel in found.critical_path)
    for stream in range(found.streams):
        row = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices.values() if e["tid"] == stream)
        assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(row))


@pytest.mark.parametrize("whole", [int, round])
def test_a_reader_in_whole_nanoseconds_sees_no_overlap(whole):
    compiled = gx.compile("bert-base:layers=4", streams="cv", validate="off")
    rows: dict[int, list[tuple[int, int]]] = {}
    for event in of(chrome_trace(compiled.schedule)["traceEvents"], "X"):
        start, length = whole(event["ts"] * 1000), whole(event["dur"] * 1000)
        assert length > 0
        rows.setdefault(event["tid"], []).append((start, start + length))
    assert len(rows) == 2
    for row in rows.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(row)))


def test_arrows_hang_on_the_kernels_of_a_sync(found, events):
    starts, ends = ({event["id"]: event for event in of(events, phase)} for phase in "sf")
    assert set(starts) == set(ends) == set(range(len(found.syncs)))
    assert len(found.syncs) > 0
    timeline, stream = found.timeline, found.assigned.stream
    for number, (source, target) in enumerate(zip(found.syncs.source, found.syncs.target, strict=True)):
        start, end = starts[number], ends[number]
        assert (start["name"], start["cat"]) == (end["name"], end["cat"])
        assert (start["tid"], end["tid"]) == (stream[source], stream[target])
        if timeline.duration_us[source] > 0:
            assert timeline.start_us[source] <= start["ts"] < timeline.end_us[source]
        assert end["ts"] == timeline.start_us[target]
        assert end["bp"] == "e"


def test_the_counter_goes_up_to_the_peak_and_back_to_nothing(found, events):
    counts = of(events, "C")
    assert max(event["args"]["bytes"] for event in counts) == found.live_bytes.peak_bytes > 0
    assert counts[-1]["args"]["bytes"] == 0


def test_times_ascend(events):
    times = [event["ts"] for event in events if event["ph"] != "M"]
    assert times == sorted(times)
    assert all({"ph", "name", "pid"} <= set(event) for event in events)
