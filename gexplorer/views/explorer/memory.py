"""The part ``memory``: who lies where in the pool from when to when, and how full it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.program import Kind
from gexplorer.memory.verify import verify_placement
from gexplorer.views.explorer.columns import Texts, bytes_column, ints, ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.stage import Memory
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

# Pairs that a picture of an unsound plan shows.
MOST_CONFLICTS = 1000


def memory_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """The pool's plan as columns over its buffers; None where no memory was planned.

    Positions count the operators in execution order; an If, Loop or Scan takes one where it begins, those of its
    bodies, and one where it ends. ``last`` is the last position at which a buffer is held: in mode ``safe`` that is one
    after its last reader. ``members`` are all tensors that lie in a buffer.
    """
    memory = subject.memory
    if memory is None:
        return None
    texts = Texts()
    problem, program, liveness = memory.plan.problem, memory.program, memory.liveness
    points = len(program)
    last = np.minimum(problem.upper, points) - 1
    load = _load_bytes(problem.lower, last, problem.size_bytes, points)
    owners = [program.tensors[int(one)] for one in liveness.owner[memory.pool_buffers].tolist()]
    members = [liveness.tensors_in(buffer).tolist() for buffer in memory.pool_buffers.tolist()]
    member_at, member = ragged([[numbering.value(program.tensors[int(one)]) for one in row] for row in members])
    conflicts = _conflicts(memory)
    return {
        "planner": memory.plan.planner,
        "pool_bytes": memory.pool_bytes,
        "bound_bytes": memory.plan.lower_bound_bytes,
        "unplanned_bytes": problem.unplanned_bytes,
        "weight_bytes": memory.weight_bytes,
        "persistent_bytes": memory.persistent_bytes,
        "proved": memory.proved_optimal,
        "unsized": len(program.unsized),
        "order": ints(numbering.last.get(name, -1) for name in program.operators),
        "load_bytes": bytes_column(load),
        "peak": int(load.argmax()) if points else -1,
        "value": ints(map(numbering.value, owners)),
        "name": texts.column(owners),
        "offset_bytes": bytes_column(memory.plan.placement.offsets),
        "size_bytes": bytes_column(problem.size_bytes),
        "first": problem.lower,
        "last": last,
        "tensors": ints(map(len, members)),
        "kind": texts.column(Kind(one).name.lower() for one in liveness.kind[memory.pool_buffers].tolist()),
        "member_at": member_at,
        "member": member,
        "conflict_a": ints(a for a, _ in conflicts),
        "conflict_b": ints(b for _, b in conflicts),
        "strings": texts.strings,
    }


def _load_bytes(
    first: NDArray[np.int64], last: NDArray[np.int64], size_bytes: NDArray[np.int64], points: int
) -> NDArray[np.int64]:
    """[points] bytes alive at each position."""
    change = np.zeros(points + 1, np.int64)
    np.add.at(change, first, size_bytes)
    np.add.at(change, last + 1, -size_bytes)
    return np.cumsum(change)[:points]


def _conflicts(memory: Memory) -> list[tuple[int, int]]:
    """Pairs of buffers that claim the same bytes at the same time; none in a sound plan."""
    if memory.plan.is_sound:
        return []
    problem, placement = memory.plan.problem, memory.plan.placement
    found = verify_placement(problem, placement.offsets, placement.pool_bytes, MOST_CONFLICTS)
    return [(finding.rows[0], finding.rows[1]) for finding in found if len(finding.rows) == 2]
