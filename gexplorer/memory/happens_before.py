"""Several streams: bytes may change hands only where every reader of the old value is known to be done.

Points of one stream run in order, and a sync makes a point wait for one of another stream; that is all that is known
about order. A clock a point says how far each stream must have come when it starts. Bytes pass from value to value, so
it is enough to look at each hand-over: if A's readers come before B's writer, and B's before C's, then so do A's
before C's.

Rounds of a loop are taken to follow one another; only the order within a round is checked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.findings import Collector, Finding
from gexplorer.memory.overwrites import operator
from gexplorer.memory.program import BEFORE, Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gexplorer.memory.contents import Contents

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Clocks:
    """What is known to be done when an operator starts.

    Attributes:
        streams: [points] the stream of each point, numbered from 0.
        done: [points, streams] the last point of each stream that is done when a point starts, -1 for none.
    """

    streams: Ints
    done: NDArray[np.int32]

    def before(self, first: int, second: int) -> bool:
        """Whether the operator at the first point is done when that at the second starts."""
        return first == BEFORE or bool(self.done[second, self.streams[first]] >= first)


def clocks_of(program: Program) -> Clocks:
    """The clocks of a program with streams, O((points + syncs) x streams).

    A sync that waits for a later point in execution order can never be waited for and is left out.
    """
    assert program.streams is not None
    streams = np.unique(program.streams, return_inverse=True)[1].astype(np.int64)
    syncs = np.zeros((0, 2), np.int64) if program.syncs is None else program.syncs.reshape(-1, 2)
    syncs = syncs[syncs[:, 0] < syncs[:, 1]]
    syncs = syncs[np.argsort(syncs[:, 1], kind="stable")]
    bounds = np.searchsorted(syncs[:, 1], np.arange(len(program) + 1)).tolist()
    sources = syncs[:, 0].tolist()
    done = np.full((len(program), int(streams.max(initial=0)) + 1), -1, np.int32)
    previous: dict[int, int] = {}
    for point, stream in enumerate(streams.tolist()):
        clock = done[point]
        waited = sources[bounds[point] : bounds[point + 1]]
        for earlier in (previous[stream], *waited) if stream in previous else waited:
            np.maximum(clock, done[earlier], out=clock)
            clock[streams[earlier]] = max(clock[streams[earlier]], earlier)
        previous[stream] = point
    return Clocks(streams, done)


def check_streams(contents: Contents, found: Collector) -> None:
    """Adds a finding for every read that may come before its value, and every hand-over of bytes that may race."""
    program = contents.program
    check = _Check(contents, clocks_of(program))
    for code, findings in (("read_races", check.reads()), ("reuse_races", check.hand_overs())):
        for finding in findings:
            found.add(code, 1, [finding])


class _Check:
    def __init__(self, contents: Contents, clocks: Clocks) -> None:
        self.contents, self.clocks, self.program = contents, clocks, contents.program

    @cached_property
    def _acts(self) -> NDArray[np.bool_]:
        """[reads] which reads take place: an operator whose results are all names for other bytes does not run."""
        return ~self.contents.idle[self.program.read_point]

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """The points that read a tensor, of those that take place."""
        found: dict[int, list[int]] = {}
        tensors, points = self.program.read_tensor[self._acts], self.program.read_point[self._acts]
        for tensor, point in zip(tensors.tolist(), points.tolist(), strict=True):
            found.setdefault(tensor, []).append(point)
        return found

    def reads(self) -> Iterator[Finding]:
        """Reads of a value whose writer is not known to be done."""
        contents, program = self.contents, self.program
        held = contents.held[program.read_tensor]
        pairs = np.unique(np.column_stack((program.read_tensor, program.read_point))[self._acts & held], axis=0)
        for tensor, point in pairs.tolist():
            for value in contents.values_of(tensor):
                writer = int(program.writer[value])
                if writer != point and not self.clocks.before(writer, point):
                    yield self._finding("read_races", value, tensor, writer, point)

    def hand_overs(self) -> Iterator[Finding]:
        """Bytes that pass from one value to the next while somebody may still use the first."""
        contents, rows = self.contents, self.contents.stretches
        starts: list[int] = []  # of disjoint ranges, ascending
        ranges: list[tuple[int, int]] = []  # byte behind the last, the value there
        reported: set[tuple[int, int]] = set()
        for row in np.lexsort((rows.begin, rows.lower)).tolist():
            begin, end, value = int(rows.begin[row]), int(rows.end[row]), int(contents.value[row])
            first = bisect_right(starts, begin) - 1
            first = first if first >= 0 and ranges[first][0] > begin else first + 1
            last = bisect_left(starts, end)
            kept_starts, kept = [begin], [(end, value)]
            for start, (stop, old) in zip(starts[first:last], ranges[first:last], strict=True):
                if (old, value) not in reported and old != value:
                    race = self._race(old, value, max(start, begin), min(stop, end))
                    if race is not None:
                        reported.add((old, value))
                        yield race
                if start < begin:
                    kept_starts.insert(0, start)
                    kept.insert(0, (begin, old))
                if stop > end:
                    kept_starts.append(end)
                    kept.append((stop, old))
            starts[first:last], ranges[first:last] = kept_starts, kept

    def _race(self, old: int, new: int, low: int, high: int) -> Finding | None:
        """The last use of the old value that is not known to come before the new one is written."""
        program = self.program
        writer = int(program.writer[new])
        uses = {int(program.writer[old]): old}
        for name in self.contents.names_within(old, low, high):
            uses.update(dict.fromkeys(self._readers.get(name, ()), name))
        for point in sorted(uses, reverse=True):
            if point < writer and not self.clocks.before(point, writer):
                return self._finding("reuse_races", uses[point], new, writer, point, (low, high))
        return None

    def _finding(
        self, code: str, first: int, second: int, writer: int, reader: int, span: tuple[int, int] | None = None
    ) -> Finding:
        program = self.program
        assert program.streams is not None
        parameters = {
            "first": program.tensors[first],
            "second": program.tensors[second],
            "writer": operator(program, writer),
            "reader": operator(program, reader),
            "writer_stream": int(program.streams[writer]),
            "reader_stream": int(program.streams[reader]),
            "missing_sync": (reader, writer) if code == "reuse_races" else (writer, reader),
        }
        return Finding(code, (first, second), parameters, (min(writer, reader), max(writer, reader)), span)
