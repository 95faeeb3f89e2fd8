"""The articles' PlanMemory with the check that it lacks."""

from __future__ import annotations

from gexplorer.memory.planners.article import reuse_buffers
from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner, placement
from gexplorer.memory.problem import Problem


class ArticleSized(Planner):
    """Reuses the first dead buffer that is as large as the tensor: the articles' loop made sound.

    Otherwise as ``article_literal``. A small tensor keeps a large buffer to itself, so pools are several times the
    bound. Ties in the sort: the one given first.
    """

    name = "article_sized"
    order = 11
    cost = "n log n (n * n as printed)"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer; cannot pin or keep apart."""
        if problem.is_constrained:
            raise Declined("the articles' planner knows neither pinned offsets nor pairs to keep apart")
        return placement(problem, reuse_buffers(problem, checks_size=True)[0])
