"""Which bytes hold which value, from when to when: read off a program's columns and a plan's addresses.

A tensor that an operator writes is a *value* in bytes. A view, or the part of a Split that lies where the whole lies,
writes nothing: it is another name for bytes of its *root*. A Concat whose parts lie where they must writes nothing
there either: that stretch of the whole is the part's value. So every need of a name is a need of its root's bytes, and
what remains is one rectangle for each stretch of a value that is needed equally long.

Time counts half points: an operator at point p reads and writes during [2p, 2p + 2). In place, host and guest meet at
2p + 1, which nothing else may do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.needs import is_kept, last_needs
from gexplorer.memory.overlaps import Rectangles
from gexplorer.memory.problem import LARGEST_BYTES
from gexplorer.memory.program import Kind, Program, Sharing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Realised:
    """Rows of ``may_share`` that a plan makes use of: those whose guest lies exactly where the row says.

    Attributes:
        alias: views and parts of Splits: the guest is another name for the host's bytes.
        concat: the guest's bytes are the whole's.
        in_place: the operator writes the guest exactly over the host.
        misplaced: [k] views that do not lie where their source lies, though they could.
    """

    alias: NDArray[np.intp]
    concat: NDArray[np.intp]
    in_place: NDArray[np.intp]
    misplaced: NDArray[np.intp]


def realised(program: Program, address: Ints, placed: Flags) -> Realised:
    """What of ``may_share`` holds for these addresses."""
    share, writer, size = program.may_share, program.writer, program.size_bytes
    guest, host = share.guest, share.host
    both = placed[guest] & placed[host]
    exact = both & (address[guest] == address[host] + share.offset_bytes)
    later = writer[guest] > writer[host]
    view = share.sharing == Sharing.VIEW
    alias = exact & later & (view | (share.sharing == Sharing.SPLIT))
    concat = exact & (writer[guest] < writer[host]) & (share.sharing == Sharing.CONCAT)
    same = (size[guest] == size[host]) & (share.offset_bytes == 0)
    in_place = exact & later & same & (share.sharing == Sharing.IN_PLACE) & (share.point == writer[guest])
    kept = is_kept(program)
    owed = view & both & ~(kept[guest] & kept[host])  # of two that have memory of their own, one is a copy
    misplaced = np.setdiff1d(guest[owed], guest[view & alias])
    return Realised(np.flatnonzero(alias), np.flatnonzero(concat), np.flatnonzero(in_place), misplaced)


@dataclass(frozen=True, eq=False)
class Contents:
    """The values of a program in the bytes of a plan.

    Attributes:
        program: the columns.
        address: [n] first byte of each tensor.
        held: [n] whether a tensor has bytes whose content is known (it is placed, and no view of bytes elsewhere).
        rows: what of ``may_share`` the plan makes use of.
        root: [n] the tensor whose bytes a name stands for; itself where it is written.
        begins: [n] half point at which a tensor is written.
        ends: [n] half point from which nobody needs a tensor under its own name.
        stretches: rectangles of bytes and half points; those of one value never overlap.
        value: [stretches] the tensor that was written there.
    """

    program: Program
    address: Ints
    held: Flags
    rows: Realised
    root: Ints
    begins: Ints
    ends: Ints
    stretches: Rectangles
    value: Ints

    @cached_property
    def _names(self) -> dict[int, list[int]]:
        """The names of each root, itself among them."""
        return _grouped(self.root, np.flatnonzero(self.held))

    @cached_property
    def _wholes(self) -> dict[int, list[tuple[int, int]]]:
        """For each root, the parts of Concats that are names of it, each with its whole."""
        share = self.program.may_share
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for part, whole in zip(
            share.guest[self.rows.concat].tolist(), share.host[self.rows.concat].tolist(), strict=True
        ):
            found[int(self.root[part])].append((part, whole))
        return found

    @cached_property
    def _stretches_of(self) -> dict[int, list[int]]:
        return _grouped_pairs(self.value, np.arange(len(self.value)))

    @cached_property
    def _parts(self) -> dict[int, list[int]]:
        """The parts of each whole that lie where they must."""
        share = self.program.may_share
        return _grouped_pairs(share.host[self.rows.concat], share.guest[self.rows.concat])

    def common(self, tensor: int, low: int, high: int) -> tuple[int, int]:
        """The bytes that a tensor has of a range."""
        begin = int(self.address[tensor])
        return max(low, begin), min(high, begin + int(self.program.size_bytes[tensor]))

    def names_within(self, value: int, low: int, high: int) -> list[int]:
        """All tensors that hold bytes of a value between two addresses, by whatever name."""
        found: dict[int, None] = {}
        ranges = [(value, low, high)]
        for root, begin, end in ranges:
            for name in self._names.get(root, ()):
                a, b = self.common(name, begin, end)
                if a < b:
                    found[name] = None
            for part, whole in self._wholes.get(root, ()):
                a, b = self.common(part, begin, end)
                if a < b and (whole, a, b) not in ranges:
                    ranges.append((whole, a, b))
        return list(found)

    def values_of(self, tensor: int) -> list[int]:
        """The values whose bytes a tensor's bytes are."""
        found: dict[int, None] = {}
        ranges = [(int(self.root[tensor]), *self.common(tensor, -LARGEST_BYTES, LARGEST_BYTES))]
        for root, begin, end in ranges:
            if any(self._meets(row, begin, end) for row in self._stretches_of.get(root, ())):
                found[root] = None
            for part in self._parts.get(root, ()):
                a, b = self.common(part, begin, end)
                if a < b and (int(self.root[part]), a, b) not in ranges:
                    ranges.append((int(self.root[part]), a, b))
        return list(found)

    def _meets(self, stretch: int, low: int, high: int) -> bool:
        return bool(self.stretches.begin[stretch] < high and self.stretches.end[stretch] > low)

    @cached_property
    def idle(self) -> Flags:
        """[points] operators with results that write nothing: all are other names for what is there already."""
        program = self.program
        busy = ~self.held
        busy[self.value] = True
        idle = np.zeros(len(program), bool)
        idle[program.writer[program.writer >= 0]] = True
        idle[program.writer[busy & (program.writer >= 0)]] = False
        return idle


