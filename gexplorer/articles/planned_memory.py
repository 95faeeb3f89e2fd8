"""Row 11: what static memory planning saves on Qwen2.5-7B."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.memory.plan import Plan

_UNPLANNED_GB, _PLANNED_GB, _UNPLANNED_FRAGMENTATION = 8.3, 3.6, 0.38


class PlannedMemory(Row):
    """Unplanned and planned activations at batch 32 and 2,048 tokens, with every planner beside."""

    row = 11
    title = "Memory of Qwen2.5-7B at batch 32, 2,048 tokens, without and with planning"
    article = says(
        unplanned_gb=_UNPLANNED_GB,
        unplanned_fragmentation=_UNPLANNED_FRAGMENTATION,
        planned_gb=_PLANNED_GB,
        planned_fragmentation_below=0.05,
        saved=0.57,
    )
    note = (
        "The articles do not say what fragmentation is. As 1 - max live load / pool, their first line implies a max "
        "live load that no pool of the size of their second line can hold for the same program. Nor can the first "
        "line be all activations at this batch. Weights, KV cache, inputs and outputs are not in these figures: no "
        "planner may touch them."
    )

    def compute(self) -> Mapping[str, object]:
        """Bytes by planner on one liveness."""
        memory = compile_("qwen2.5-7b:batch=32,seq=2048").memory
        rows = memory.compare(("none", "article_literal", "article_sized", "ge_blocks", "greedy_by_size", "portfolio"))
        implied = _UNPLANNED_GB * (1 - _UNPLANNED_FRAGMENTATION)
        return {
            "bound_bytes": memory.plan.problem.bound_bytes,
            "weight_bytes": memory.weight_bytes,
            "persistent_bytes": memory.persistent_bytes,
            "planners": [_row(plan) for plan in rows if isinstance(plan, Plan)],
            "saved": memory.plan.reuse_rate,
            "fragmentation": memory.plan.fragmentation,
            "article_implied_live_gb": round(implied, 3),
            "article_contradicts_itself": implied > _PLANNED_GB,
        }


def _row(plan: Plan) -> dict[str, object]:
    return {
        "planner": plan.planner,
        "pool_bytes": plan.pool_bytes,
        "fragmentation": plan.fragmentation,
        "sound": plan.is_sound,
        "findings": dict(plan.findings.counts),
    }
