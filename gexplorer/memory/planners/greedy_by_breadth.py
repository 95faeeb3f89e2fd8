"""The busiest moment first."""

from __future__ import annotations

from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.greedy import Greedy
from gexplorer.memory.planners.orders import Order


class GreedyByBreadth(Greedy):
    """What is alive at the moment of the largest live load first, the largest of it first, then the next moment.

    Each takes the lowest gap that holds it. Ties: the larger, then the one that begins first, then the one given
    first; moments of equal load are one.

    Source: Pisarchyk and Lee, Efficient memory management for deep neural net inference, arXiv 2001.03288.
    """

    name = "greedy_by_breadth"
    order = 31
    by = Order.BREADTH
    fit = Fit.FIRST
