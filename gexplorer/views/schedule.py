"""A schedule as plain data: the ``schedule`` object of the summary, and rows of kernels, streams and cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gexplorer.views.memory import finding_rows
from gexplorer.views.planners import finding_counts

if TYPE_CHECKING:
    from gexplorer.schedule.stage import Schedule
    from gexplorer.schedule.timeline import Load


@dataclass(frozen=True, slots=True)
class ScheduleNumbers:
    """A schedule in numbers.

    Attributes:
        streams: streams that are used.
        makespan_us: when the last kernel is done.
        critical_path_us: the longest path of what must come before what; no schedule of this plan is shorter.
        mode: how kernels were to be spread.
        kernels: kernels that are launched.
        serial_us: the sum of all kernels.
        data_path_us: the critical path if no two tensors shared a byte.
        edges: pairs of kernels of which one waits for the other, those left out that others imply.
        reuse_edges: those that are there because bytes change hands.
        crossing_edges: those between streams.
        syncs: Send/Recv pairs, for those that nothing implies.
        events: event numbers that they need.
        live_peak_bytes: the most bytes of the pool that are in use at one moment.
        verified: whether the verifier found no race.
    """

    streams: int
    makespan_us: float
    critical_path_us: float
    mode: str
    kernels: int
    serial_us: float
    data_path_us: float
    edges: int
    reuse_edges: int
    crossing_edges: int
    syncs: int
    events: int
    live_peak_bytes: int
    verified: bool


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel in time.

    Attributes:
        kernel: the node.
        op: its operator.
        core: who does the work.
        stream: where it runs.
        start_us: when it is launched.
        duration_us: how long it runs, its launch included.
        wait_us: how long its stream stood idle before it.
        waits_for: the kernel at whose end it starts, "" where it starts at 0.
        why: what it waits for: ``data``, ``reuse`` of bytes, or the ``stream``; "" where it starts at 0.
        tensor: the tensor that it reads, or whose bytes it takes; "" where it waits for the stream.
        slack_us: how much later it could be without a longer makespan.
        critical: whether it lies on the critical path.
    """

    kernel: str
    op: str
    core: str
    stream: int
    start_us: float
    duration_us: float
    wait_us: float
    waits_for: str
    why: str
    tensor: str
    slack_us: float
    critical: bool


@dataclass(frozen=True, slots=True)
class LoadRow:
    """How busy a stream or a core type is.

    Attributes:
        name: of the stream or core type.
        kernels: how many run there.
        busy_us: time in which at least one does.
        shared_us: time in which several do at once: on real cores they would slow each other down.
        utilisation: busy_us / makespan.
    """

    name: str
    kernels: int
    busy_us: float
    shared_us: float
    utilisation: float


@dataclass(frozen=True, slots=True)
class SyncRow:
    """One event.

    Attributes:
        event: its number.
        source: the kernel behind which it is sent.
        source_stream: where that runs.
        target: the kernel that waits for it.
        target_stream: where that runs.
        why: ``data`` or ``reuse``.
        tensor: the tensor that the target reads, or whose bytes it takes.
    """

    event: int
    source: str
    source_stream: int
    target: str
    target_stream: int
    why: str
    tensor: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A stream drawn as slices of equal time.

    Attributes:
        stream: its number.
        cores: for each slice the core type that is busy longest in it, "" where the stream is idle for most of it.
    """

    stream: int
    cores: tuple[str, ...]


def schedule_numbers(schedule: Schedule) -> ScheduleNumbers:
    """The numbers of a schedule."""
    edges, syncs = schedule.dependencies, schedule.syncs
    return ScheduleNumbers(
        streams=schedule.streams,
        makespan_us=schedule.makespan_us,
        critical_path_us=schedule.critical_path_us,
        mode=str(schedule.mode),
        kernels=schedule.kernels.launches,
        serial_us=schedule.serial_us,
        data_path_us=schedule.data_path_us,
        edges=len(edges),
        reuse_edges=edges.reuse_edges,
        crossing_edges=syncs.crossing,
        syncs=len(syncs),
        events=syncs.events,
        live_peak_bytes=schedule.live_bytes.peak_bytes,
        verified=schedule.is_sound,
    )


def schedule_summary(schedule: Schedule) -> dict[str, object]:
    """The ``schedule`` object of a model's summary."""
    return {
        **asdict(schedule_numbers(schedule)),
        "stream_loads": [asdict(row) for row in stream_rows(schedule)],
        "core_loads": [asdict(row) for row in core_rows(schedule)],
        "findings": finding_rows(schedule.findings),
        "defects": dict(finding_counts(schedule.findings)),
        "seconds": dict(schedule.seconds),
    }


