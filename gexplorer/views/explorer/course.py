"""How the cost of a graph came down: what it costs after every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.cost.graph import cost_of
from gexplorer.cost.staged import Costs
from gexplorer.views.explorer.columns import NOTHING, ints

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gexplorer.cost.graph import GraphCost
    from gexplorer.trace.records import Step

# Cost of the graph after each step by its position; None where it was not costed.
Course = tuple["GraphCost | None", ...]


def course_of(steps: Sequence[Step], last: GraphCost, known: Mapping[int, GraphCost] | None = None) -> Course:
    """The cost of the graph after every step from the last of the parse stage on.

    A graph of a pass costs what its kernels cost one by one, each node that is no view launching one. What the later
    stages find, kernels that the memory plan spares and tiles that were searched, is theirs: from the first of them on
    it is ``last``. Takes about 30 us for each node of each step that changed something: a fifth of a second for
    bert-base, one and a half for qwen2.5-7b.

    Args:
        steps: of a trace; empty parse stages give no course.
        last: the cost of the graph at the end.
        known: costs of graphs as passes leave them, on the same chip, by ``id`` of the graph, which must be alive.
    """
    costs = last.costs if last.costs.tiler is None else Costs(last.chip, last.tiling)
    found = dict(known or {})
    course: list[GraphCost | None] = []
    parsed = max((position for position, step in enumerate(steps) if step.stage == "parse"), default=len(steps))
    for position, step in enumerate(steps):
        if position < parsed:
            course.append(None)
        elif not is_before_planning(step):
            course.append(last)
        else:
            key = id(step.after)
            if key not in found:
                found[key] = cost_of(step.after, last.chip, tiling=last.tiling, costs=costs)
            course.append(found[key])
    return tuple(course)


def known_costs(steps: Sequence[Step], course: Course, like: GraphCost) -> dict[int, GraphCost]:
    """What graphs of an earlier course cost, by ``id`` of the graph, for ``course_of``.

    Args:
        steps: of the earlier trace.
        course: its course; may be empty.
        like: a cost on the chip, and with the tiling, that is asked for.
    """
    return {
        id(step.after): cost
        for step, cost in zip(steps, course, strict=False)
        if cost is not None and is_before_planning(step) and cost.chip is like.chip and cost.tiling == like.tiling
    }


def course_part(steps: Sequence[Step], course: Course, kernels: NDArray[np.float64]) -> dict[str, object]:
    """The part ``course``: what the graph costs after every step.

    Args:
        steps: every step.
        course: its cost after each.
        kernels: [steps] kernels that it launches.

    Returns:
        Columns of [steps]; NaN where it was not costed, and -1 kernels without a price there. ``comparable`` is 1
        where the same kernels have no price as after the step before: else the difference is none of the step's.
    """
    empty = np.full(len(steps), np.nan)

    def column(number: Callable[[GraphCost], float]) -> NDArray[np.float64]:
        found = by_step(course, number)
        return empty if found is None else found

    unpriced = [NOTHING if cost is None else len(cost.uncosted) for cost in course] or [NOTHING] * len(steps)
    return {
        "kernels": kernels,
        "latency_us": column(lambda cost: cost.latency_us),
        "launch_us": column(lambda cost: cost.launch_us),
        "hbm_bytes": column(lambda cost: cost.hbm_bytes),
        "l2_bytes": column(lambda cost: cost.l2_bytes),
        "unpriced": ints(unpriced),
        "comparable": np.array([_comparable(course, position) for position in range(len(steps))], np.uint8),
    }


def is_before_planning(step: Step) -> bool:
    """Whether the graph after a step is one of the parser or of a pass, which no memory plan spares anything of."""
    return step.stage in ("parse", "passes")


def is_comparable(before: GraphCost, after: GraphCost) -> bool:
    """Whether the same kernels have no price in both: else their sums are over different kernels."""
    return before is after or {row.node for row in before.uncosted} == {row.node for row in after.uncosted}


def by_step(course: Course, number: Callable[[GraphCost], float]) -> NDArray[np.float64] | None:
    """[steps] a number of the cost after each step, NaN where it was not costed; None without a course."""
    if not course:
        return None
    return np.array([np.nan if cost is None else number(cost) for cost in course], np.float64)


def _comparable(course: Course, position: int) -> bool:
    """Whether a step and the one before were costed, and the same kernels have no price."""
    if not 0 < position < len(course):
        return False
    before, after = course[position - 1], course[position]
    if before is None or after is None:
        return False
    return is_comparable(before, after)
