"""A plan: a problem solved by a planner, verified, and measured by definitions that stand beside the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time
from types import MappingProxyType

import numpy as np

from gexplorer.memory.findings import Findings
from gexplorer.memory.planners.base import Declined, Effort, Placement, Planner
from gexplorer.memory.problem import Problem
from gexplorer.memory.verify import verify_placement

# What each number means; printed wherever one is shown.
DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "pool": "bytes that the planned buffers need in all",
        "bound": "max live load: the largest sum of sizes alive at one point (or the end of the highest pinned buffer);"
        " no pool can be smaller",
        "ratio": "pool / bound",
        "proved": "the pool equals a proved bound, so no plan of these buffers is smaller",
        "fragmentation": "external: 1 - bound / pool",
        "internal": "1 - bound of the raw sizes / bound of the aligned sizes",
        "unplanned": "the pool if no buffer shared its place",
        "reuse_rate": "(unplanned - pool) / unplanned",
        "reach_theory_rate": "bound / pool",
        "occupancy": "sum of size x lifetime / (pool x program length)",
    }
)


@dataclass(frozen=True, eq=False)
class Plan:
    """One planner's answer to one problem.

    Attributes:
        problem: what was to be placed.
        planner: name of the planner.
        placement: where it put the buffers.
        seconds: CPU time that it took.
        findings: what the verifier has against it; empty for a sound plan.
    """

    problem: Problem
    planner: str
    placement: Placement
    seconds: float
    findings: Findings

    def __repr__(self) -> str:
        verdict = "proved optimal" if self.proved_optimal else "sound" if self.is_sound else "UNSOUND"
        return f"Plan({self.planner!r}, {len(self.problem)} buffers, pool_bytes={self.pool_bytes}, {verdict})"

    @property
    def pool_bytes(self) -> int:
        """The pool."""
        return self.placement.pool_bytes

    @property
    def lower_bound_bytes(self) -> int:
        """The best bound known: the max live load, or what the planner proved beyond it."""
        return max(self.problem.bound_bytes, self.placement.proved_bound_bytes)

    @property
    def ratio(self) -> float:
        """Pool / max live load; 1 where there is nothing to place."""
        return self.pool_bytes / self.problem.bound_bytes if self.problem.bound_bytes else 1.0

    @property
    def is_sound(self) -> bool:
        """True when the verifier found nothing."""
        return not self.findings

    @property
    def proved_optimal(self) -> bool:
        """True when no plan of the problem's buffers can be smaller."""
        return self.is_sound and self.pool_bytes == self.lower_bound_bytes

    @property
    def fragmentation(self) -> float:
        """External fragmentation, 1 - bound / pool; negative for a plan that is too small to be sound."""
        return 1 - self.problem.bound_bytes / self.pool_bytes if self.pool_bytes else 0.0

    @property
    def reuse_rate(self) -> float:
        """(unplanned - pool) / unplanned."""
        unplanned = self.problem.unplanned_bytes
        return (unplanned - self.pool_bytes) / unplanned if unplanned else 0.0

    @property
    def occupancy(self) -> float:
        """Share of the pool's bytes x points that hold something alive; 0 where there is nothing to place."""
        problem = self.problem
        if not len(problem) or not self.pool_bytes:
            return 0.0
        lives = (problem.upper - problem.lower).astype(np.float64)
        length = int(problem.upper.max()) - int(problem.lower.min())
        return float((lives * problem.size_bytes).sum()) / (self.pool_bytes * length)


def solve(problem: Problem, planner: type[Planner], effort: Effort) -> Plan:
    """Lets a planner place the buffers and verifies what it did.

    Raises:
        Declined: the planner cannot do this problem.
    """
    if problem.is_constrained and not planner.handles_constraints:
        raise Declined(f"{planner.name} cannot pin offsets or keep pairs apart")
    start = process_time()
    placed = planner().place(problem, effort)
    seconds = process_time() - start
    return Plan(problem, planner.name, placed, seconds, verify_placement(problem, placed.offsets, placed.pool_bytes))
