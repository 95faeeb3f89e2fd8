"""The long-lived first."""

from __future__ import annotations

from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.greedy import Greedy
from gexplorer.memory.planners.orders import Order


class GreedyByDuration(Greedy):
    """The longest-lived first, each into the smallest gap that holds it; XLA has such an order too.

    Ties: the larger, then the one that begins first, then the one given first.
    """

    name = "greedy_by_duration"
    order = 34
    by = Order.DURATION
    fit = Fit.BEST
