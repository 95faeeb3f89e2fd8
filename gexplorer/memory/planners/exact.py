"""The smallest pool, by search; with a proof where the search comes to its end."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.planners.peel import peel
from gexplorer.memory.planners.portfolio import Portfolio
from gexplorer.memory.problem import Problem
from gexplorer.memory.search.ladder import minimise
from gexplorer.memory.search.tables import TooLarge


class Exact(Planner):
    """Branch and bound at the bound first, then upward; the portfolio's plan where it finds none better.

    A plan at the max live load is a proof by itself; a search that comes to its end without a plan proves that there
    is none, which raises the bound. Problems too large for the search are left to the portfolio, which then gets all
    the effort. Ties are broken by fixed orders, see ``search.restarts``.
    """

    name = "exact"
    order = 80
    cost = "exponential, within a number of nodes"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer.

        Raises:
            Declined: offsets are pinned or pairs kept apart, or numba is not installed.
        """
        if problem.is_constrained:
            raise Declined("the search can neither pin buffers nor keep pairs apart")
        best = Portfolio().place(problem, Effort())
        if best.pool_bytes <= problem.bound_bytes or not effort.search_nodes:
            return best
        if find_spec("numba") is None:
            raise Declined("the search needs numba, which is not installed")
        rest = peel(problem)
        lower, upper = problem.lower[rest.members], problem.upper[rest.members]
        try:
            found = minimise(
                lower,
                upper,
                rest.size_bytes,
                best.pool_bytes - rest.floor_bytes,
                effort.search_nodes,
                floor_bytes=rest.floor_bytes,
            )
        except TooLarge as why:
            best = Portfolio().place(problem, effort)
            return replace(best, note=f"{best.note}; no search: {why}")
        proved = found.bound_bytes + rest.floor_bytes
        if found.offsets is None:
            note = f"{best.note}; the search found none better in {found.nodes} nodes"
            return replace(best, proved_bound_bytes=proved, search_nodes=found.nodes, note=note)
        return placement(
            problem,
            rest.offsets(found.offsets),
            proved_bound_bytes=proved,
            search_nodes=found.nodes,
            note=f"search, {'to its end' if found.is_proved else 'until its nodes were spent'}",
        )
