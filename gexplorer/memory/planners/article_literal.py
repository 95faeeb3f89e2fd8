"""The articles' PlanMemory, word for word: it is wrong."""

from __future__ import annotations

from gexplorer.memory.planners.article import reuse_buffers
from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner
from gexplorer.memory.problem import Problem


class ArticleLiteral(Planner):
    """Reuses the first dead buffer without asking whether the tensor fits: plans overlap, pools look too small.

    Exactly as printed: sorted by ``def_op``, ``buf.last_use_op < t.def_op``, one ``use_op`` for each tensor, no look at
    sizes, and a pool that is the sum of what was allocated. A tensor that is larger than the buffer it takes runs into
    the next buffer, or over the end of the pool. Ties in the sort: the one given first.
    """

    name = "article_literal"
    order = 10
    is_safe = False
    cost = "n log n (n * n as printed)"

    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer, many of them wrongly; cannot pin or keep apart."""
        if problem.is_constrained:
            raise Declined("the articles' planner knows neither pinned offsets nor pairs to keep apart")
        offsets, pool = reuse_buffers(problem, checks_size=False)
        offsets.flags.writeable = False
        return Placement(offsets, pool, note="reuses buffers without asking for their size, as printed")
