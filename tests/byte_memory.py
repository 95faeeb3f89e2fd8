"""A tiny byte memory in which a program really runs: each write leaves stamps, each read looks for them.

Nothing here knows lifetimes: what is read must hold the stamps that its writer left. A loop runs its body twice, then
its last point, where it ends and looks once more at all that the body read from outside. An operator reads its inputs
from beginning to end and writes its outputs from beginning to end, in any order, but for a result written in place.
"""

from dataclasses import dataclass, field

import numpy as np

from gexplorer.memory.program import BEFORE, Kind, MayShare, Program, Sharing

KEPT = {Kind.WEIGHT, Kind.CONSTANT, Kind.INPUT, Kind.OUTPUT, Kind.STATE}


@dataclass
class Tensor:
    size: int
    kind: Kind
    writer: int


@dataclass
class Rows:
    """A program as plain lists."""

    tensors: list[Tensor] = field(default_factory=list)
    points: int = 0
    reads: list[tuple[int, int]] = field(default_factory=list)  # tensor, point
    share: list[tuple[int, int, int, Sharing, int]] = field(default_factory=list)  # guest, host, offset, sharing, point
    loops: list[tuple[int, int]] = field(default_factory=list)
    streams: list[int] | None = None
    syncs: list[tuple[int, int]] = field(default_factory=list)

    def add(self, size: int, kind: Kind = Kind.INTERMEDIATE, writer: int = BEFORE) -> int:
        self.tensors.append(Tensor(size, kind, writer))
        return len(self.tensors) - 1

    def program(self) -> Program:
        """The same as columns."""

        def column(values) -> np.ndarray:
            return np.array(list(values), np.int64)

        reads = sorted(self.reads)
        return Program(
            operators=[f"op{p}" for p in range(self.points)],
            tensors=[f"t{t}" for t in range(len(self.tensors))],
            size_bytes=column(t.size for t in self.tensors),
            kind=column(t.kind for t in self.tensors),
            writer=column(t.writer for t in self.tensors),
            read_tensor=column(t for t, _ in reads),
            read_point=column(p for _, p in reads),
            may_share=MayShare(*(column(row[i] for row in self.share) for i in range(5))),
            loops=column(self.loops).reshape(-1, 2),
            streams=None if self.streams is None else column(self.streams),
            syncs=None if self.streams is None else column(self.syncs).reshape(-1, 2),
        )


@dataclass
class Outcome:
    """What a run showed.

    Attributes:
        rules: (code, tensor) of what is wrong before anything runs.
        damaged: tensors that did not hold what they should when they were needed.
        culprits: tensors whose stamps were there instead.
    """

    rules: set[tuple[str, int]] = field(default_factory=set)
    damaged: set[int] = field(default_factory=set)
    culprits: set[int] = field(default_factory=set)

    @property
    def sound(self) -> bool:
        return not self.rules and not self.damaged


