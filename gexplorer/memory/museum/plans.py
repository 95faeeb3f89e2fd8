"""Plans that can be verified and changed: buffers in a pool, tensors in buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.findings import Findings
from gexplorer.memory.needs import is_kept, last_needs
from gexplorer.memory.problem import Problem
from gexplorer.memory.program import Program, Sharing
from gexplorer.memory.verify import verify_placement, verify_sharing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PlacedBuffers:
    """A placement of a problem's buffers.

    Attributes:
        problem: n buffers.
        offsets: [n] bytes from the start of the pool.
        pool_bytes: the pool that it claims to need.
    """

    problem: Problem
    offsets: Ints
    pool_bytes: int

    def verify(self, limit: int = 20) -> Findings:
        """What is wrong with it."""
        return verify_placement(self.problem, self.offsets, self.pool_bytes, limit)

    def collision(self, buffer: int) -> int | None:
        """The first buffer that shares bytes with this one while both live, None where there is none."""
        problem, begin = self.problem, self.offsets
        end = begin + problem.size_bytes
        hit = (problem.lower < problem.upper[buffer]) & (problem.upper > problem.lower[buffer])
        hit &= (np.maximum(begin, begin[buffer]) < np.minimum(end, end[buffer])) & (problem.size_bytes > 0)
        hit[buffer] = False
        return int(np.flatnonzero(hit)[0]) if hit.any() else None


@dataclass(frozen=True, eq=False)
class PlacedTensors:
    """The tensors of a program in the bytes of buffers; the columns are those of ``verify_sharing``."""

    program: Program
    buffer: Ints
    offset: Ints
    address: Ints
    size: Ints

    def verify(self, limit: int = 20) -> Findings:
        """What is wrong with it."""
        return verify_sharing(self.program, self.buffer, self.offset, self.address, self.size, limit)

    def lies_in(self, guest: int, host: int, offset_bytes: int) -> bool:
        """Whether one tensor begins so many bytes behind the first of another."""
        here, there = int(self.buffer[guest]), int(self.buffer[host])
        if min(here, there) < 0 or (here != there and min(self.address[here], self.address[there]) < 0):
            return False
        begin = self.offset[guest] + (0 if here == there else self.address[here] - self.address[there])
        return bool(begin == self.offset[host] + offset_bytes)

    def put(self, guest: int, host: int, shift_bytes: int = 0) -> PlacedTensors:
        """The same with one tensor moved to where another begins, or a few bytes from there."""
        buffer, offset = self.buffer.copy(), self.offset.copy()
        buffer[guest], offset[guest] = self.buffer[host], self.offset[host] + shift_bytes
        return replace(self, buffer=buffer, offset=offset)

    def put_apart(self, guest: int) -> PlacedTensors:
        """The same with one tensor in a buffer of its own, behind all others."""
        free = int((np.maximum(self.address, 0) + self.size).max(initial=0))
        buffer, offset = self.buffer.copy(), self.offset.copy()
        buffer[guest], offset[guest] = len(self.address), 0
        address = np.append(self.address, free)
        size = np.append(self.size, self.program.size_bytes[guest])
        return replace(self, buffer=buffer, offset=offset, address=address, size=size)

    def in_place_pairs(self) -> Iterator[tuple[int, int, int]]:
        """Guest, host and point of each permission to write in place where neither may share with anything else.

        Only hosts of the pool: what outlives the program is not written over.
        """
        share, kept = self.program.may_share, is_kept(self.program)
        for row in np.flatnonzero(share.sharing == Sharing.IN_PLACE).tolist():
            guest, host = int(share.guest[row]), int(share.host[row])
            alone = all(np.count_nonzero((share.guest == one) | (share.host == one)) == 1 for one in (guest, host))
            if alone and not kept[host]:
                yield guest, host, int(share.point[row])

    @cached_property
    def lone(self) -> Flags:
        """[n] tensors of the pool with bytes and readers that may share with nothing by right."""
        program, share = self.program, self.program.may_share
        lone = (program.size_bytes > 0) & (self.buffer >= 0) & ~is_kept(program) & (program.writer >= 0) & self.is_read
        lone[share.guest] = lone[share.host] = False
        return lone

    @cached_property
    def is_read(self) -> Flags:
        """[n] tensors with a reader."""
        read = np.zeros(len(self.program.tensors), bool)
        read[self.program.read_tensor] = True
        return read

    @cached_property
    def first_read(self) -> Ints:
        """[n] the first point that reads a tensor, its own where none does."""
        first = np.where(self.is_read, len(self.program), self.program.writer)
        np.minimum.at(first, self.program.read_tensor, self.program.read_point)
        return first

    @cached_property
    def last_read(self) -> Ints:
        """[n] the last point that reads a tensor, its own where none does."""
        last = self.program.writer.copy()
        np.maximum.at(last, self.program.read_tensor, self.program.read_point)
        return last

    @cached_property
    def needed(self) -> Ints:
        """[n] the last point that needs a tensor, loops taken in."""
        return last_needs(self.program)

    def first_pair(self, guests: Flags, hosts: Callable[[int], Flags]) -> tuple[int, int] | None:
        """The first guest with a host of at least its size, and that host.

        Args:
            guests: [n] who may move.
            hosts: for a guest, [n] where to.
        """
        size = self.program.size_bytes
        for guest in np.flatnonzero(guests).tolist():
            found = hosts(guest) & (size >= size[guest])
            found[guest] = False
            if found.any():
                return int(np.flatnonzero(found)[0]), guest
        return None


def apart(program: Program) -> PlacedTensors:
    """The plan that shares nothing: one buffer a tensor, one behind the other; only views lie in their source."""
    n = len(program.tensors)
    size = np.maximum(program.size_bytes, 0)
    buffer = np.where(program.size_bytes < 0, -1, np.arange(n))
    offset = np.zeros(n, np.int64)
    share = program.may_share
    for row in np.argsort(program.writer[share.guest], kind="stable").tolist():
        guest, host = int(share.guest[row]), int(share.host[row])
        if share.sharing[row] == Sharing.VIEW and buffer[guest] == guest and buffer[host] >= 0:
            buffer[guest], offset[guest] = buffer[host], offset[host] + share.offset_bytes[row]
    address = np.concatenate(([0], np.cumsum(size)))[:n].astype(np.int64)
    return PlacedTensors(program, buffer.astype(np.int64), offset, address, size)