def contents_of(program: Program, address: Ints, placed: Flags) -> Contents:
    """The values in the bytes of a plan.

    Args:
        program: n tensors.
        address: [n] first byte of each, far enough from the ends of int64.
        placed: [n] which tensors have an address.
    """
    rows = realised(program, address, placed)
    share, size = program.may_share, program.size_bytes
    root = np.arange(len(size))
    root[share.guest[rows.alias][::-1]] = share.host[rows.alias][::-1]
    while not np.array_equal(root, further := root[root]):
        root = further
    nowhere = np.zeros(len(size), bool)
    nowhere[rows.misplaced] = True
    held = placed & ~nowhere & ~nowhere[root]
    begins, ends = _spans(program, rows)
    stretches = _Stretches(program, address, held, rows, root, ends)
    value, low, high, end = stretches.all()
    rectangles = Rectangles(begins[value], end, low, high)
    return Contents(program, address, held, rows, root, begins, ends, rectangles, value)


def _spans(program: Program, rows: Realised) -> tuple[Ints, Ints]:
    """[n] half points at which a tensor is written, and from which nobody needs it under its own name."""
    share, kind = program.may_share, program.kind
    begins, ends = 2 * program.writer, 2 * last_needs(program) + 2
    guest, host, point = share.guest[rows.in_place], share.host[rows.in_place], share.point[rows.in_place]
    goes_on = np.isin(kind[guest], (Kind.STATE, Kind.OUTPUT)) & (kind[host] == Kind.STATE)
    kept = is_kept(program)
    kept[host[goes_on]] = False  # its place is taken by what it goes on as
    ends[kept] = 2 * len(program) + 2
    last = ends[host] == 2 * point + 2
    ends[host[last]] -= 1
    begins[guest[last]] = 2 * point[last] + 1
    return begins, ends