class Run:
    """One run of a program in a memory where tensor t begins at ``address[t]``."""

    def __init__(self, rows: Rows, address: list[int]) -> None:
        self.rows, self.address = rows, address
        self.outcome = Outcome()
        self.memory: dict[int, tuple] = {}
        self.holds: dict[int, list[tuple]] = {}  # what each tensor's bytes should hold
        self.written: dict[int, set[int]] = {}  # by tensor, the bytes that its operator writes
        self.serial = 0
        self.outputs: dict[int, list[int]] = {}
        self.inputs: dict[int, list[int]] = {}
        for t, tensor in enumerate(rows.tensors):
            self.outputs.setdefault(tensor.writer, []).append(t)
        for t, point in rows.reads:
            self.inputs.setdefault(point, []).append(t)
        self._look_at_rows()

    def bytes_of(self, tensor: int) -> range:
        return range(self.address[tensor], self.address[tensor] + self.rows.tensors[tensor].size)

    def _look_at_rows(self) -> None:
        """Which rows the addresses make use of, and what can be said without running."""
        rows, address = self.rows, self.address
        self.source: dict[int, int] = {}
        self.parts: dict[int, list[int]] = {}
        self.hosts: dict[int, set[int]] = {}
        joined = list(range(len(rows.tensors)))
        for guest, host, offset, sharing, _ in rows.share:
            if address[guest] != address[host] + offset:
                kept = rows.tensors[guest].kind in KEPT and rows.tensors[host].kind in KEPT
                if sharing == Sharing.VIEW and not kept:  # of two that are kept, one may be a copy
                    self.outcome.rules.add(("view_misplaced", guest))
                continue
            if sharing in (Sharing.VIEW, Sharing.SPLIT):
                self.source[guest] = host
            elif sharing == Sharing.CONCAT:
                self.parts.setdefault(host, []).append(guest)
            elif rows.tensors[guest].size == rows.tensors[host].size:
                self.hosts.setdefault(guest, set()).add(host)
            else:
                continue
            old, new = joined[guest], joined[host]
            joined = [new if group == old else group for group in joined]
        self.goes_on = {
            h for g, hosts in self.hosts.items() if rows.tensors[g].kind in (Kind.STATE, Kind.OUTPUT) for h in hosts
        }
        kept = [t for t in range(len(joined)) if rows.tensors[t].kind in KEPT]
        for a in kept:
            mine = self.bytes_of(a)
            for b in range(len(joined)):
                other = self.bytes_of(b)
                if joined[a] != joined[b] and max(mine.start, other.start) < min(mine.stop, other.stop):
                    self.outcome.rules.add(("kept_shared", a))

    def run(self) -> Outcome:
        self._write(self.outputs.get(BEFORE, []))
        self._look(self.outputs.get(BEFORE, []))
        self._points(0, self.rows.points, sorted(self.rows.loops, key=lambda loop: loop[0] - loop[1]))
        self._look(
            t
            for t, tensor in enumerate(self.rows.tensors)
            if tensor.kind in KEPT and not (tensor.kind == Kind.STATE and t in self.goes_on)
        )
        return self.outcome

    def _points(self, begin: int, end: int, loops: list[tuple[int, int]]) -> None:
        point = begin
        while point < end:
            here = next((loop for loop in loops if loop[0] == point), None)
            if here is None:
                self._operator(point)
                point += 1
            else:
                inner = [loop for loop in loops if loop is not here]
                for _ in range(2):
                    self._points(here[0], here[1], inner)
                self._operator(here[1], here[0])
                point = here[1] + 1

    def _operator(self, point: int, loop_from: int | None = None) -> None:
        inputs, outputs = self.inputs.get(point, []), self.outputs.get(point, [])
        if loop_from is not None:
            carried = {
                t for t, p in self.rows.reads if loop_from <= p <= point and self.rows.tensors[t].writer < loop_from
            }
            inputs = [*inputs, *carried.difference(inputs)]
        names = [t for t in outputs if t in self.source]
        in_place = [t for t in outputs if t in self.hosts and t not in self.source]
        apart = [t for t in outputs if t not in names and t not in in_place]
        self._look(inputs)
        self._write(apart)
        self._look(inputs)
        for guest in in_place:
            mine = set(self.bytes_of(guest))
            for other in inputs:
                if other not in self.hosts[guest] and mine & set(self.bytes_of(other)):
                    self.outcome.damaged.add(other)
                    self.outcome.culprits.add(guest)
            self._write([guest])
        for name in names:
            source = self.source[name]
            first = self.address[name] - self.address[source]
            self.holds[name] = self.holds.get(source, [])[first : first + self.rows.tensors[name].size]
        self._look(apart + in_place)

    def _write(self, tensors: list[int]) -> None:
        for t in tensors:
            if ("view_misplaced", t) in self.outcome.rules:
                continue  # nobody writes a view
            self.serial += 1
            held: list[tuple] = []
            for at in self.bytes_of(t):
                part = next(
                    (p for p in self.parts.get(t, ()) if at - self.address[p] in range(len(self.holds.get(p, ())))),
                    None,
                )
                if part is None:
                    stamp = (t, at, self.serial)
                    self.memory[at] = stamp
                    self.written.setdefault(t, set()).add(at)
                else:
                    stamp = self.holds[part][at - self.address[part]]
                held.append(stamp)
            self.holds[t] = held

    def _look(self, tensors) -> None:
        """Checks that tensors hold what they should."""
        for t in tensors:
            for at, stamp in zip(self.bytes_of(t), self.holds.get(t, ()), strict=False):
                if (found := self.memory.get(at)) != stamp:
                    self.outcome.damaged.add(t)
                    if found is not None:
                        self.outcome.culprits.add(found[0])

    def races(self) -> bool:
        """After a sound run: whether two operators without an order between them meet at a byte that one writes."""
        rows = self.rows
        assert rows.streams is not None
        before = [[False] * rows.points for _ in range(rows.points)]
        for second in range(rows.points):
            for first in range(second):
                if rows.streams[first] == rows.streams[second] or (first, second) in rows.syncs:
                    before[first][second] = True
        for middle in range(rows.points):
            for first in range(rows.points):
                for second in range(rows.points):
                    before[first][second] |= before[first][middle] and before[middle][second]
        busy = {rows.tensors[t].writer for t in self.written}
        runs = [p in busy or p not in self.outputs for p in range(rows.points)]
        uses = [(p, set(self.bytes_of(t)), False) for t, p in rows.reads if runs[p]]
        uses += [
            (rows.tensors[t].writer, at, True) for t, at in self.written.items() if rows.tensors[t].writer != BEFORE
        ]
        return any(
            first < second and (one or other) and mine & its and not before[first][second]
            for first, mine, one in uses
            for second, its, other in uses
        )
