"""How long each buffer of a program lives, and which tensors lie in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.chosen import choose
from gexplorer.memory.policy import Policy
from gexplorer.memory.problem import Problem, make_problem
from gexplorer.memory.program import BEFORE, Kind, Program, Sharing
from gexplorer.memory.streams import on_one_stream, proven_last

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NO_BUFFER = -1


@dataclass(frozen=True, slots=True)
class TensorLife:
    """One tensor, for people.

    Attributes:
        name: the tensor.
        size_bytes: bytes as stored, before alignment; None where unknown.
        first_write: point that writes it, -1 for what is there from the start.
        last_read: last point that needs it; its own point where nobody reads it.
        producer: the operator that writes it, "" for what is there from the start.
        readers: the operators that read it, in order.
        kind: a ``Kind``.
        buffer: the buffer that it lies in, -1 for none.
        offset_bytes: where in that buffer.
        sharing: why it lies in another tensor's bytes; None for a tensor that its buffer is named after.
    """

    name: str
    size_bytes: int | None
    first_write: int
    last_read: int
    producer: str
    readers: tuple[str, ...]
    kind: Kind
    buffer: int
    offset_bytes: int
    sharing: Sharing | None


@dataclass(frozen=True, eq=False)
class Liveness:
    """Tensors in buffers. Arrays are int64 and read-only; points are inclusive.

    A buffer of the pool lives from the first write to the last read of all that lies in it. All others (weights,
    constants, inputs, outputs, state) and those that must not be reused live throughout.

    Attributes:
        program: what it was made from.
        policy: what was allowed.
        buffer: [n] the buffer that a tensor lies in, -1 for a tensor without a size.
        offset_bytes: [n] where in its buffer.
        shared: [n] the row of ``program.may_share`` that put it there, -1 for a tensor that its buffer is named after.
        last_read: [n] the last point that needs a tensor, loops taken in; its writer's where nobody reads it.
        first: [b] the first point of a buffer's life.
        last: [b] the last one; with streams, the last that may run before all accesses are over (``memory.streams``).
        size_bytes: [b] size with padding and alignment.
        raw_bytes: [b] size without.
        kind: [b] a ``Kind``; of several tensors the one that does not share the pool.
        owner: [b] the tensor that a buffer is named after.
    """

    program: Program
    policy: Policy
    buffer: Ints
    offset_bytes: Ints
    shared: Ints
    last_read: Ints
    first: Ints
    last: Ints
    size_bytes: Ints
    raw_bytes: Ints
    kind: Ints
    owner: Ints

    def __repr__(self) -> str:
        count = len(self.program.tensors)
        return f"Liveness({count} tensors in {len(self.owner)} buffers, {len(self.pool_buffers)} of them in the pool)"

    @cached_property
    def pool_buffers(self) -> Ints:
        """The buffers that share the pool: intermediate results and workspaces."""
        found = np.flatnonzero(self.kind >= Kind.INTERMEDIATE)
        found.flags.writeable = False
        return found

    def problem(self) -> tuple[Problem, Ints]:
        """The pool's buffers, to be placed, and for each row of the problem its buffer.

        Lifetimes are half-open, so an operator's inputs never share with its outputs; a closed policy adds a point,
        so that they do not share with the outputs of the next operator either.
        """
        rows = self.pool_buffers
        tensors = self.program.tensors
        problem = make_problem(
            self.first[rows],
            self.last[rows] + (2 if self.policy.closed else 1),
            self.size_bytes[rows],
            [tensors[int(owner)] for owner in self.owner[rows].tolist()],
            alignment_bytes=self.policy.alignment_bytes,
        )
        return problem, rows

    def tensor(self, index: int) -> TensorLife:
        """All about one tensor."""
        program = self.program
        size, writer, row = (int(column[index]) for column in (program.size_bytes, program.writer, self.shared))
        return TensorLife(
            name=program.tensors[index],
            size_bytes=None if size < 0 else size,
            first_write=writer,
            last_read=int(self.last_read[index]),
            producer="" if writer == BEFORE else program.operators[writer],
            readers=tuple([program.operators[int(point)] for point in program.readers(index).tolist()]),
            kind=Kind(int(program.kind[index])),
            buffer=int(self.buffer[index]),
            offset_bytes=int(self.offset_bytes[index]),
            sharing=None if row < 0 else Sharing(int(program.may_share.sharing[row])),
        )

    def table(self) -> Iterator[TensorLife]:
        """All about every tensor, in the program's order."""
        return map(self.tensor, range(len(self.program.tensors)))

    def tensors_in(self, buffer: int) -> Ints:
        """The tensors that lie in a buffer."""
        order, starts = self._by_buffer
        return order[starts[buffer] : starts[buffer + 1]]

    @cached_property
    def _by_buffer(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.buffer, kind="stable")
        return order, np.searchsorted(self.buffer[order], np.arange(len(self.owner) + 1))


