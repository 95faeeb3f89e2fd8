"""Several planners, until one meets the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.planners.best_fit import arena_offsets
from gexplorer.memory.planners.constraints import check_pins
from gexplorer.memory.planners.fit import NO_LIMIT, Fit
from gexplorer.memory.planners.improve import Start, improve
from gexplorer.memory.planners.orders import Order, order_of
from gexplorer.memory.planners.peel import Rest, peel
from gexplorer.memory.planners.placer import Placer
from gexplorer.memory.planners.skyline import skyline_offsets
from gexplorer.memory.problem import FREE, Problem
from gexplorer.memory.search.ladder import minimise
from gexplorer.memory.search.tables import TooLarge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Greedy orders by how often and how far they win on public instances; none of them is idle everywhere.
GREEDY = (
    (Order.SIZE, Fit.BEST),
    (Order.DURATION, Fit.BEST),
    (Order.CONFLICTS, Fit.FIRST),
    (Order.WEIGHT, Fit.FIRST),
    (Order.AREA, Fit.FIRST),
    (Order.BREADTH, Fit.FIRST),
    (Order.PEAK, Fit.FIRST),
    (Order.PEAK, Fit.BEST),
    (Order.START, Fit.FIRST),
    (Order.START, Fit.BEST),
    (Order.SIZE, Fit.FIRST),
)
# Nanoseconds that a planner takes for a buffer and for each doubling of their number, measured.
STEPS_ARENA, STEPS_SKYLINE = 36, 12
# What all planners may take together; once a pool is within a thousandth of the bound; and what the first greedy one
# may take even so, since the others leave gaps.
BUDGET_STEPS = 1_000_000_000
NEAR_BUDGET_STEPS = 100_000_000
FIRST_GREEDY_STEPS = 2_500_000_000
# Above this an order is given up as soon as it cannot beat the best pool so far; below, its pool is worth knowing,
# since improving starts from the best orders.
LONG_STEPS = 20_000_000
# Nodes of a search that take as long as one of improving.
IMPROVING_COSTS = 3


class Portfolio(Planner):
    """Several planners, cheap and promising ones first, until one meets the bound; the smallest pool counts.

    The number of pairs alive together says what a greedy order costs: where that is more than what an arena and a
    skyline take, those come first. Which planners run is decided by counted work, not by the clock. Where effort is
    left, a search goes below the best pool, or, where the problem is too large for one, the best orders are improved.
    Of equal pools the first one found is taken.
    """

    name = "portfolio"
    order = 70
    handles_constraints = True
    cost = "n log n, then greedy orders within a fixed amount of work"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; Declined when two are pinned onto each other."""
        check_pins(problem)
        rest = peel(problem)
        if not len(rest.members):
            return placement(problem, rest.offsets(rest.members), note="nothing to share")
        run = _Run(rest)
        run.all()
        nodes = run.go_below(effort.search_nodes) if effort.search_nodes else 0
        assert run.best is not None
        return placement(
            problem,
            rest.offsets(run.best),
            proved_bound_bytes=run.bound + rest.floor_bytes,
            search_nodes=nodes,
            note=run.note(),
        )


@dataclass(frozen=True)
class _Attempt:
    name: str
    steps: int
    offsets: Callable[[], Ints | None]
    is_greedy: bool = False


