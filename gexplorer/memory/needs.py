"""Until when a tensor is needed: read off a program's columns, for the verifier alone.

What planners are told comes from elsewhere, so that a mistake there does not hide itself here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.program import Kind, Program, Sharing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

KEPT = (Kind.WEIGHT, Kind.CONSTANT, Kind.INPUT, Kind.OUTPUT, Kind.STATE)


def is_kept(program: Program) -> Flags:
    """Which tensors outlast the program: all but intermediates and workspaces."""
    return np.isin(program.kind, KEPT)


def last_needs(program: Program) -> Ints:
    """[n] the last point that needs each tensor under its own name: its last reader's, its own where nobody reads it.

    What is written before a loop and read inside is needed to the loop's last point, where the loop ends: that point
    runs once, after the last round. A view counts as a reader of its source, a Split of its whole, a Concat of its
    parts, whether or not the columns say so.
    """
    share, writer = program.may_share, program.writer
    concat = share.sharing == Sharing.CONCAT
    alias = (share.sharing == Sharing.VIEW) | (share.sharing == Sharing.SPLIT)
    tensor = np.concatenate((program.read_tensor, share.host[alias], share.guest[concat]))
    point = np.concatenate((program.read_point, writer[share.guest[alias]], writer[share.host[concat]]))
    needed = point.copy()
    loops = program.loops.reshape(-1, 2)
    inner, outer = _nesting(loops, len(program))
    loop = np.where(point >= 0, inner[point], -1) if len(inner) else np.full(len(point), -1)
    while (inside := np.flatnonzero(loop >= 0)).size:
        first, last = loops[loop[inside]].T
        carried = first > writer[tensor[inside]]
        rows = inside[carried]
        needed[rows] = np.maximum(needed[rows], last[carried])
        loop[inside] = np.where(carried, outer[loop[inside]], -1)
    needs = writer.copy()
    np.maximum.at(needs, tensor, needed)
    return needs


def _nesting(loops: Ints, points: int) -> tuple[Ints, Ints]:
    """The innermost loop around each point, and the loop around each loop; -1 for none."""
    inner = np.full(points, -1, np.int64)
    outer = np.full(len(loops), -1, np.int64)
    for loop in np.argsort(loops[:, 0] - loops[:, 1], kind="stable").tolist():
        first, last = loops[loop].tolist()
        outer[loop] = inner[first]
        inner[first : last + 1] = loop
    return inner, outer
