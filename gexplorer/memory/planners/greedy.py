"""The mechanism of the greedy planners: an order, and which gap to take."""

from __future__ import annotations

from typing import ClassVar

from gexplorer.memory.planners.base import Effort, Placement, Planner, placement
from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.orders import Order, order_of
from gexplorer.memory.planners.peel import peel
from gexplorer.memory.planners.placer import Placer
from gexplorer.memory.problem import Problem


class Greedy(Planner):
    """Places the buffers in an order that a subclass names, each into the gap that it names; pinned ones first.

    Attributes:
        by: what comes first.
        fit: which gap a buffer takes.
    """

    by: ClassVar[Order]
    fit: ClassVar[Fit]
    handles_constraints = True
    cost = "k log k, or n * n / 4 very short steps where that is less"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; Declined when too many are alive together or two are pinned onto each other."""
        rest = peel(problem)
        return placement(problem, rest.offsets(Placer(rest).offsets(order_of(self.by, rest), self.fit)))
