"""The proof that no two streams race: the memory program, as the schedule runs it, goes through the verifier.

The verifier knows nothing of dependencies and reuse edges. It gets the program with its points in the order in which
the schedule launches them, the stream of each and the events, and works out by itself whether every read comes after
its write and every hand-over of bytes after the last use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.findings import Findings
from gexplorer.memory.program import BEFORE, MayShare, Program
from gexplorer.memory.verify_sharing import verify_sharing
from gexplorer.schedule.events import Syncs
from gexplorer.schedule.kernels import NOTHING, Kernels, roots_of
from gexplorer.schedule.streams import Assignment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.stage import Memory

    Ints = NDArray[np.int64]


def prove(memory: Memory, kernels: Kernels, assigned: Assignment, syncs: Syncs) -> Findings:
    """What the verifier has against a schedule; empty for one in which nothing can race.

    Where all run on one stream in the order that was planned for, it is what it found for the plan.
    """
    if assigned.streams < 2 and np.array_equal(assigned.order, np.arange(len(kernels))):
        return memory.findings
    live = memory.liveness
    program = scheduled_program(memory, kernels, assigned, syncs)
    return verify_sharing(program, live.buffer, live.offset_bytes, memory.addresses, live.size_bytes)


def scheduled_program(memory: Memory, kernels: Kernels, assigned: Assignment, syncs: Syncs) -> Program:
    """The memory program with its points in launch order, their streams, and the events as syncs between points.

    An event is sent behind the last point of its source and awaited at the first point of its target. Points that
    launch nothing read nothing; they stand behind the last kernel that writes what they are names of.
    """
    program = memory.program
    place = np.empty(len(kernels), dtype=np.int64)
    place[assigned.order] = np.arange(len(kernels))
    kernel = kernels.at_point
    at = np.full(len(program), -1, dtype=np.int64)
    at[kernel != NOTHING] = place[kernel[kernel != NOTHING]]
    _place_names(memory, kernels, at)
    order = np.lexsort((np.arange(len(program)), at))
    moved = np.empty(len(program) + 1, dtype=np.int64)
    moved[order] = np.arange(len(program))
    moved[BEFORE] = BEFORE
    stream_at = np.append(assigned.stream, 0)  # of what stands before all kernels too
    launch_order = np.append(assigned.order, -1)
    stream = stream_at[launch_order[at]][order]
    acts = kernel[program.read_point] != NOTHING
    tensor, point = program.read_tensor[acts], moved[program.read_point[acts]]
    by_tensor = np.lexsort((point, tensor))
    share = program.may_share
    pairs = np.column_stack((moved[kernels.last[syncs.source]], moved[kernels.first[syncs.target]]))
    return replace(
        program,
        operators=tuple([program.operators[old] for old in order.tolist()]),
        writer=moved[program.writer],
        read_tensor=tensor[by_tensor],
        read_point=point[by_tensor],
        may_share=MayShare(share.guest, share.host, share.offset_bytes, share.sharing, moved[share.point]),
        loops=moved[program.loops],
        streams=stream,
        syncs=pairs,
    )


def _place_names(memory: Memory, kernels: Kernels, at: Ints) -> None:
    """Gives each point that launches nothing the place of the last kernel that writes what its results are names of."""
    program, share = memory.program, memory.program.may_share
    idle = np.flatnonzero(kernels.at_point == NOTHING)
    if not len(idle):
        return
    root = roots_of(memory.liveness)
    rows = memory.liveness.shared[memory.liveness.shared >= 0]
    rows = rows[kernels.at_point[share.point[rows]] == NOTHING]
    guest, host, point = share.guest[rows], share.host[rows], share.point[rows]
    source = np.where(program.writer[guest] == point, host, guest)  # a view's source, a Concat's part
    for row in np.argsort(point, kind="stable").tolist():
        writer = int(program.writer[root[source[row]]])
        if writer > BEFORE:
            at[point[row]] = max(at[point[row]], at[writer])
