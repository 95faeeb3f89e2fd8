"""Events between streams: a Send behind one kernel, a Recv before another, where order does not say it already.

Clocks over the streams say what is known to be done when a kernel starts. An edge whose source is known to be done
needs no event; what remains are the edges that nothing else implies, so that no event could be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.schedule.dependencies import Dependencies
from gexplorer.schedule.streams import Assignment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Syncs:
    """The Send/Recv pairs, sorted by when they are sent. Arrays are read-only.

    Attributes:
        source: [s] the kernel that a Send follows on its stream.
        target: [s] the kernel that a Recv precedes on its stream.
        event: [s] the event's number; one may serve again once its Recv is known to be over.
        crossing: edges between streams, of which these are the ones that nothing implies.
    """

    source: Ints
    target: Ints
    event: Ints
    crossing: int

    def __len__(self) -> int:
        return len(self.source)

    @property
    def events(self) -> int:
        """How many events are needed."""
        return int(self.event.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Waits:
    """The edges between streams that need an event, before events have numbers.

    Attributes:
        pairs: source and target kernel of each, sorted by the launch of the source, then of the target.
        done: [k, streams] the last place in the order, on each stream, that is done when a kernel starts; -1 for none.
        place: [k] the place of each kernel in the order.
        crossing: edges between streams in all.
    """

    pairs: Sequence[tuple[int, int]]
    done: NDArray[np.int32]
    place: Sequence[int]
    crossing: int


def waits_of(edges: Dependencies, assigned: Assignment) -> Waits:
    """The edges between streams that nothing else implies. O(e log e + (k + e) * streams).

    Args:
        edges: what must come before what.
        assigned: streams, and an order that agrees with the edges.
    """
    crossing = int((assigned.stream[edges.before] != assigned.stream[edges.after]).sum())
    if not crossing:
        return Waits((), np.zeros((0, 0), dtype=np.int32), (), 0)
    pairs, done, place = _needed(edges, assigned)
    pairs.sort(key=lambda pair: (place[pair[0]], place[pair[1]]))
    return Waits(pairs, done, place, crossing)


def number_events(waits: Waits, assigned: Assignment) -> Syncs:
    """A number for each event. O(s * streams).

    An event serves again where the kernel that sends it comes after its last Recv, by all that is known; of the events
    that were received first on each stream, the lowest such.
    """
    source, target = np.array(waits.pairs, dtype=np.int64).reshape(-1, 2).T.copy()
    events = np.array(_numbered(waits, assigned), dtype=np.int64)
    return Syncs(_frozen(source), _frozen(target), _frozen(events), waits.crossing)


def _needed(edges: Dependencies, assigned: Assignment) -> tuple[list[tuple[int, int]], NDArray[np.int32], list[int]]:
    """The edges that need an event, [k, streams] the last place of each stream that is done, and [k] the places."""
    stream, order = assigned.stream.tolist(), assigned.order.tolist()
    place = [0] * len(order)
    for number, kernel in enumerate(order):
        place[kernel] = number
    done = np.full((len(order), assigned.streams), -1, dtype=np.int32)
    previous = [-1] * assigned.streams
    pairs: list[tuple[int, int]] = []
    for kernel in order:
        own, clock = stream[kernel], done[kernel]
        if (last := previous[own]) >= 0:
            clock[:] = done[last]
            clock[own] = place[last]
        previous[own] = kernel
        others = [source for source in edges.waits_for[kernel] if stream[source] != own]
        for source in sorted(others, key=place.__getitem__, reverse=True):  # the latest may imply the others
            if clock[stream[source]] < place[source]:
                pairs.append((source, kernel))
                np.maximum(clock, done[source], out=clock)
                clock[stream[source]] = place[source]
    return pairs, done, place


def _numbered(waits: Waits, assigned: Assignment) -> list[int]:
    stream, place = assigned.stream.tolist(), waits.place
    sent: list[list[tuple[int, int]]] = [[] for _ in range(assigned.streams)]  # by Recv's stream: its place, the event
    used = 0
    events: list[int] = []
    for source, target in waits.pairs:
        clock = waits.done[source].tolist()
        clock[stream[source]] = place[source]  # what the source itself waited for is over when it sends
        received = [
            (waiting[0][1], number)
            for number, (waiting, reached) in enumerate(zip(sent, clock, strict=True))
            if waiting and waiting[0][0] <= reached
        ]
        if received:
            event, number = min(received)
            heappop(sent[number])
        else:
            event, used = used, used + 1
        events.append(event)
        heappush(sent[stream[target]], (place[target], event))
    return events


def _frozen(column: Ints) -> Ints:
    column.flags.writeable = False
    return column
