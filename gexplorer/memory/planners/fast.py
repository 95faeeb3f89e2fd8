"""A good plan in time that hardly grows faster than the problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.conflicts import MOST_PAIRS
from gexplorer.memory.planners.base import Effort, Placement, Planner, placement
from gexplorer.memory.planners.best_fit import arena_offsets
from gexplorer.memory.planners.constraints import check_pins
from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.orders import Order, order_of
from gexplorer.memory.planners.peel import Rest, peel
from gexplorer.memory.planners.placer import Placer
from gexplorer.memory.planners.skyline import skyline_offsets
from gexplorer.memory.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Up to so many pairs alive together for each buffer, and in all (their lists must fit), a greedy order costs about what
# an arena does.
FEW_PAIRS = 64


class Fast(Planner):
    """One greedy order where few buffers live together, else the better of an arena and a skyline.

    Graphs of short lives suit the greedy order (size x conflicts, lowest gap), training graphs the skyline. Of two
    plans with equal pools the arena's is taken.
    """

    name = "fast"
    order = 65
    handles_constraints = True
    cost = "n log n"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; Declined when two are pinned onto each other."""
        check_pins(problem)
        rest = peel(problem)
        best: Placement | None = None
        for name, offsets in _plans(rest):
            found = placement(problem, rest.offsets(offsets), note=name)
            if best is None or found.pool_bytes < best.pool_bytes:
                best = found
            if best.pool_bytes == rest.floor_bytes + rest.bound_bytes:
                break
        assert best is not None
        return best


def _plans(rest: Rest) -> Iterator[tuple[str, Ints]]:
    if rest.sections.pairs <= min(FEW_PAIRS * len(rest.members), MOST_PAIRS):
        yield "greedy_by_conflicts", Placer(rest).offsets(order_of(Order.CONFLICTS, rest), Fit.FIRST)
        return
    if not rest.problem.is_constrained:
        yield "best_fit", arena_offsets(rest)
    yield "skyline", skyline_offsets(rest, Order.DURATION)
