"""How the cost of a graph came down: what it costs after every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.cost.graph import cost_of
from gexplorer.cost.staged import Costs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gexplorer.cost.graph import GraphCost
    from gexplorer.trace.records import Step

# Cost of the graph after each step by its position; None where it was not costed.
Course = tuple["GraphCost | None", ...]


def course_of(steps: Sequence[Step], last: GraphCost, known: Mapping[int, GraphCost] | None = None) -> Course:
    """The cost of the graph after every step from the last of the parse stage on.

    Takes about 50 us for each node of each step that changed something: a third of a second for bert-base, three
    seconds for qwen2.5-7b.

    Args:
        steps: of a trace; empty parse stages give no course.
        last: the cost of the graph at the end.
        known: costs on the same chip by ``id`` of their graph, which must be alive.
    """
    costs = Costs(last.chip, last.tiling)
    found = dict(known or {})
    if steps:
        found[id(steps[-1].after)] = last
    course: list[GraphCost | None] = []
    parsed = max((position for position, step in enumerate(steps) if step.stage == "parse"), default=len(steps))
    for position, step in enumerate(steps):
        key = id(step.after)
        if position >= parsed and key not in found:
            found[key] = cost_of(step.after, last.chip, tiling=last.tiling, costs=costs)
        course.append(found[key] if position >= parsed else None)
    return tuple(course)


def by_step(course: Course, number: Callable[[GraphCost], float]) -> NDArray[np.float64] | None:
    """[steps] a number of the cost after each step, NaN where it was not costed; None without a course."""
    if not course:
        return None
    return np.array([np.nan if cost is None else number(cost) for cost in course], np.float64)


def saved_bytes(course: Course, position: int) -> float | None:
    """HBM traffic that a step saved; negative where it made more.

    Returns:
        The bytes; None where a graph was not costed, or where other kernels have no price after the step than before.
    """
    if not 0 < position < len(course):
        return None
    before, after = course[position - 1], course[position]
    if before is None or after is None:
        return None
    if {row.node for row in before.uncosted} != {row.node for row in after.uncosted}:
        return None
    return before.hbm_bytes - after.hbm_bytes
