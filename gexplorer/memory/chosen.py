"""Which of the sharing that is allowed is done: tensors become groups, each with one buffer.

The rows of ``Program.may_share`` are taken in this order, so that the outcome is the same whatever their number:

1. **Views**, all of them, but no two of weights, constants, inputs, state and outputs in one buffer: they belong to
   different owners. ``program_of`` gives no row for such a view, which is a copy; of rows that it did not give, those
   are left that come first by the number of the output.
2. **In place.** A tensor is written over another one only where that and all its views are intermediate results that
   nobody reads later, and where the operator has a row for every name of them that it reads. Where several rows would
   do, a guest takes its first row, and a host its first guest.
3. **Concat and Split**, by point, all parts of one or none. A part is moved as the group that it is by then, so an
   overwritten tensor moves with it, and a group inside another may hold groups itself: offsets add up. Declined where a
   part lies inside another buffer already, or somebody writes to bytes that are needed later: to a part of a Concat
   behind the Concat, to the whole behind the Concat while a part is still read, to the whole of a Split behind the
   Split, to a part while the whole is still read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.policy import Policy
from gexplorer.memory.program import Kind, Program, Sharing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NOT_SHARED = -1
_FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Groups:
    """Every tensor's group.

    Attributes:
        root: [n] the tensor that gives the group its buffer; itself where nothing is shared.
        offset_bytes: [n] where in that buffer a tensor begins.
        row: [n] the row of ``may_share`` that placed a tensor in another's bytes, ``NOT_SHARED`` where none did.
    """

    root: Ints
    offset_bytes: Ints
    row: Ints


def choose(program: Program, policy: Policy, last: Ints, fixed: NDArray[np.bool_]) -> Groups:
    """Chooses among the rows.

    Args:
        program: the columns.
        policy: which kinds of sharing are wanted.
        last: [n] the point up to which each tensor is needed, loops taken in.
        fixed: [n] tensors whose bytes nobody else may get.
    """
    count = len(program.tensors)
    rows = program.may_share
    groups = Groups(np.arange(count), np.zeros(count, dtype=np.int64), np.full(count, NOT_SHARED, dtype=np.int64))
    if not len(rows):
        return groups
    guest_bytes, host_bytes = program.size_bytes[rows.guest], program.size_bytes[rows.host]
    same = (guest_bytes >= 0) & (guest_bytes == host_bytes) & (rows.offset_bytes == 0)
    _views(program, groups, np.flatnonzero(same & (rows.sharing == Sharing.VIEW)))
    facts = _Facts.of(program, groups.root, last, fixed)
    if policy.in_place:
        _in_place(program, groups, facts, np.flatnonzero(same & (rows.sharing == Sharing.IN_PLACE)))
    if policy.zero_copy:
        _parts(program, groups, facts, np.flatnonzero(rows.sharing >= Sharing.CONCAT))
    return groups


def _views(program: Program, groups: Groups, rows: Ints) -> None:
    guest, host = program.may_share.guest[rows], program.may_share.host[rows]
    owned = program.kind < Kind.INTERMEDIATE
    parent = groups.root.copy()
    parent[guest] = host
    # An owned guest below another owned tensor is cut off, together with what lies below it.
    above = np.zeros(len(parent), dtype=np.int64)
    above[guest] = owned[host]
    root = parent.copy()
    while (further := root[root] != root).any():
        above[further] += above[root[further]]
        root[further] = root[root[further]]
    cut = owned & (above > 0)
    # Of the owned guests that are left below one root, the first stays.
    left = np.flatnonzero(owned & (parent != np.arange(len(parent))) & ~cut)
    _, first = np.unique(root[left], return_index=True)
    kept = np.zeros(len(parent), dtype=np.bool_)
    kept[left[first]] = True
    cut[left] = ~kept[left]
    parent[cut] = np.flatnonzero(cut)
    groups.row[guest] = np.where(cut[guest], NOT_SHARED, rows)
    groups.root[:] = roots(parent)


def roots(parent: Ints) -> Ints:
    """The end of each chain of parents, by doubling: O(n log n) for chains of any length."""
    root = parent
    while not np.array_equal(further := root[root], root):
        root = further
    return root


@dataclass(frozen=True, eq=False)
class _Facts:
    """What is known of each group, at its root.

    Attributes:
        last_read: [n] the point up to which it is needed.
        last_write: [n] the last point that writes to its bytes.
        plain: [n] whether all its tensors are intermediate results, and none is fixed.
        fixed: [n] whether a tensor in it is fixed.
    """

    last_read: Ints
    last_write: Ints
    plain: NDArray[np.bool_]
    fixed: NDArray[np.bool_]

    @classmethod
    def of(cls, program: Program, root: Ints, last: Ints, fixed: NDArray[np.bool_]) -> _Facts:
        owned = program.kind < Kind.INTERMEDIATE
        last_read = np.where(owned, _FOREVER, last)
        last_write = program.writer.copy()
        fixed = fixed.copy()
        plain = (program.kind == Kind.INTERMEDIATE) & ~fixed
        guests = np.flatnonzero(root != np.arange(len(root)))
        hosts = root[guests]
        np.maximum.at(last_read, hosts, last_read[guests])
        np.logical_and.at(plain, hosts, plain[guests])
        np.logical_or.at(fixed, hosts, fixed[guests])
        return cls(last_read, last_write, plain, fixed)


def _in_place(program: Program, groups: Groups, facts: _Facts, rows: Ints) -> None:
    may = program.may_share
    host = groups.root[may.host[rows]]
    guest = may.guest[rows]
    fits = facts.plain[host] & (facts.last_read[host] <= may.point[rows]) & (groups.root[guest] == guest)
    fits &= ~facts.fixed[guest]
    rows, host, guest = rows[fits], host[fits], guest[fits]
    alone = _reads_no_other_name(program, groups.root, rows, host, guest)
    rows, host, guest = rows[alone], host[alone], guest[alone]
    parent = groups.root.copy()
    taken = np.zeros(len(parent), dtype=np.bool_)
    while rows.size:
        _, by_guest = np.unique(guest, return_index=True)
        first = by_guest[np.sort(np.unique(host[by_guest], return_index=True)[1])]
        parent[guest[first]] = host[first]
        groups.row[guest[first]] = rows[first]
        taken[host[first]] = True
        left = ~taken[host] & (parent[guest] == guest)
        rows, host, guest = rows[left], host[left], guest[left]
    before = groups.root.copy()
    groups.root[:] = roots(parent)
    moved = np.flatnonzero((before == np.arange(len(before))) & (groups.root != before))
    for facts_of, join in (
        (facts.last_read, np.maximum),
        (facts.last_write, np.maximum),
        (facts.plain, np.logical_and),
    ):
        join.at(facts_of, groups.root[moved], facts_of[moved])


def _reads_no_other_name(program: Program, root: Ints, rows: Ints, host: Ints, guest: Ints) -> NDArray[np.bool_]:
    """Whether every name of a host's bytes that the operator reads may be written over by the same guest.

    An operator that reads a tensor and a view of it has two names for the same bytes; a row for one of them says
    nothing of how it reads the other.
    """
    count, points = len(root), len(program) + 1
    several = np.bincount(root, minlength=count) > 1
    alone = ~several[host]
    if alone.all():
        return alone
    owner = root[program.read_tensor]
    some = several[owner]
    read, names = np.unique(owner[some] * points + program.read_point[some], return_counts=True)
    at = np.searchsorted(read, host * points + program.may_share.point[rows])
    _, pair, allowed = np.unique(guest * count + host, return_inverse=True, return_counts=True)
    found = at < len(read)
    return alone | (found & (names[np.minimum(at, len(read) - 1)] == allowed[pair]))


def _parts(program: Program, groups: Groups, facts: _Facts, rows: Ints) -> None:
    """Concat and Split: the only rows that must be looked at one after the other."""
    may = program.may_share
    whole, child = groups.root[may.host[rows]], groups.root[may.guest[rows]]
    point, concat = may.point[rows], may.sharing[rows] == Sharing.CONCAT
    # What groups join only makes these stricter, so that rows that fail now need not be looked at again.
    fits = (program.size_bytes[child] >= 0) & (program.size_bytes[whole] >= 0) & facts.plain[child]
    fits &= _harmless(facts, whole, facts.last_read[child], facts.last_write[child], point, concat)
    starts = np.flatnonzero(np.r_[True, point[1:] != point[:-1]]) if rows.size else rows
    good = np.flatnonzero(np.logical_and.reduceat(fits, starts)) if rows.size else rows
    if not good.size:
        return
    ends = np.r_[starts[1:], len(rows)]
    names, numbers = np.unique(np.concatenate((whole, child)), return_inverse=True)
    wholes, children = numbers[: len(rows)].tolist(), numbers[len(rows) :].tolist()
    placed = _Placed(facts, names)
    put: list[int] = []
    for start, end in zip(starts[good].tolist(), ends[good].tolist(), strict=True):
        if placed.allows(wholes[start], children[start:end], int(point[start]), concat=bool(concat[start])):
            put.extend(range(start, end))
            for position in range(start, end):
                placed.put(children[position], wholes[position])
    chosen = np.array(put, dtype=np.int64)
    groups.row[child[chosen]] = rows[chosen]
    _move(groups, child[chosen], whole[chosen], may.offset_bytes[rows[chosen]])


def _harmless(
    facts: _Facts, top: Ints, reads: Ints, writes: Ints, point: Ints, concat: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether no byte is overwritten while it is needed when a part with those accesses lies in a group."""
    later_writes, later_reads = facts.last_write[top] > point, facts.last_read[top] > point
    return np.where(
        concat,
        (writes <= point) & (~later_writes | (reads <= point)),
        ~later_writes & (~later_reads | (writes <= point)),
    )