def schedule_detail(schedule: Schedule) -> dict[str, object]:
    """All about a schedule: its numbers, every kernel, every event, and the critical path."""
    names = schedule.kernels.names
    return {
        "schedule": schedule_summary(schedule),
        "kernels": [asdict(row) for row in kernel_rows(schedule)],
        "syncs": [asdict(row) for row in sync_rows(schedule)],
        "critical_path": [names[kernel] for kernel in schedule.critical_path],
    }


def kernel_rows(schedule: Schedule) -> list[KernelRow]:
    """Every kernel, in the order of launching."""
    order = schedule.assigned.order.tolist()
    return _kernel_rows(schedule, order)


def longest_waits(schedule: Schedule, most: int) -> list[KernelRow]:
    """The kernels before which their stream stood idle longest, the longest first."""
    wait = schedule.timeline.wait_us.tolist()
    waiting = sorted((k for k, time in enumerate(wait) if time > 0), key=lambda k: (-wait[k], k))
    return _kernel_rows(schedule, waiting[:most])


def stream_rows(schedule: Schedule) -> list[LoadRow]:
    """How busy each stream is."""
    return [_load_row(f"stream {number}", load) for number, load in enumerate(schedule.stream_loads)]


def core_rows(schedule: Schedule) -> list[LoadRow]:
    """How busy each core type is."""
    return [_load_row(unit.value, load) for unit, load in schedule.core_loads.items()]


def sync_rows(schedule: Schedule) -> list[SyncRow]:
    """The events, in the order in which they are sent."""
    syncs, stream, names = schedule.syncs, schedule.assigned.stream.tolist(), schedule.kernels.names
    columns = (syncs.event.tolist(), syncs.source.tolist(), syncs.target.tolist())
    return [
        SyncRow(event, names[source], stream[source], names[target], stream[target], *_why(schedule, source, target))
        for event, source, target in zip(*columns, strict=True)
    ]


def lanes(schedule: Schedule, slices: int) -> list[Lane]:
    """Each stream in so many slices of equal time; what takes no time is not to be seen."""
    whole = schedule.makespan_us
    if not whole:
        return [Lane(stream, ("",) * slices) for stream in range(schedule.streams)]
    busy: list[list[Counter[str]]] = [[Counter() for _ in range(slices)] for _ in range(schedule.streams)]
    cuts = [whole * number / slices for number in range(slices)] + [whole]
    cores, timeline = schedule.kernels.cores, schedule.timeline
    columns = (schedule.assigned.stream.tolist(), timeline.start_us.tolist(), timeline.end_us.tolist(), cores)
    for stream, start, end, core in zip(*columns, strict=True):
        place = min(int(start / whole * slices), slices - 1)
        for number, (low, high) in enumerate(pairwise(cuts[place:]), place):
            if low >= end:
                break
            busy[stream][number][core.value] += max(min(end, high) - max(start, low), 0.0)  # pyright: ignore[reportArgumentType]
    half = whole / slices / 2
    return [Lane(number, tuple(_most(one, half) for one in row)) for number, row in enumerate(busy)]


def _most(busy: Counter[str], half_us: float) -> str:
    if sum(busy.values()) < half_us:
        return ""
    return max(busy, key=lambda core: (busy[core], core))


def _kernel_rows(schedule: Schedule, chosen: Sequence[int]) -> list[KernelRow]:
    timeline, kernels = schedule.timeline, schedule.kernels
    stream, blockers = schedule.assigned.stream.tolist(), timeline.waits_for.tolist()
    times = (timeline.start_us, timeline.duration_us, timeline.wait_us, timeline.slack_us)
    start, duration, wait, slack = (column.tolist() for column in times)
    critical = frozenset(schedule.critical_path)
    rows: list[KernelRow] = []
    for kernel in chosen:
        node, blocker = kernels.nodes[kernel], blockers[kernel]
        why, tensor = _why(schedule, blocker, kernel) if blocker >= 0 else ("", "")
        rows.append(
            KernelRow(
                kernel=node.name,
                op=node.op,
                core=kernels.lowerings[kernel].unit.value,
                stream=stream[kernel],
                start_us=start[kernel],
                duration_us=duration[kernel],
                wait_us=wait[kernel],
                waits_for=kernels.names[blocker] if blocker >= 0 else "",
                why=why,
                tensor=tensor,
                slack_us=slack[kernel],
                critical=kernel in critical,
            )
        )
    return rows


def _why(schedule: Schedule, before: int, after: int) -> tuple[str, str]:
    """Why one kernel waits for another, and for which tensor."""
    edges = schedule.dependencies
    row = edges.edge(before, after)
    if row is None:
        return "stream", ""
    return "reuse" if edges.reuse[row] else "data", schedule.memory.program.tensors[int(edges.tensor[row])]


def _load_row(name: str, load: Load) -> LoadRow:
    return LoadRow(name, load.kernels, load.busy_us, load.shared_us, load.utilisation)
