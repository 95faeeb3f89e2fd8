"""How long a tensor is needed where operators run on several streams, as an interval of plain points.

Points are numbered in an order that every stream and every sync agrees with, but a point with a higher number need not
run later: only the order inside a stream and the syncs prove that. So a tensor is held up to the last point that is not
proven to run after all its accesses. Every point with a higher number then runs after them, whatever its stream; two
tensors whose intervals do not meet may have the same bytes, and a planner need not know of streams.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.program import BEFORE, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def proven_last(program: Program, last: Ints, *, against: int | None = None) -> Ints:
    """[n] the last point that may run before all accesses of a tensor are over. O((n + reads + syncs) * streams).

    Args:
        program: with ``streams``, and with syncs that go forward and order every read behind its write.
        last: [n] the last read, loops taken in.
        against: a stream, where only its operators can take a place over; None for any.
    """
    held = last.copy()
    np.maximum.at(held, program.read_tensor, _ends(program, program.read_point, against))
    used = np.flatnonzero(last > BEFORE)  # at the end of a loop too, or where it is written, if nobody reads it
    held[used] = np.maximum(held[used], _ends(program, last[used], against))
    return held


def on_one_stream(program: Program) -> NDArray[np.bool_]:
    """[n] whether one stream alone writes and reads a tensor."""
    streams = program.streams
    assert streams is not None
    alone = program.writer > BEFORE
    elsewhere = streams[program.read_point] != streams[program.writer[program.read_tensor]]
    alone[program.read_tensor[elsewhere]] = False
    return alone


def _ends(program: Program, accesses: Ints, against: int | None) -> Ints:
    """For each access, the last point that is not proven to come after it; the access itself at least."""
    streams = program.streams
    assert streams is not None
    ends = accesses.copy()
    names = np.unique(streams)
    members = [np.flatnonzero(streams == name) for name in names]
    number = np.searchsorted(names, streams)
    own = number[accesses]
    for source, (points, proven) in enumerate(_proven(program, number, len(names))):
        chosen = np.flatnonzero(own == source)
        rows = np.searchsorted(points, accesses[chosen])  # the first sync that leaves at the access or behind it
        for target, there in enumerate(members):
            if target == source or (against is not None and names[target] != against):
                continue
            position = np.searchsorted(there, proven[rows, target])
            before = np.where(position > 0, there[np.maximum(position - 1, 0)], BEFORE)
            ends[chosen] = np.maximum(ends[chosen], before)
    return ends


def _proven(program: Program, number: Ints, count: int) -> list[tuple[Ints, Ints]]:
    """For each stream the points where syncs leave it, and what each of them proves.

    The second is [syncs + 1, streams]: in row i the first point of each stream that comes after every point of this
    stream up to the one that sync i leaves; the last row is for points behind all syncs, which prove nothing.
    """
    syncs = program.syncs if program.syncs is not None else np.zeros((0, 2), dtype=np.int64)
    left: list[list[int]] = [[] for _ in range(count)]  # negative, so that they ascend as they are found
    proven: list[list[Ints]] = [[np.full(count, len(program), dtype=np.int64)] for _ in range(count)]
    for source, target in syncs[np.argsort(-syncs[:, 0], kind="stable")].tolist():
        here, there = int(number[source]), int(number[target])
        beyond = proven[there][bisect_right(left[there], -target)].copy()
        beyond[there] = target
        left[here].append(-source)
        proven[here].append(np.minimum(proven[here][-1], beyond))
    return [(-np.array(a[::-1], dtype=np.int64), np.array(b[::-1])) for a, b in zip(left, proven, strict=True)]
