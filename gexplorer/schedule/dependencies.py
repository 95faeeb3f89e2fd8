"""Which kernel must wait for which: for the data that it reads, and for the bytes that it takes over.

The memory plan is made for one execution order. Where kernels may run in another, or side by side, what that order
granted must be demanded: where a tensor takes the bytes of another, all users of the old one come first. Those are the
reuse edges; the price of a smaller pool is that they lengthen the critical path.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.program import BEFORE, Sharing
from gexplorer.schedule.hand_overs import hand_overs
from gexplorer.schedule.kernels import NOTHING, Kernels, kernels_of, roots_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.stage import Memory

    Ints = NDArray[np.int64]

# Chains of kernels along which implied edges are looked for: the longest ones. Clocks cost kernels x chains.
CHAINS = 16


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The edges between kernels, sorted by ``after``, then ``before``. Arrays are read-only.

    Every edge goes forward in execution order, so that kernels in that order never wait for a later one.

    Attributes:
        kernels: what is launched.
        before: [e] the kernel that must be done.
        after: [e] the kernel that waits.
        reuse: [e] whether it waits for bytes only, not for data.
        tensor: [e] the tensor that it reads, or whose bytes it takes; the first where there are several.
        implied: reuse edges that were dropped, because other edges imply them.
    """

    kernels: Kernels
    before: Ints
    after: Ints
    reuse: NDArray[np.bool_]
    tensor: Ints
    implied: int

    def __len__(self) -> int:
        return len(self.before)

    @property
    def reuse_edges(self) -> int:
        """How many edges are there for the memory plan alone."""
        return int(self.reuse.sum())

    @cached_property
    def waits_for(self) -> Sequence[Sequence[int]]:
        """[k] the kernels that each kernel waits for, ascending."""
        return _grouped(self.after, self.before, len(self.kernels))

    @cached_property
    def followers(self) -> Sequence[Sequence[int]]:
        """[k] the kernels that wait for each kernel, ascending."""
        order = np.argsort(self.before, kind="stable")
        return _grouped(self.before[order], self.after[order], len(self.kernels))

    def data_only(self) -> Dependencies:
        """Without the reuse edges: what would hold if no two tensors shared a byte."""
        return self.pick(~self.reuse)

    def pick(self, rows: NDArray[np.bool_]) -> Dependencies:
        """Some of the edges."""
        return _edges(
            self.kernels, self.before[rows], self.after[rows], self.reuse[rows], self.tensor[rows], self.implied
        )

    def edge(self, before: int, after: int) -> int | None:
        """The row of an edge, None where there is none."""
        sources = self.waits_for[after]
        place = bisect_left(sources, before)
        return self._bounds[after] + place if sources[place : place + 1] == [before] else None

    @cached_property
    def _bounds(self) -> Sequence[int]:
        """[k + 1] the first row of each kernel that waits."""
        return np.searchsorted(self.after, np.arange(len(self.kernels) + 1)).tolist()


def dependencies_of(memory: Memory) -> Dependencies:
    """All edges of a graph whose memory is planned. O(E log E) in reads, writes and edges.

    A kernel depends on the writers of what it reads, looked up through views and through the Concats and Splits that
    the plan spares; and on all users of the bytes that it writes to. Of the latter, edges that others imply are dropped
    where that is cheap to see: along the longest chains.
    """
    kernels = kernels_of(memory.graph, memory.liveness)
    made, read, tensor = _data_edges(memory, kernels)
    old, new, taken = hand_overs(memory, kernels)
    before, after = np.concatenate((made, old)), np.concatenate((read, new))
    reuse = np.arange(len(before)) >= len(made)
    tensors = np.concatenate((tensor, taken))
    order = np.lexsort((tensors, reuse, before, after))
    before, after = before[order], after[order]
    first = np.ones(len(before), dtype=np.bool_)  # data first, so that a double is a data edge
    first[1:] = (before[1:] != before[:-1]) | (after[1:] != after[:-1])
    edges = _edges(kernels, before[first], after[first], reuse[order][first], tensors[order][first], 0)
    implied = _implied(edges)
    return replace(edges.pick(~implied), implied=int(implied.sum()))


