"""Checks what lies where against what the program does: no write lands on bytes of a value that is still needed.

It starts from the program's columns alone and works out anew what is needed until when; what was handed to the planner
is not believed. Only an in-place write that the program allows, over exactly the bytes of an input that nobody needs
any more, may meet another value.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.contents import Realised, contents_of
from gexplorer.memory.findings import Collector, Finding, Findings
from gexplorer.memory.happens_before import check_streams
from gexplorer.memory.needs import is_kept
from gexplorer.memory.overlaps import overlapping_pairs
from gexplorer.memory.overwrites import describe_overwrite, kind_word
from gexplorer.memory.problem import FREE
from gexplorer.memory.program import UNSIZED, Program, Sharing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# An exbibyte: addresses, offsets and sizes beyond it are taken for overflows, and sums of a few of them fit 64 bits.
FAR_BYTES = 1 << 60


def verify_sharing(
    program: Program,
    buffer_of_tensor: Ints,
    offset_in_buffer: Ints,
    address_of_buffer: Ints,
    size_of_buffer: Ints,
    limit: int = 20,
) -> Findings:
    """What is wrong with the places of a program's tensors; an empty tuple for a sound plan.

    Args:
        program: n tensors.
        buffer_of_tensor: [n] the buffer that a tensor lies in, -1 for none (only what has no size).
        offset_in_buffer: [n] where in its buffer a tensor begins.
        address_of_buffer: [b] where a buffer begins, all in one address space; ``FREE`` for a buffer with memory of
            its own, such as a weight's.
        size_of_buffer: [b] bytes of each buffer.
        limit: how many findings to list in all; ``counts`` has them all, writes over needed values beyond the limit
            as ``overwritten``, whichever kind they are of.
    """
    found = Collector(limit)
    columns = (buffer_of_tensor, offset_in_buffer, address_of_buffer, size_of_buffer)
    columns = tuple(np.asarray(column) for column in columns)
    n, b = len(program.tensors), len(columns[2])
    for column, length in zip(columns, (n, n, b, b), strict=True):
        if column.shape != (length,):
            found.add("wrong_length", 1, [Finding("wrong_length", (), {"offsets": column.size, "buffers": length})])
            return found.finish()
    buffer, offset, base, size = (column.astype(np.int64) for column in columns)
    address, placed = _addresses(program, buffer, offset, base, size, found)
    contents = contents_of(program, address, placed)
    _check_names(program, contents.rows, address, found)
    _check_kept(program, contents.rows, address, placed, found)
    total, pairs = overlapping_pairs(contents.stretches, limit)
    _add(found, total, (describe_overwrite(contents, first, second) for first, second in pairs.tolist()))
    if program.streams is not None:
        check_streams(contents, found)
    return found.finish()


def _add(found: Collector, total: int, findings: Iterator[Finding]) -> None:
    """Adds findings of several codes; those that nobody looked at count as overwrites."""
    listed = list(findings)
    for finding in listed:
        found.add(finding.code, 1, [finding])
    found.add("overwritten", total - len(listed), ())


def _addresses(
    program: Program, buffer: Ints, offset: Ints, base: Ints, size: Ints, found: Collector
) -> tuple[Ints, Flags]:
    """First byte of each tensor, and which tensors have one."""
    names, bytes_ = program.tensors, program.size_bytes
    sized = bytes_ != UNSIZED

    def each(code: str, wrong: Flags, **more: Ints) -> None:
        rows = np.flatnonzero(wrong)
        found.add(
            code,
            len(rows),
            (
                Finding(code, (row,), {"first": names[row], **{name: int(c[row]) for name, c in more.items()}})
                for row in rows[: found.limit].tolist()
            ),
        )

    known = (buffer >= 0) & (buffer < len(base))
    negative = sized & (bytes_ < 0)
    each("unknown_buffer", (buffer < -1) | (buffer >= len(base)), buffer=buffer)
    each("unplaced", sized & (buffer == -1), size_bytes=bytes_)
    each("negative_size", negative, size_bytes=bytes_)
    placed = known & sized & ~negative
    lost = placed & (_far(offset) | _far(bytes_))
    each("address_overflow", lost, offset=offset, size_bytes=bytes_)
    placed &= ~lost
    rows, homes = np.flatnonzero(placed), buffer[placed]
    outside = np.zeros(len(placed), bool)
    outside[rows] = (offset[rows] < 0) | (offset[rows] + bytes_[rows] > size[homes])
    room = np.zeros(len(placed), np.int64)
    room[rows] = size[homes]
    each("outside_buffer", outside, offset=offset, size_bytes=bytes_, buffer=buffer, room_bytes=room)
    reach = np.clip(size, 0, FAR_BYTES)
    np.maximum.at(reach, homes, offset[rows] + bytes_[rows])
    base = _own_memory(base, reach)
    far = np.zeros(len(placed), bool)
    far[rows] = _far(base[homes])
    each("address_overflow", far, offset=offset, size_bytes=bytes_)
    placed &= ~far
    address = np.zeros(len(placed), np.int64)
    address[placed] = base[buffer[placed]] + offset[placed]
    each("negative_offset", address < 0, before_bytes=-address)
    return address, placed


def _far(column: Ints) -> Flags:
    return (column > FAR_BYTES) | (column < -FAR_BYTES)


def _own_memory(base: Ints, reach: Ints) -> Ints:
    """Addresses with those of buffers that have memory of their own filled in, behind all others."""
    base = base.copy()
    given = (base != FREE) & ~_far(base)
    free = int((base + reach)[given].max(initial=0))
    for row in np.flatnonzero(base == FREE).tolist():
        base[row] = min(free, FAR_BYTES + 1)
        free += int(reach[row])
    return base


def _check_names(program: Program, rows: Realised, address: Ints, found: Collector) -> None:
    """Views lie where their source lies; what is a name for other bytes does not reach beyond them."""
    share, size = program.may_share, program.size_bytes
    lost = np.flatnonzero(np.isin(share.guest, rows.misplaced) & (share.sharing == Sharing.VIEW))
    lost = lost[np.unique(share.guest[lost], return_index=True)[1]] if lost.size else lost
    pairs = zip(share.guest[lost].tolist(), share.host[lost].tolist(), strict=True)
    found.add("view_misplaced", len(lost), (_name_finding(program, "view_misplaced", *p, address) for p in pairs))
    used = np.concatenate((rows.alias, rows.concat))
    guest, host = share.guest[used], share.host[used]
    end = share.offset_bytes[used] + size[guest]
    beyond = used[(share.offset_bytes[used] < 0) | (end > size[host])]
    for row in beyond.tolist():
        code = "view_outside_source" if share.sharing[row] == Sharing.VIEW else "part_outside_whole"
        finding = _name_finding(program, code, int(share.guest[row]), int(share.host[row]), address)
        found.add(code, 1, [finding])


def _name_finding(program: Program, code: str, guest: int, host: int, address: Ints) -> Finding:
    parameters = {
        "first": program.tensors[host],
        "second": program.tensors[guest],
        "host_bytes": int(program.size_bytes[host]),
        "guest_bytes": int(program.size_bytes[guest]),
        "begins": int(address[guest]) - int(address[host]),
    }
    point = int(program.writer[guest])
    return Finding(code, (host, guest), parameters, window=(point, point))


def _check_kept(program: Program, rows: Realised, address: Ints, placed: Flags, found: Collector) -> None:
    """What outlasts the program shares bytes with nothing but its own other names, whenever that lives."""
    solid = np.flatnonzero(placed & (program.size_bytes > 0))
    group = _groups(program, rows)
    low, high = address, address + program.size_bytes
    kept = solid[is_kept(program)[solid]]
    kept = kept[np.argsort(low[kept], kind="stable")]
    wrong: list[tuple[int, int]] = []
    segments: list[list[int]] = []  # disjoint: first byte, byte behind the last, a tensor of the group that it is of
    for tensor in kept.tolist():
        begin, end = int(low[tensor]), int(high[tensor])
        if segments and begin < segments[-1][1] and group[segments[-1][2]] != group[tensor]:
            wrong.append((segments[-1][2], tensor))
            begin = segments[-1][1]
        if segments and begin <= segments[-1][1] and group[segments[-1][2]] == group[tensor]:
            segments[-1][1] = max(segments[-1][1], end)
        elif begin < end:
            segments.append([begin, end, tensor])
    wrong += _strangers(segments, solid[~is_kept(program)[solid]], low, high, group)
    found.add("kept_shared", len(wrong), (_kept_finding(program, pair, low, high) for pair in wrong[: found.limit]))


def _strangers(
    segments: list[list[int]], tensors: NDArray[np.intp], low: Ints, high: Ints, group: Ints
) -> Iterator[tuple[int, int]]:
    """The tensors that lie on a segment of another group, each with the first such."""
    if not segments:
        return
    begins, ends, owners = np.array(segments, np.int64).T
    run = np.concatenate(([0], np.cumsum([int(group[a] != group[b]) for a, b in pairwise(owners.tolist())])))
    first = np.searchsorted(ends, low[tensors], side="right")
    behind = np.searchsorted(begins, high[tensors], side="left")
    touched = first < behind
    tensors, first, behind = tensors[touched], first[touched], behind[touched]
    fine = (group[owners[first]] == group[tensors]) & (run[first] == run[behind - 1])
    for tensor, a, b in zip(tensors[~fine].tolist(), first[~fine].tolist(), behind[~fine].tolist(), strict=True):
        yield next(int(owners[i]) for i in range(a, b) if group[owners[i]] != group[tensor]), tensor


def _kept_finding(program: Program, pair: tuple[int, int], low: Ints, high: Ints) -> Finding:
    first, second = pair
    kind = program.kind[first]
    parameters = {"first": program.tensors[first], "second": program.tensors[second], "kind": kind_word(int(kind))}
    span = (max(int(low[first]), int(low[second])), min(int(high[first]), int(high[second])))
    return Finding("kept_shared", pair, parameters, span=span)


def _groups(program: Program, rows: Realised) -> Ints:
    """[n] one number for all tensors that share bytes because the program lets them: the smallest row among them."""
    share = program.may_share
    used = np.concatenate((rows.alias, rows.concat, rows.in_place))
    guest, host = share.guest[used], share.host[used]
    group = np.arange(len(program.tensors))
    while True:  # each round hangs every group below its smallest neighbour: O(log n) rounds
        lowest = np.minimum(group[guest], group[host])
        further = group.copy()
        np.minimum.at(further, group[guest], lowest)
        np.minimum.at(further, group[host], lowest)
        while not np.array_equal(further, top := further[further]):
            further = top
        if np.array_equal(further, group):
            return group
        group = further
