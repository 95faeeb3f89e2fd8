"""The schedule stage: a planned graph and the time of each kernel become streams, events, a timeline and a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gexplorer.display import Charted
from gexplorer.memory.findings import Findings
from gexplorer.memory.stage import Memory
from gexplorer.schedule.dependencies import Dependencies, dependencies_of
from gexplorer.schedule.events import Syncs, number_events, waits_of
from gexplorer.schedule.kernels import Kernels, kernels_of
from gexplorer.schedule.list_schedule import longest_path
from gexplorer.schedule.live_bytes import LiveBytes, live_bytes
from gexplorer.schedule.modes import Mode, parse_mode
from gexplorer.schedule.proof import prove
from gexplorer.schedule.streams import Assignment, assign
from gexplorer.schedule.timeline import PS_PER_US, Load, Timeline, core_loads, picoseconds, stream_loads, timeline_of
from gexplorer.trace.laps import Laps

if TYPE_CHECKING:
    from gexplorer.ops.row import Unit


@dataclass(frozen=True, eq=False)
class Schedule(Charted):
    """What came of the schedule stage.

    Streams are taken to run side by side without slowing each other down. For a stream of cube kernels beside one of
    vector kernels that is what the chip does; kernels of one core type share its cores, and how long they do so is
    said by ``core_loads``.

    Attributes:
        memory: the plan that it is made for.
        mode: how kernels were to be spread over streams.
        dependencies: what must come before what.
        assigned: the stream of each kernel, and the order of launching.
        syncs: the events between streams.
        timeline: when each kernel runs.
        durations_ps: [k] how long each kernel runs, in whole picoseconds.
        findings: what the memory verifier has against it; empty where nothing can race.
        seconds: CPU time of dependencies, streams, syncs, events, timeline and check.
    """

    memory: Memory
    mode: Mode
    dependencies: Dependencies
    assigned: Assignment
    syncs: Syncs
    timeline: Timeline
    durations_ps: tuple[int, ...]
    findings: Findings
    seconds: Mapping[str, float]

    def __repr__(self) -> str:
        took = f"makespan_us={self.makespan_us:.6g}, is_sound={self.is_sound}"
        return f"Schedule({self.memory.graph.name!r}, {len(self.kernels):,} kernels, streams={self.streams}, {took})"

    @property
    def kernels(self) -> Kernels:
        """What is launched."""
        return self.dependencies.kernels

    @property
    def streams(self) -> int:
        """How many streams are used."""
        return self.assigned.streams

    @property
    def makespan_us(self) -> float:
        """When the last kernel is done."""
        return self.timeline.makespan_us

    @property
    def serial_us(self) -> float:
        """The sum of all kernels: what one stream takes."""
        return sum(self.durations_ps) / PS_PER_US

    @cached_property
    def critical_path(self) -> tuple[int, ...]:
        """The kernels of the longest path through the dependencies, reuse edges among them."""
        return tuple(longest_path(self.dependencies, self.durations_ps))

    @property
    def critical_path_us(self) -> float:
        """How long that path takes: no number of streams does it faster with this memory plan."""
        return sum(self.durations_ps[kernel] for kernel in self.critical_path) / PS_PER_US

    @cached_property
    def data_path_us(self) -> float:
        """The longest path of data alone; what the critical path has more is the price of sharing bytes."""
        path = longest_path(self.dependencies.data_only(), self.durations_ps)
        return sum(self.durations_ps[kernel] for kernel in path) / PS_PER_US

    @property
    def is_sound(self) -> bool:
        """True when the verifier found nothing."""
        return not self.findings

    @cached_property
    def stream_loads(self) -> list[Load]:
        """How busy each stream is."""
        return stream_loads(self.kernels, self.assigned, self.timeline)

    @cached_property
    def core_loads(self) -> Mapping[Unit, Load]:
        """How busy each core type is."""
        return core_loads(self.kernels, self.timeline)

    @cached_property
    def live_bytes(self) -> LiveBytes:
        """The pool's bytes in use over time."""
        return live_bytes(self.memory, self.kernels, self.timeline)


def kernel_names(memory: Memory) -> tuple[str, ...]:
    """The nodes that launch something, in execution order; those of control flow with their bodies."""
    found = kernels_of(memory.graph, memory.liveness)
    return tuple([name for name, is_launched in zip(found.names, found.launched.tolist(), strict=True) if is_launched])


def schedule(memory: Memory, durations_us: Mapping[str, float], mode: str | Mode = "single") -> Schedule:
    """Schedules a graph whose memory is planned. O(E log E + kernels x streams).

    Args:
        memory: the plan; where it lets a tensor take another's bytes, kernels wait for each other.
        durations_us: how long each kernel takes, its launch included, by node name. What launches nothing takes
            no time unless one is given; names that are no kernels' are left alone.
        mode: single, dependency, cube_vector or streams:N (1 to 64), or GE's names: cv, LoadBalance:N.

    Raises:
        OptionError: a kernel has no duration or a negative one, or there is no such mode.
    """
    chosen = mode if isinstance(mode, Mode) else parse_mode(mode)
    clock = Laps()
    edges = dependencies_of(memory)
    durations = picoseconds(edges.kernels, durations_us)
    clock.lap("dependencies")
    assigned = assign(edges, durations, chosen)
    clock.lap("streams")
    waits = waits_of(edges, assigned)
    clock.lap("syncs")
    syncs = number_events(waits, assigned)
    clock.lap("events")
    timeline = timeline_of(edges, assigned, durations)
    clock.lap("timeline")
    findings = prove(memory, edges.kernels, assigned, syncs)
    clock.lap("check")
    return Schedule(memory, chosen, edges, assigned, syncs, timeline, tuple(durations), findings, clock.seconds)
