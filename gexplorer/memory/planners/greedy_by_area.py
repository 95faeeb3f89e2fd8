"""The large and long-lived first."""

from __future__ import annotations

from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.greedy import Greedy
from gexplorer.memory.planners.orders import Order


class GreedyByArea(Greedy):
    """The largest product of size and lifetime first, each into the lowest gap.

    Ties: the larger, then the one that begins first, then the one given first.
    """

    name = "greedy_by_area"
    order = 33
    by = Order.AREA
    fit = Fit.FIRST
