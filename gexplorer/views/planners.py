"""Planners side by side on the same buffers, and what a plan becomes when something is wished otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from gexplorer.memory.findings import Finding, Findings
from gexplorer.memory.plan import Plan
from gexplorer.memory.planners.registry import all_planners, find_planner
from gexplorer.memory.problem import Problem

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory


@dataclass(frozen=True, slots=True)
class PlannerRow:
    """What one planner made of the buffers.

    Attributes:
        name: our name.
        ge_name: what the real GE calls it, None where it has no such thing.
        summary: what it does.
        cost: how its time grows.
        declined: why it did nothing, "" where it did.
        pool_bytes: the pool that it believes it needs.
        ratio: pool / max live load.
        reuse_rate: (unplanned - pool) / unplanned.
        fragmentation: 1 - bound / pool; negative for a pool that is too small to be sound.
        proved_optimal: whether no plan can be smaller.
        verified: whether the verifier found nothing.
        findings: what it found, by code.
        example: a finding as a sentence, an overlap before any other; "" where there is none.
        seconds: CPU time.
        note: what the planner says about how it came about.
    """

    name: str
    ge_name: str | None
    summary: str
    cost: str
    declined: str = ""
    pool_bytes: int = 0
    ratio: float = 0.0
    reuse_rate: float = 0.0
    fragmentation: float = 0.0
    proved_optimal: bool = False
    verified: bool = False
    findings: tuple[tuple[str, int], ...] = ()
    example: str = ""
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A number before and after something was wished otherwise."""

    label: str
    before: int
    after: int


def repeatable_planners() -> list[str]:
    """Names of the planners that give the same plan each time: omnimalloc's limit is a time, so it is left out."""
    return [planner.name for planner in all_planners() if planner.name != "omnimalloc"]


def planner_rows(plans: Iterable[Plan | tuple[str, str]], *, whole: bool = True) -> list[PlannerRow]:
    """One row a planner, in the order given.

    Args:
        plans: a pair is name and reason of one that declined.
        whole: whether the plans place all tensors; where sizes are not known, nothing is proved.
    """
    rows = [_declined(*plan) if isinstance(plan, tuple) else _row(plan) for plan in plans]
    return rows if whole else [replace(row, proved_optimal=False) for row in rows]


def finding_counts(findings: Sequence[Finding]) -> tuple[tuple[str, int], ...]:
    """How many defects there are of each code, those that are not listed too."""
    counts = findings.counts if isinstance(findings, Findings) else Counter(f.code for f in findings)
    return tuple(counts.items())


def comparison(problem: Problem, rows: Sequence[PlannerRow], moved: Sequence[Change] = ()) -> dict[str, object]:
    """What ``gexplorer planners --json`` writes: the planners, and what a wish has changed where there was one."""
    return {
        "bound_bytes": problem.bound_bytes,
        "unplanned_bytes": problem.unplanned_bytes,
        "buffers": len(problem),
        "planners": [{**asdict(row), "findings": dict(row.findings)} for row in rows],
        "what_if": {change.label: {"before": change.before, "after": change.after} for change in moved},
    }


def changes(before: Memory, after: Memory) -> tuple[Change, ...]:
    """What became of pool and peak."""
    return (
        Change("pool", before.pool_bytes, after.pool_bytes),
        Change("peak", before.bounds.bound_bytes, after.bounds.bound_bytes),
        Change("unplanned", before.plan.problem.unplanned_bytes, after.plan.problem.unplanned_bytes),
    )


def _declined(name: str, reason: str) -> PlannerRow:
    planner = find_planner(name)
    return PlannerRow(name, planner.ge_name, planner.summary(), planner.cost, declined=reason)


def _row(plan: Plan) -> PlannerRow:
    planner = find_planner(plan.planner)
    return PlannerRow(
        planner.name,
        planner.ge_name,
        planner.summary(),
        planner.cost,
        pool_bytes=plan.pool_bytes,
        ratio=plan.ratio,
        reuse_rate=plan.reuse_rate,
        fragmentation=plan.fragmentation,
        proved_optimal=plan.proved_optimal,
        verified=plan.is_sound,
        findings=finding_counts(plan.findings),
        example=min(plan.findings, key=lambda f: f.code != "overlap").sentence if plan.findings else "",
        seconds=plan.seconds,
        note=plan.placement.note,
    )