def live(program: Program, policy: Policy | None = None) -> Liveness:
    """Lifetimes and sharing under a policy. O(n log n) in tensors and reads, with numpy."""
    policy = policy or Policy()
    last = last_reads(program)
    fixed = _never_reused(program, policy)
    groups = choose(program, policy, _for_sharing(program, last), fixed)
    sized = program.size_bytes >= 0
    owner = np.flatnonzero(sized & (groups.root == np.arange(len(sized))))
    number = np.full(len(sized), NO_BUFFER, dtype=np.int64)
    number[owner] = np.arange(len(owner))
    buffer = np.where(sized, number[groups.root], NO_BUFFER)
    members = np.flatnonzero(sized)
    within = buffer[members]
    kind = _least(program.kind[members], owner, members, within)
    held, aside = _held(program, policy, last, owner, members, within)
    throughout = aside | (kind < Kind.INTERMEDIATE)
    np.logical_or.at(throughout, within[fixed[members]], True)
    end = max(len(program) - 1, 0)
    first = np.where(throughout, 0, np.maximum(_least(program.writer[members], owner, members, within), 0))
    until = np.where(throughout, end, np.maximum(-_least(-held, owner, members, within), first))
    raw = program.size_bytes[owner]
    columns = (buffer, groups.offset_bytes, groups.row, last, first, until, policy.aligned_bytes(raw), raw, kind, owner)
    for column in columns:
        column.flags.writeable = False
    return Liveness(program, policy, *columns)


def last_reads(program: Program) -> Ints:
    """[n] the last point that needs a tensor: what is written before a loop and read inside lasts to its end.

    The point of its writer where nobody reads a tensor.
    """
    last = program.writer.copy()
    if not len(program.read_tensor):
        return last
    points = program.read_point
    if len(program.loops):
        points = _after_loops(program)
    starts = np.flatnonzero(np.r_[True, program.read_tensor[1:] != program.read_tensor[:-1]])
    tensors = program.read_tensor[starts]
    last[tensors] = np.maximum(last[tensors], np.maximum.reduceat(points, starts))
    return last


def _after_loops(program: Program) -> Ints:
    """[m] the point up to which each read holds its tensor: the end of the outermost loop begun after the write."""
    loops = program.loops[np.lexsort((-program.loops[:, 1], program.loops[:, 0]))]
    around = np.full(len(loops), -1, dtype=np.int64)  # the loop around each loop
    inside = np.full(len(program), -1, dtype=np.int64)  # the innermost loop at each point
    stack: list[int] = []
    for number, (first, last) in enumerate(loops.tolist()):  # outer loops first, so that inner ones overwrite
        while stack and loops[stack[-1], 1] < first:
            stack.pop()
        around[number] = stack[-1] if stack else -1
        stack.append(number)
        inside[first : last + 1] = number
    points = program.read_point.copy()
    written = program.writer[program.read_tensor]
    current = inside[points]
    while (active := np.flatnonzero(current >= 0)).size:
        loop = current[active]
        holds = written[active] < loops[loop, 0]
        points[active[holds]] = loops[loop[holds], 1]
        current[active] = np.where(holds, around[loop], -1)
    return points


def _for_sharing(program: Program, last: Ints) -> Ints:
    """[n] the last need of a tensor as sharing must see it: where several streams use it, nothing later is proven."""
    if program.streams is None:
        return last
    return np.where(on_one_stream(program), last, np.maximum(last, len(program)))


def _held(
    program: Program, policy: Policy, last: Ints, owner: Ints, members: Ints, within: Ints
) -> tuple[Ints, NDArray[np.bool_]]:
    """Up to which point each member is held, and which buffers no other may ever share with.

    Where reuse across streams is not wanted, intervals alone cannot keep all streams apart. So one stream, that with
    the most bytes, reuses its own buffers, and the buffers that others write live throughout.
    """
    if program.streams is None:
        return last[members], np.zeros(len(owner), dtype=np.bool_)
    if policy.across_streams:
        return proven_last(program, last)[members], np.zeros(len(owner), dtype=np.bool_)
    written = members[program.writer[members] > BEFORE]
    stream = program.streams[program.writer[written]]
    names, where = np.unique(stream, return_inverse=True)
    loads = np.zeros(len(names), dtype=np.int64)
    np.add.at(loads, where, program.size_bytes[written])
    main = int(names[np.argmax(loads)]) if len(names) else 0
    aside = np.zeros(len(owner), dtype=np.bool_)
    position = np.searchsorted(members, written)
    aside[within[position[stream != main]]] = True
    return proven_last(program, last, against=main)[members], aside


def _least(values: Ints, owner: Ints, members: Ints, within: Ints) -> Ints:
    """[b] the least value of the tensors in each buffer; values are [members]."""
    found = values[np.searchsorted(members, owner)].copy()
    guests = np.flatnonzero(members != owner[within])
    np.minimum.at(found, within[guests], values[guests])
    return found


def _never_reused(program: Program, policy: Policy) -> NDArray[np.bool_]:
    """[n] the tensors that the policy names, by themselves or by the operator that writes them."""
    fixed = np.zeros(len(program.tensors), dtype=np.bool_)
    if policy.never_reuse:
        fixed[[index for index, tensor in enumerate(program.tensors) if tensor in policy.never_reuse]] = True
        points = [point for point, operator in enumerate(program.operators) if operator in policy.never_reuse]
        fixed |= np.isin(program.writer, points)
    return fixed
