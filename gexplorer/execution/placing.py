"""Where every buffer of one run lies: the saved plan, or one made for the sizes that the inputs give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.program import Place, Program
from gexplorer.execution.sizes import bound
from gexplorer.memory.policy import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placing:
    """The memory of one run.

    Attributes:
        sizes: what each symbol stands for.
        shapes: shape of every tensor that has a place in a buffer.
        offset_bytes: [b] where each buffer lies in the pool; -1 for those that are not in it.
        size_bytes: [b] size of each buffer.
        pool_bytes: the pool.
    """

    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    offset_bytes: Ints
    size_bytes: Ints
    pool_bytes: int


def place(program: Program, sizes: Mapping[str, int]) -> Placing:
    """The memory of a run in which symbols have some sizes.

    A fixed plan is taken as it was saved. Else the same buffers with the same lives are placed anew by the program's
    planner, and what it did is verified.

    Raises:
        ModelError: a dimension would be negative, or the verifier refuses the plan.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in program.tensors.values():
        if tensor.place is Place.OUTSIDE:
            continue
        shape = bound(tensor.shape, sizes)
        if shape is None or (shape and min(shape) < 0):
            raise ModelError(f"{tensor.name}: no tensor has the shape {list(shape or ())} that these inputs give it")
        shapes[tensor.name] = shape
    buffers = program.buffers
    if program.is_fixed:
        return Placing(sizes, shapes, buffers.offset_bytes, buffers.size_bytes, program.pool_bytes)
    size_bytes = _sizes(program, shapes)
    offsets, pool_bytes = _planned(program, size_bytes)
    return Placing(sizes, shapes, offsets, size_bytes, pool_bytes)


def _sizes(program: Program, shapes: Mapping[str, tuple[int, ...]]) -> Ints:
    """[b] a buffer reaches as far as the tensors in it, padded and aligned."""
    ends = np.zeros(len(program.buffers), np.int64)
    for name, shape in shapes.items():
        tensor = program.tensors[name]
        if tensor.buffer >= 0:
            ends[tensor.buffer] = max(ends[tensor.buffer], tensor.offset_bytes + tensor.nbytes(shape))
    policy = Policy(alignment_bytes=program.alignment_bytes, tensor_padding_bytes=program.padding_bytes)
    return policy.aligned_bytes(ends)


def _planned(program: Program, size_bytes: Ints) -> tuple[Ints, int]:
    from gexplorer.memory.plan import solve
    from gexplorer.memory.planners.base import Effort
    from gexplorer.memory.planners.registry import find_planner
    from gexplorer.memory.problem import make_problem

    buffers = program.buffers
    rows = buffers.in_pool
    problem = make_problem(
        buffers.first[rows],
        buffers.last[rows] + program.gap_points,
        size_bytes[rows],
        [buffers.names[row] for row in rows.tolist()],
        alignment_bytes=program.alignment_bytes,
    )
    plan = solve(problem, find_planner(program.planner), Effort(0))
    if not plan.is_sound:
        raise ModelError(f"the plan of planner {plan.planner} for these shapes is not sound")
    offsets = np.full(len(buffers), -1, np.int64)
    offsets[rows] = plan.placement.offsets
    return offsets, plan.pool_bytes
