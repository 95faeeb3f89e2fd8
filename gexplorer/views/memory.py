"""A memory plan as plain data: the ``memory`` object of the summary, the peak, and what could not be sized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.memory.findings import Finding
from gexplorer.memory.plan import Plan
from gexplorer.memory.program import Kind, Sharing
from gexplorer.views.planners import finding_counts

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory

# Tensors named for one reason why they have no size, and reasons in a summary.
EXAMPLES = 5
MOST_REASONS = 20


@dataclass(frozen=True, slots=True)
class PlanNumbers:
    """A plan in numbers; what each means: ``gexplorer.memory.plan.DEFINITIONS``.

    Attributes:
        planner: who made it.
        mode: what was asked for.
        pool_bytes: the pool.
        lower_bound_bytes: the best bound known: the max live load, or what a planner proved beyond it.
        unplanned_bytes: the pool if nothing shared its place.
        weight_bytes: weights and constants, outside of the pool.
        persistent_bytes: inputs, outputs and state, outside of the pool.
        fragmentation: external.
        proved_optimal: whether no plan is smaller; never where tensors without a size are left out.
        verified: whether the verifier found nothing.
        ratio: pool / max live load.
        internal_fragmentation: what padding and alignment waste of the bound; None where the raw sizes are not known.
        reuse_rate: (unplanned - pool) / unplanned.
        reach_theory_rate: max live load / pool.
        occupancy: share of the pool's bytes x points that hold something alive.
        buffers: buffers in the pool.
        alignment_bytes: offsets and sizes are multiples of it.
        alignment_cost_bytes: what padding and alignment add to the bound; None where the raw sizes are not known.
        safety_price_bytes: what the mode ``safe`` costs over ``balanced``; None in other modes.
    """

    planner: str
    mode: str
    pool_bytes: int
    lower_bound_bytes: int
    unplanned_bytes: int
    weight_bytes: int
    persistent_bytes: int
    fragmentation: float
    proved_optimal: bool
    verified: bool
    ratio: float
    internal_fragmentation: float | None
    reuse_rate: float
    reach_theory_rate: float
    occupancy: float
    buffers: int
    alignment_bytes: int
    alignment_cost_bytes: int | None
    safety_price_bytes: int | None


@dataclass(frozen=True, slots=True)
class PeakRow:
    """A buffer of the pool that is alive where the most is.

    Attributes:
        tensor: the tensor that its buffer is named after.
        size_bytes: what its buffer takes.
        producer: the operator that made it.
        first: the point from which its buffer is alive.
        last: the last point at which it is.
        others: how many more tensors lie in the same buffer.
    """

    tensor: str
    size_bytes: int
    producer: str
    first: int
    last: int
    others: int


@dataclass(frozen=True, slots=True)
class SharingRow:
    """Tensors that need no bytes of their own, by the reason.

    Attributes:
        sharing: view, in_place, concat or split.
        tensors: how many.
        size_bytes: what they would need.
    """

    sharing: str
    tensors: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class UnsizedRow:
    """Tensors that no plan can place.

    Attributes:
        reason: why they have no size, as a sentence; where there is a cure it says so.
        tensors: how many.
        examples: the first few.
    """

    reason: str
    tensors: int
    examples: tuple[str, ...]


def memory_numbers(memory: Memory) -> PlanNumbers:
    """The numbers of a model's memory."""
    cost, bound = memory.bounds.alignment_cost_bytes, memory.bounds.bound_bytes
    return _numbers(
        memory.plan,
        memory.wishes.mode,
        sound=memory.is_sound,
        whole=not memory.program.unsized,
        weight_bytes=memory.weight_bytes,
        persistent_bytes=memory.persistent_bytes,
        internal_fragmentation=cost / bound if bound else 0.0,
        alignment_cost_bytes=cost,
        safety_price_bytes=memory.safety_price_bytes if memory.wishes.mode == "safe" else None,
    )


def plan_numbers(plan: Plan, mode: str) -> PlanNumbers:
    """The numbers of a plan that belongs to no model."""
    return _numbers(plan, mode, sound=plan.is_sound)


def memory_summary(memory: Memory) -> dict[str, object]:
    """The ``memory`` object of a model's summary."""
    bounds = memory.bounds
    return {
        **asdict(memory_numbers(memory)),
        "tensors": len(memory.program.tensors),
        "peak": {"operator": bounds.operator, "point": bounds.peak, "buffers": len(bounds.alive)},
        "shared": [asdict(row) for row in sharing_rows(memory)],
        "unsized": [asdict(row) for row in unsized_rows(memory)[:MOST_REASONS]],
        "unsized_tensors": len(memory.program.unsized),
        "findings": finding_rows((*memory.plan.findings, *memory.findings)),
        "defects": dict(finding_counts(memory.plan.findings)) | dict(finding_counts(memory.findings)),
        "seconds": dict(memory.seconds),
    }


