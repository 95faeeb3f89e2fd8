"""No reuse at all."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.problem import Problem


class NoReuse(Planner):
    """One buffer behind the other, in the order given; nothing shares a byte with anything."""

    name = "none"
    order = 0
    cost = "n"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; cannot pin."""
        if problem.pinned is not None:
            raise Declined("without reuse every buffer lies behind the one before; none can be pinned")
        ends = np.cumsum(problem.size_bytes)
        return placement(problem, ends - problem.size_bytes)
