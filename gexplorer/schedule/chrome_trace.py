"""A schedule in the Chrome trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Streams are threads and kernels complete events on them; an arrow leads from each Send to its Recv; a counter shows the
bytes of the pool that are in use. Times are microseconds.

Source: the Trace Event Format document of the Chromium project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gexplorer.schedule.live_bytes import live_bytes

if TYPE_CHECKING:
    from gexplorer.schedule.stage import Schedule

    Event = dict[str, object]

_PROCESS = 0
# An arrow hangs on the slice that it begins in, so it begins a nanosecond before that ends.
_INSIDE_US = 0.001


def chrome_trace(schedule: Schedule) -> dict[str, object]:
    """The schedule as the object that the format wants."""
    events = [*_names(schedule), *sorted(_happenings(schedule), key=_time_of)]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"mode": str(schedule.mode)}}


def write_chrome_trace(schedule: Schedule, path: Path) -> None:
    """Writes the trace into a file."""
    path.write_text(json.dumps(chrome_trace(schedule), allow_nan=False), encoding="utf-8")


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
    start, end = timeline.start_us.tolist(), timeline.end_us.tolist()
    wait, slack, blocker = timeline.wait_us.tolist(), timeline.slack_us.tolist(), timeline.waits_for.tolist()
    critical = frozenset(schedule.critical_path)
    for number, (node, lowering) in enumerate(zip(kernels.nodes, kernels.lowerings, strict=True)):
        yield {
            "ph": "X",
            "name": node.name,
            "cat": lowering.unit.value,
            "ts": start[number],
            "dur": end[number] - start[number],
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
        yield {**arrow, "ph": "s", "ts": max(start[source], end[source] - _INSIDE_US), "tid": stream[source]}
        yield {**arrow, "ph": "f", "bp": "e", "ts": start[target], "tid": stream[target]}
    live = live_bytes(schedule.memory, kernels, timeline)
    for time, size in zip(live.time_us.tolist(), live.size_bytes.tolist(), strict=True):
        yield {"ph": "C", "name": "pool bytes in use", "ts": time, "pid": _PROCESS, "args": {"bytes": size}}