def plan_summary(plan: Plan, mode: str) -> dict[str, object]:
    """The ``memory`` object of a plan that belongs to no model, with its time and its offsets in the buffers' order."""
    return {
        **asdict(plan_numbers(plan, mode)),
        "findings": finding_rows(plan.findings),
        "defects": dict(finding_counts(plan.findings)),
        "seconds": plan.seconds,
        "offsets": plan.placement.offsets.tolist(),
    }


def memory_detail(memory: Memory) -> dict[str, object]:
    """What ``gexplorer memory --json`` writes: the plan's numbers, the peak, and every tensor."""
    from gexplorer.views.memory_tensors import tensor_rows

    return {
        "memory": memory_summary(memory),
        "peak": [asdict(row) for row in peak_rows(memory)],
        "tensors": [asdict(row) for row in tensor_rows(memory)],
    }


def peak_rows(memory: Memory) -> list[PeakRow]:
    """What is alive at the peak, the largest first; their sizes add up to the bound."""
    first, last = memory.liveness.first.tolist(), memory.liveness.last.tolist()
    return [
        PeakRow(one.tensor, one.size_bytes, one.operator, first[one.buffer], last[one.buffer], len(one.others))
        for one in memory.bounds.alive
    ]


def sharing_rows(memory: Memory) -> list[SharingRow]:
    """Tensors in the bytes of others, by the reason; the reasons in the order of ``Sharing``."""
    shared = memory.liveness.shared
    guests = np.flatnonzero(shared >= 0)
    reasons = memory.program.may_share.sharing[shared[guests]]
    sizes = memory.program.size_bytes[guests]
    return [
        SharingRow(reason.name.lower(), int((reasons == reason).sum()), int(sizes[reasons == reason].sum()))
        for reason in Sharing
        if (reasons == reason).any()
    ]


def kind_rows(memory: Memory) -> list[tuple[str, int, int]]:
    """Kind, number of buffers and bytes of each kind that there is, the most bytes first."""
    kind, size = memory.liveness.kind, memory.liveness.size_bytes
    rows = [(k.name.lower(), int((kind == k).sum()), int(size[kind == k].sum())) for k in Kind if (kind == k).any()]
    return sorted(rows, key=lambda row: -row[2])


def unsized_rows(memory: Memory) -> list[UnsizedRow]:
    """Tensors that no plan can place, by the reason, the most frequent first."""
    by_reason: dict[str, list[str]] = {}
    for tensor, reason in memory.program.unsized.items():
        by_reason.setdefault(reason, []).append(tensor)
    rows = [UnsizedRow(reason, len(names), tuple(names[:EXAMPLES])) for reason, names in by_reason.items()]
    return sorted(rows, key=lambda row: -row.tensors)


def finding_rows(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """What the verifier found, in sentences."""
    return [{"code": found.code, "reason": found.sentence, "hint": found.hint} for found in findings]


def _numbers(
    plan: Plan,
    mode: str,
    *,
    sound: bool,
    whole: bool = True,
    weight_bytes: int = 0,
    persistent_bytes: int = 0,
    internal_fragmentation: float | None = None,
    alignment_cost_bytes: int | None = None,
    safety_price_bytes: int | None = None,
) -> PlanNumbers:
    return PlanNumbers(
        planner=plan.planner,
        mode=mode,
        pool_bytes=plan.pool_bytes,
        lower_bound_bytes=plan.lower_bound_bytes,
        unplanned_bytes=plan.problem.unplanned_bytes,
        weight_bytes=weight_bytes,
        persistent_bytes=persistent_bytes,
        fragmentation=plan.fragmentation,
        proved_optimal=sound and whole and plan.proved_optimal,
        verified=sound,
        ratio=plan.ratio,
        internal_fragmentation=internal_fragmentation,
        reuse_rate=plan.reuse_rate,
        reach_theory_rate=1 / plan.ratio if plan.ratio else 1.0,
        occupancy=plan.occupancy,
        buffers=len(plan.problem),
        alignment_bytes=plan.problem.alignment_bytes,
        alignment_cost_bytes=alignment_cost_bytes,
        safety_price_bytes=safety_price_bytes,
    )