def _move(groups: Groups, child: Ints, whole: Ints, offset_bytes: Ints) -> None:
    """Places groups in others; those may lie in others in turn."""
    parent = np.arange(len(groups.root))
    offset = np.zeros(len(parent), dtype=np.int64)
    parent[child], offset[child] = whole, offset_bytes
    while not np.array_equal(further := parent[parent], parent):
        offset += offset[parent]
        parent = further
    groups.offset_bytes[:] = offset[groups.root]
    groups.root[:] = parent[groups.root]


class _Placed:
    """Groups inside of groups while they are put together; groups by their place in a list of all that take part."""

    def __init__(self, facts: _Facts, roots: Ints) -> None:
        self._last_read: list[int] = facts.last_read[roots].tolist()
        self._last_write: list[int] = facts.last_write[roots].tolist()
        self._into: dict[int, int] = {}

    def _top(self, group: int) -> int:
        while group in self._into:
            group = self._into[group]
        return group

    def allows(self, whole: int, children: list[int], point: int, *, concat: bool) -> bool:
        """True when all children can be placed and no byte is overwritten while it is needed."""
        top = self._top(whole)
        reads = writes = -1
        seen = {top}
        for child in children:
            if child in seen or child in self._into:
                return False
            seen.add(child)
            reads, writes = max(reads, self._last_read[child]), max(writes, self._last_write[child])
        if concat:
            return writes <= point and (self._last_write[top] <= point or reads <= point)
        return self._last_write[top] <= point and (self._last_read[top] <= point or writes <= point)

    def put(self, child: int, whole: int) -> None:
        """Places one group in another, which is then needed as long as both.

        Writes need no such care: a part that is written to later is placed only where the whole is dead.
        """
        top = self._top(whole)
        self._into[child] = whole
        self._last_read[top] = max(self._last_read[top], self._last_read[child])
