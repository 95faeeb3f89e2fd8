"""Says of a write over a needed value whose value it was, who still reads it, and what kind of mistake that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.findings import Finding
from gexplorer.memory.needs import is_kept
from gexplorer.memory.program import BEFORE, Kind, Program, Sharing

if TYPE_CHECKING:
    from gexplorer.memory.contents import Contents


def describe_overwrite(contents: Contents, first: int, second: int) -> Finding:
    """The finding for two stretches of bytes that overlap in place and time.

    Args:
        contents: the values in the bytes.
        first: row of ``contents.stretches`` of what was there.
        second: row of what is written over it.
    """
    program, rows = contents.program, contents.stretches
    old, new = int(contents.value[first]), int(contents.value[second])
    span = (max(int(rows.begin[first]), int(rows.begin[second])), min(int(rows.end[first]), int(rows.end[second])))
    half = int(rows.lower[second])
    victim = max(contents.names_within(old, *span), key=lambda name: (int(contents.ends[name]), -name))
    point = int(program.writer[new])
    code = _code(contents, victim, old, new, span)
    if code == "outputs_collide":
        victim, new = sorted((old, new))
    reader = _reader(program, victim, 2 * point + 1 if code == "in_place_still_needed" else half)
    parameters = {
        "first": program.tensors[victim],
        "second": program.tensors[new],
        "writer": operator(program, point),
        "reader": "nobody" if reader is None else operator(program, reader),
        "kind": kind_word(int(program.kind[victim])),
    }
    end = min(int(rows.upper[first]), int(rows.upper[second]))
    return Finding(code, (victim, new), parameters, window=(half // 2, (end - 1) // 2), span=span)


def operator(program: Program, point: int) -> str:
    """The name of the operator at a point."""
    return "the caller" if point == BEFORE else program.operators[point]


def kind_word(kind: int) -> str:
    """A kind of tensor, for people."""
    return Kind(kind).name.lower()


def _reader(program: Program, victim: int, half: int) -> int | None:
    """The first point at which the value is read after it was overwritten; after one more round of a loop, if so."""
    readers = program.readers(victim)
    later = readers[2 * readers + 1 > half]
    if later.size:
        return int(later[0])
    return int(readers[-1]) if readers.size else None


def _code(contents: Contents, victim: int, old: int, new: int, span: tuple[int, int]) -> str:
    program = contents.program
    point = int(program.writer[new])
    if is_kept(program)[victim]:
        return "kept_overwritten"
    if point == program.writer[old]:
        return "outputs_collide"
    if code := _broken_permission(contents, old, new, span):
        return code
    readers = program.readers(victim)
    if readers.size and readers[-1] < point:
        return "loop_value_overwritten"
    if not program.readers(new).size and not is_kept(program)[new]:
        return "unread_output_overwrites"
    return "overwritten"


def _broken_permission(contents: Contents, old: int, new: int, span: tuple[int, int]) -> str:
    """The code for a place that the program would have shared, but not like this; "" where it said nothing."""
    share = contents.program.may_share
    names = contents.names_within(old, *span)
    rows = np.flatnonzero(
        ((share.guest == new) & np.isin(share.host, names)) | ((share.host == new) & np.isin(share.guest, names))
    )
    for row in rows.tolist():
        sharing = share.sharing[row]
        if sharing == Sharing.IN_PLACE and share.guest[row] == new:
            exact = row in contents.rows.in_place
            return "in_place_still_needed" if exact else "in_place_shifted"
        if sharing in (Sharing.CONCAT, Sharing.SPLIT):
            return "part_misplaced"
    return ""
