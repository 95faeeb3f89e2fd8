"""The large and crowded first."""

from __future__ import annotations

from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.greedy import Greedy
from gexplorer.memory.planners.orders import Order


class GreedyByConflicts(Greedy):
    """The largest product of size and number of buffers alive together first, each into the lowest gap.

    Ties: the larger, then the one that begins first, then the one given first. TVM's USMP has an order like this.
    """

    name = "greedy_by_conflicts"
    order = 32
    by = Order.CONFLICTS
    fit = Fit.FIRST