def _data_edges(memory: Memory, kernels: Kernels) -> tuple[Ints, Ints, Ints]:
    """Writer, reader and tensor of every read."""
    program, at = memory.program, np.append(kernels.at_point, NOTHING)  # of BEFORE too
    root = roots_of(memory.liveness)
    reader = at[program.read_point]
    rows = np.flatnonzero(reader != NOTHING)
    tensor, reader = program.read_tensor[rows], reader[rows]
    writer = program.writer[root[tensor]]
    spared = _spared_wholes(memory, kernels, root)
    plain = at[writer]
    good = (plain != NOTHING) & (plain != reader)
    more = [
        (source, int(reader[row]), int(tensor[row]))
        for row in np.flatnonzero((plain == NOTHING) & (writer > BEFORE)).tolist()
        for source in spared.get(int(writer[row]), ())
        if source != reader[row]
    ]
    found = np.array(more, dtype=np.int64).reshape(-1, 3).T
    return (
        np.concatenate((plain[good], found[0])),
        np.concatenate((reader[good], found[1])),
        np.concatenate((tensor[good], found[2])),
    )


def _spared_wholes(memory: Memory, kernels: Kernels, root: Ints) -> dict[int, list[int]]:
    """For each point of a Concat that is spared, the kernels that write its parts."""
    program, share = memory.program, memory.program.may_share
    rows = memory.liveness.shared[memory.liveness.shared >= 0]
    rows = np.sort(rows[share.sharing[rows] == Sharing.CONCAT])
    rows = rows[kernels.at_point[share.point[rows]] == NOTHING]
    found: dict[int, list[int]] = {}
    points, parts = share.point[rows], root[share.guest[rows]]
    for row in np.argsort(points, kind="stable").tolist():  # a whole may be a part of a later one
        writer = int(program.writer[parts[row]])
        if writer == BEFORE:
            continue
        kernel = int(kernels.at_point[writer])
        found.setdefault(int(points[row]), []).extend(found.get(writer, ()) if kernel == NOTHING else (kernel,))
    return found


def _implied(edges: Dependencies) -> NDArray[np.bool_]:
    """[e] reuse edges that a path along one of the longest chains makes needless."""
    implied = np.zeros(len(edges), dtype=np.bool_)
    if not edges.reuse.any():
        return implied
    count = len(edges.kernels)
    chain, place = _chains(edges)
    done = np.full((count, CHAINS), -1, dtype=np.int32)  # the last of each chain known to be done when a kernel starts
    before, reuse, chain_of, place_of = edges.before.tolist(), edges.reuse.tolist(), chain.tolist(), place.tolist()
    bounds = np.searchsorted(edges.after, np.arange(count + 1)).tolist()
    for kernel in range(count):
        rows = range(bounds[kernel + 1] - 1, bounds[kernel] - 1, -1)  # the latest first: it may imply the others
        clock = done[kernel]
        for demanded in (False, True):
            for row in rows:
                if reuse[row] is not demanded:
                    continue
                earlier = before[row]
                number = chain_of[earlier]
                if number >= 0:
                    if demanded and clock[number] >= place_of[earlier]:
                        implied[row] = True
                        continue
                    clock[number] = max(clock[number], place_of[earlier])
                np.maximum(clock, done[earlier], out=clock)
    return implied


def _chains(edges: Dependencies) -> tuple[Ints, Ints]:
    """[k] the chain that each kernel is in, -1 for a short one, and [k] its place there."""
    count = len(edges.kernels)
    chain, place, length = [0] * count, [0] * count, [0] * count
    tail: dict[int, int] = {}  # the chain that ends at a kernel
    started = 0
    before, reuse = edges.before.tolist(), edges.reuse.tolist()
    bounds = np.searchsorted(edges.after, np.arange(count + 1)).tolist()
    for kernel in range(count):
        for row in range(bounds[kernel + 1] - 1, bounds[kernel] - 1, -1):
            if not reuse[row] and before[row] in tail:
                number = tail.pop(before[row])
                break
        else:
            number, started = started, started + 1
        chain[kernel], place[kernel] = number, length[number]
        length[number] += 1
        tail[kernel] = number
    longest = sorted(range(started), key=lambda number: (-length[number], number))[:CHAINS]
    numbers = np.full(max(started, 1), -1, dtype=np.int64)
    numbers[longest] = np.arange(len(longest))
    return numbers[chain] if count else numbers[:0], np.array(place, dtype=np.int64)


def _grouped(keys: Ints, members: Ints, count: int) -> Sequence[Sequence[int]]:
    bounds = np.searchsorted(keys, np.arange(count + 1)).tolist()
    values = members.tolist()
    return [values[low:high] for low, high in pairwise(bounds)]


def _edges(
    kernels: Kernels, before: Ints, after: Ints, reuse: NDArray[np.bool_], tensor: Ints, implied: int
) -> Dependencies:
    for column in (before, after, reuse, tensor):
        column.flags.writeable = False
    return Dependencies(kernels, before, after, reuse, tensor, implied)
