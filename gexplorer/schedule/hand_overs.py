"""Which kernel must wait for which because bytes change hands: the writer of the new for every user of the old.

Writes and reads are followed through the bytes in execution order. A stretch of bytes remembers who wrote it and who
has read it since; whoever writes there next waits for them all, and the stretch starts anew. That is enough: who
comes after the next writer comes after them too.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.liveness import NO_BUFFER
from gexplorer.memory.program import BEFORE
from gexplorer.schedule.kernels import NOTHING, Kernels, aliases_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.stage import Memory

    Ints = NDArray[np.int64]

# With more users than this, whoever takes a second piece of the bytes waits for whoever took the first, which has
# waited for the users already. So many users and many takers never make their product of edges.
MOST_USERS = 16


class _User:
    """A user of some bytes, and the users before it; stretches that were cut apart share their past."""

    __slots__ = ("before", "count", "heir", "kernel", "tensor")

    def __init__(self, kernel: int, tensor: int, before: _User | None) -> None:
        self.kernel, self.tensor, self.before = kernel, tensor, before
        self.count: int = 1 + (before.count if before is not None else 0)
        self.heir: _User | None = None  # the first that waited for this user and all before it


def hand_overs(memory: Memory, kernels: Kernels) -> tuple[Ints, Ints, Ints]:
    """The edges that the memory plan wants, O(E log E) in reads, writes and edges.

    Returns:
        [m] the kernel that must be done, [m] the kernel that waits, [m] the tensor whose bytes it takes; may hold
        doubles, and what data demand anyway.
    """
    low, high, point, kernel, tensor, writes = _uses(memory, kernels)
    order = np.lexsort((tensor, writes, point))
    columns = (column[order].tolist() for column in (low, high, kernel, tensor, writes))
    stretches = _Stretches()
    for begin, end, user, name, is_write in zip(*columns, strict=True):
        if is_write:
            stretches.write(begin, end, user, name)
        else:
            stretches.read(begin, end, user, name)
    edges = np.array(stretches.edges, dtype=np.int64).reshape(-1, 3).T
    return edges[0], edges[1], edges[2]


def _uses(memory: Memory, kernels: Kernels) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Every read and write of bytes that somebody writes: low and high byte, point, kernel, tensor, 1 for a write."""
    program, live = memory.program, memory.liveness
    placed = (live.buffer != NO_BUFFER) & (program.size_bytes > 0)
    low = np.zeros(len(placed), dtype=np.int64)
    low[placed] = memory.addresses[live.buffer[placed]] + live.offset_bytes[placed]
    high = low + np.maximum(program.size_bytes, 0)
    launched = np.append(kernels.at_point, NOTHING)  # of BEFORE too
    own = np.flatnonzero(placed & ~aliases_of(program, live.shared))
    by_kernel = launched[program.writer[own]] != NOTHING
    taken = np.zeros(len(live.owner), dtype=np.bool_)  # buffers that a kernel writes to
    taken[live.buffer[own[by_kernel]]] = True
    own = own[taken[live.buffer[own]] & (by_kernel | (program.writer[own] == BEFORE))]
    counts = placed[program.read_tensor] & (launched[program.read_point] != NOTHING)
    counts[counts] = taken[live.buffer[program.read_tensor[counts]]]
    tensor = np.concatenate((program.read_tensor[counts], own))
    point = np.concatenate((program.read_point[counts], program.writer[own]))
    writes = np.ones(len(tensor), dtype=np.int64)
    writes[: len(tensor) - len(own)] = 0
    return low[tensor], high[tensor], point, launched[point], tensor, writes


class _Stretches:
    """Disjoint stretches of bytes, ascending, each with its users since it was written last."""

    def __init__(self) -> None:
        self.edges: list[tuple[int, int, int]] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._users: list[_User] = []

    def read(self, low: int, high: int, kernel: int, tensor: int) -> None:
        """Adds a user to all stretches in a range."""
        for place in range(*self._cut(low, high)):
            users = self._users[place]
            if users.kernel != kernel:
                self._users[place] = _User(kernel, tensor, users)

    def write(self, low: int, high: int, kernel: int, tensor: int) -> None:
        """Makes a kernel wait for all users in a range, which it has for itself from then on."""
        new = _User(kernel, tensor, None)
        first, last = self._cut(low, high)
        if last == first + 1 and self._starts[first] == low and self._ends[first] == high:
            self._wait(self._users[first], new)
            self._users[first] = new
            return
        for users in self._users[first:last]:
            self._wait(users, new)
        self._put(first, last, low, high, new)

    def _wait(self, users: _User, new: _User) -> None:
        user: _User | None = users
        while user is not None:
            if user.heir is not None and user.count > MOST_USERS:
                self._edge(user.heir, new)
                return
            self._edge(user, new)
            user = user.before
        if users.heir is None:
            users.heir = new

    def _edge(self, user: _User, new: _User) -> None:
        if user.kernel not in (NOTHING, new.kernel):
            self.edges.append((user.kernel, new.kernel, user.tensor))

    def _cut(self, low: int, high: int) -> tuple[int, int]:
        """Cuts stretches at both ends of a range; the places of those inside."""
        starts, ends = self._starts, self._ends
        first = bisect_right(starts, low) - 1
        if first >= 0 and starts[first] == low and ends[first] == high:  # most often
            return first, first + 1
        if first >= 0 and starts[first] < low < ends[first]:
            self._split(first, low)
            first += 1
        elif first < 0 or starts[first] < low:
            first += 1
        last = first
        while last < len(starts) and starts[last] < high:
            if ends[last] > high:
                self._split(last, high)
            last += 1
        return first, last

    def _split(self, place: int, at: int) -> None:
        self._put(place + 1, place + 1, at, self._ends[place], self._users[place])
        self._ends[place] = at

    def _put(self, first: int, last: int, low: int, high: int, users: _User) -> None:
        self._starts[first:last] = [low]
        self._ends[first:last] = [high]
        self._users[first:last] = [users]
