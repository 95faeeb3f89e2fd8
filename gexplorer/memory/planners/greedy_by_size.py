"""The large first."""

from __future__ import annotations

from gexplorer.memory.planners.fit import Fit
from gexplorer.memory.planners.greedy import Greedy
from gexplorer.memory.planners.orders import Order


class GreedyBySize(Greedy):
    """The largest first, each into the smallest gap that holds it, as TFLite and XLA do.

    Ties: the one that begins first, then the one given first. The ties matter: on a dump of Pangu 2.6B the pool is
    1.008 times the bound so, and 1.16 times with the shortest first.

    Source: Pisarchyk and Lee, Efficient memory management for deep neural net inference, arXiv 2001.03288.
    """

    name = "greedy_by_size"
    order = 30
    by = Order.SIZE
    fit = Fit.BEST