class _Run:
    """One run through the planners."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        self.best: Ints | None = None
        self.pool = 0
        self.winner = ""
        self.tried = 0
        self.spent = 0
        self.starts: list[Start] = []
        try:
            self.placer: Placer | None = Placer(rest)
        except Declined:
            self.placer = None
        self.bound = rest.bound_bytes

    @property
    def is_near(self) -> bool:
        """True when the pool is within a thousandth of the bound."""
        return self.pool - self.bound <= self.bound // 1000

    def all(self) -> None:
        """Runs the planners that the budget has room for, until the bound is met."""
        greedy_limit = FIRST_GREEDY_STEPS
        for attempt in self.attempts():
            if self.best is not None:
                left = (NEAR_BUDGET_STEPS if self.is_near else BUDGET_STEPS) - self.spent
                if attempt.steps > (left if self.is_near or not attempt.is_greedy else max(left, greedy_limit)):
                    continue
            if attempt.is_greedy:
                greedy_limit = 0
            self.tried += 1
            offsets = attempt.offsets()
            if not attempt.is_greedy:
                self.spent += attempt.steps
            if offsets is not None:
                self.take(attempt.name, offsets)
            if self.pool == self.bound:
                return

    def attempts(self) -> Iterator[_Attempt]:
        """All planners that can do the problem: greedy orders first where they cost no more than the others."""
        n = len(self.rest.members)
        linear = [_Attempt("skyline", STEPS_SKYLINE * n * n.bit_length(), self.skyline)]
        if not self.rest.problem.is_constrained:
            linear.append(_Attempt("best_fit", STEPS_ARENA * n * n.bit_length(), self.arena))
        greedy: list[_Attempt] = []
        if self.placer is not None:
            greedy = [
                _Attempt(
                    f"greedy by {by}, {fit.name.lower()} fit", self.placer.steps, partial(self.greedy, by, fit), True
                )
                for by, fit in GREEDY
            ]
        first = bool(greedy) and greedy[0].steps <= sum(attempt.steps for attempt in linear)
        yield from (*greedy, *linear) if first else (*linear, *greedy)

    def greedy(self, by: Order, fit: Fit) -> Ints | None:
        """Offsets by a greedy order, None when it was given up."""
        assert self.placer is not None
        order = order_of(by, self.rest)
        order = order[self.placer.pins[order] == FREE]
        hopeless = self.pool - 1 if self.best is not None and self.placer.steps > LONG_STEPS else NO_LIMIT
        offsets, placed = self.placer.offsets_below(order, fit, hopeless)
        self.spent += int(self.placer.steps * (placed / max(1, len(order))) ** 2)
        if placed < len(order):
            return None
        self.starts.append(Start(order, int((offsets + self.rest.size_bytes).max())))
        return offsets

    def skyline(self) -> Ints:
        """Offsets by a skyline."""
        return skyline_offsets(self.rest, Order.DURATION)

    def arena(self) -> Ints:
        """Offsets by an arena."""
        return arena_offsets(self.rest)

    def take(self, name: str, offsets: Ints) -> None:
        """Keeps a plan if its pool is the smallest so far."""
        pool = int((offsets + self.rest.size_bytes).max())
        if self.best is None or pool < self.pool:
            self.best, self.pool, self.winner = offsets, pool, name

    def go_below(self, nodes: int) -> int:
        """Searches where the problem is small enough, else improves the best orders; returns the nodes used."""
        if self.pool == self.bound:
            return 0
        problem, members = self.rest.problem, self.rest.members
        if problem.is_constrained or find_spec("numba") is None:
            return self.improve(nodes // IMPROVING_COSTS)
        lower, upper, floor = problem.lower[members], problem.upper[members], self.rest.floor_bytes
        try:
            found = minimise(lower, upper, self.rest.size_bytes, self.pool, nodes, floor_bytes=floor)
        except TooLarge:
            return self.improve(nodes // IMPROVING_COSTS)
        self.bound = max(self.bound, found.bound_bytes)
        if found.offsets is not None:
            self.best, self.pool, self.winner = found.offsets, found.pool_bytes, f"{self.winner}, then a search"
        return found.nodes

    def improve(self, nodes: int) -> int:
        """Improves the best orders found; returns the nodes used."""
        if self.placer is None or not self.starts or self.pool == self.bound:
            return 0
        if self.is_near and self.placer.steps > LONG_STEPS:
            return 0
        offsets, used = improve(self.placer, self.starts, self.pool, self.bound, nodes)
        if offsets is not None:
            self.best, self.pool = offsets, int((offsets + self.rest.size_bytes).max())
            self.winner = "a greedy order, improved"
        return used

    def note(self) -> str:
        """Who won, and how many ran."""
        return f"{self.winner}; {self.tried} planner{'s' if self.tried > 1 else ''} tried"