class _Stretches:
    """Merges the needs of all names into stretches of their roots."""

    def __init__(self, program: Program, address: Ints, held: Flags, rows: Realised, root: Ints, ends: Ints) -> None:
        self.program, self.address, self.held, self.rows, self.root = program, address, held, rows, root
        self.low = address
        self.high = address + np.maximum(program.size_bytes, 0)
        self.needed = ends.copy()  # [n] what all bytes of a root are needed to
        self.partly: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # what some bytes are needed to

    def all(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The columns value, first byte, byte behind the last, and half point from which nobody needs them."""
        self._gather_names()
        cut = self._cut_wholes()
        is_root = self.held & (self.root == np.arange(len(self.root))) & (self.high > self.low)
        is_root[list(cut)] = False
        for value in self.partly:
            if is_root[value]:
                cut[value] = list(self._steps(value))
                is_root[value] = False
        plain = np.flatnonzero(is_root)
        pieces = [(value, *piece) for value, found in cut.items() for piece in found]
        more = np.array(pieces, np.int64).reshape(-1, 4).T
        columns = (plain, self.low[plain], self.high[plain], self.needed[plain])
        value, low, high, end = (np.concatenate((a, b)) for a, b in zip(columns, more, strict=True))
        return value, low, high, end

    def _gather_names(self) -> None:
        """Hands the needs of views and parts of Splits to their roots."""
        names = np.flatnonzero(self.held & (self.root != np.arange(len(self.root))))
        roots = self.root[names]
        low = np.maximum(self.low[names], self.low[roots])
        high = np.minimum(self.high[names], self.high[roots])
        end = self.needed[names]
        full = (low == self.low[roots]) & (high == self.high[roots])
        np.maximum.at(self.needed, roots[full], end[full])
        some = ~full & (low < high)
        for row in zip(roots[some].tolist(), low[some].tolist(), high[some].tolist(), end[some].tolist(), strict=True):
            self.partly[row[0]].append(row[1:])

    def _cut_wholes(self) -> dict[int, list[tuple[int, int, int]]]:
        """Hands the needs of the wholes of Concats to their parts; returns what the Concats themselves write."""
        share, writer = self.program.may_share, self.program.writer
        rows = self.rows.concat[self.held[share.guest[self.rows.concat]] & self.held[share.host[self.rows.concat]]]
        rows = rows[self.root[share.host[rows]] == share.host[rows]]
        parts = _grouped_pairs(share.host[rows], share.guest[rows])
        own: dict[int, list[tuple[int, int, int]]] = {}
        for whole in sorted(parts, key=lambda tensor: -int(writer[tensor])):  # a whole may be a part of a later one
            steps = list(self._steps(whole))
            own[whole] = []
            at, last = int(self.low[whole]), int(self.high[whole])
            for part in sorted(parts[whole], key=lambda tensor: int(self.low[tensor])):
                low, high = max(at, int(self.low[part])), min(last, int(self.high[part]))
                if low < high:
                    own[whole] += _within(steps, at, low)
                    for piece in _within(steps, low, high):
                        self._need(int(self.root[part]), *piece)
                    at = high
            own[whole] += _within(steps, at, last)
        return own

    def _need(self, root: int, low: int, high: int, end: int) -> None:
        if low <= self.low[root] and high >= self.high[root]:
            self.needed[root] = max(int(self.needed[root]), end)
        else:
            self.partly[root].append((low, high, end))

    def _steps(self, root: int) -> Iterator[tuple[int, int, int]]:
        """The bytes of a root, cut where the need changes."""
        base, at, last = (int(column[root]) for column in (self.needed, self.low, self.high))
        waiting = sorted((piece for piece in self.partly.get(root, ()) if piece[2] > base), reverse=True)
        longest: list[tuple[int, int]] = []  # (-end, byte behind the last)
        while at < last:
            while waiting and waiting[-1][0] <= at:
                _, high, end = waiting.pop()
                heappush(longest, (-end, high))
            while longest and longest[0][1] <= at:
                heappop(longest)
            stop = min(waiting[-1][0] if waiting else last, longest[0][1] if longest else last, last)
            yield at, stop, -longest[0][0] if longest else base
            at = stop


def _within(steps: list[tuple[int, int, int]], low: int, high: int) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for at in range(bisect_right(steps, low, key=lambda step: step[1]), len(steps)):
        a, b, end = steps[at]
        if a >= high or low >= high:
            break
        found.append((max(a, low), min(b, high), end))
    return found


def _grouped(keys: Ints, rows: NDArray[np.intp]) -> dict[int, list[int]]:
    return _grouped_pairs(keys[rows], rows)


def _grouped_pairs(keys: Ints, values: Ints) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        groups[key].append(value)
    return groups
