"""A schedule in the Chrome trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Streams are threads and kernels complete events on them; an arrow leads from each Send to its Recv; a counter shows the
bytes of the pool that are in use. Times are microseconds, and whole nanoseconds: readers round begin and length by
themselves, so that kernels which follow each other at once would overlap in them, and Perfetto drops what overlaps.

Source: the Trace Event Format document of the Chromium project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf, nextafter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from gexplorer.output import write_file
from gexplorer.schedule.live_bytes import live_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.schedule.stage import Schedule

    Event = dict[str, object]

_PROCESS = 0
# An arrow hangs on the slice that it begins in, so it begins a nanosecond before that ends.
_INSIDE_NS = 1
_NS_PER_US = 1000


def chrome_trace(schedule: Schedule) -> dict[str, object]:
    """The schedule as the object that the format wants."""
    events = [*_names(schedule), *sorted(_happenings(schedule), key=_time_of)]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"mode": str(schedule.mode)}}


def write_chrome_trace(schedule: Schedule, path: Path) -> None:
    """Writes the trace into a file."""
    write_file(path, json.dumps(chrome_trace(schedule), allow_nan=False))


def _time_of(event: Event) -> float:
    return cast(float, event["ts"])


def _names(schedule: Schedule) -> Iterator[Event]:
    yield _named("process_name", {"name": schedule.memory.graph.name or "model"})
    for stream in range(schedule.streams):
        yield {**_named("thread_name", {"name": f"stream {stream}"}), "tid": stream}
        yield {**_named("thread_sort_index", {"sort_index": stream}), "tid": stream}


def _named(name: str, values: dict[str, object]) -> Event:
    return {"ph": "M", "name": name, "pid": _PROCESS, "args": values}


def _happenings(schedule: Schedule) -> Iterator[Event]:
    """Kernels first, as an arrow hangs on a kernel that is there already."""
    timeline, kernels = schedule.timeline, schedule.dependencies.kernels
    stream = schedule.assigned.stream.tolist()
    start, end = _whole_ns(timeline.start_us), _whole_ns(timeline.end_us)
    wait, slack, blocker = timeline.wait_us.tolist(), timeline.slack_us.tolist(), timeline.waits_for.tolist()
    critical = frozenset(schedule.critical_path)
    for number, (node, lowering) in enumerate(zip(kernels.nodes, kernels.lowerings, strict=True)):
        yield {
            "ph": "X",
            "name": node.name,
            "cat": lowering.unit.value,
            "ts": _us(start[number]),
            "dur": _us(end[number] - start[number]),
            "pid": _PROCESS,
            "tid": stream[number],
            "args": {
                "op": node.op,
                "cann": lowering.cann,
                "engine": lowering.engine.value,
                "core": lowering.unit.value,
                "origin": list(node.origin),
                "wait_us": wait[number],
                "waits_for": kernels.names[blocker[number]] if blocker[number] >= 0 else None,
                "slack_us": slack[number],
                "critical": number in critical,
            },
        }
    syncs = schedule.syncs
    for number, (source, target, event) in enumerate(
        zip(syncs.source.tolist(), syncs.target.tolist(), syncs.event.tolist(), strict=True)
    ):
        arrow: Event = {"name": f"event {event}", "cat": "sync", "id": number, "pid": _PROCESS}
        sent = max(start[source], end[source] - _INSIDE_NS)
        yield {**arrow, "ph": "s", "ts": _us(sent), "tid": stream[source]}
        yield {**arrow, "ph": "f", "bp": "e", "ts": _us(start[target]), "tid": stream[target]}
    live = live_bytes(schedule.memory, kernels, timeline)
    for time, size in zip(_whole_ns(live.time_us), live.size_bytes.tolist(), strict=True):
        yield {"ph": "C", "name": "pool bytes in use", "ts": _us(time), "pid": _PROCESS, "args": {"bytes": size}}


def _whole_ns(times_us: NDArray[np.float64]) -> list[int]:
    return np.rint(times_us * _NS_PER_US).astype(np.int64).tolist()


def _us(ns: int) -> float:
    """Microseconds that are so many nanoseconds also for a reader who cuts off what is behind the point."""
    us = ns / _NS_PER_US
    return us if int(us * _NS_PER_US) == ns else nextafter(us, inf)
