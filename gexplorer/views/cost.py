"""What a compiled graph costs, as plain data: the summary's object, one row a kernel, totals, warnings."""

from __future__ import annotations

from dataclasses import asdict

from gexplorer.cost.graph import GraphCost, KernelRow, Total
from gexplorer.cost.over_fusion import OverFusion
from gexplorer.cost.saving import Saving
from gexplorer.trace.records import Step


def cost_summary(cost: GraphCost) -> dict[str, object]:
    """The summary's ``cost`` object; times in microseconds, bytes over all cores."""
    return {
        "soc": cost.chip.name,
        "latency_us": cost.latency_us,
        "hbm_bytes": cost.hbm_bytes,
        "compulsory_bytes": cost.compulsory_bytes,
        "l2_bytes": cost.l2_bytes,
        "l1_bytes": cost.l1_bytes,
        "ub_bytes": cost.ub_bytes,
        "flops": cost.flops,
        "launch_us": cost.launch_us,
    }


def cost_detail(cost: GraphCost, warnings: tuple[OverFusion, ...] = ()) -> dict[str, object]:
    """The summary's object with everything behind it: kernels, totals, modes, warnings, what could not be costed."""
    return {
        **cost_summary(cost),
        "tiling": cost.tiling,
        "graph_us": cost.graph_us,
        "eager_us": cost.eager_us,
        "dispatch_us": cost.dispatch_us,
        "distinct_kernels": cost.distinct,
        "families": [total_row(total) for total in cost.by_family()],
        "operators": [total_row(total) for total in cost.by_op()],
        "engines": [total_row(total) for total in cost.by_engine()],
        "kernels": [kernel_row(row, cost.p90(row.family)) for row in cost.rows],
        "uncosted": [asdict(row) for row in cost.uncosted],
        "over_fusion": [over_fusion_row(warning) for warning in warnings],
    }


def kernel_row(row: KernelRow, p90: float | None) -> dict[str, object]:
    """One kernel, with the error that nine of ten published points of its family stay within."""
    c = row.cost
    return {
        "node": row.node,
        "op": row.op,
        "family": row.family,
        "engine": row.engine,
        "unit": row.unit,
        "total_us": row.total_us,
        "launch_us": c.launch_us,
        "p90": p90,
        "bound": row.bound,
        "pipes_us": {pipe: float(us[0]) for pipe, us in c.pipes.items()},
        "tiles": [list(tile) for tile in row.tiles],
        "waves": int(c.waves[0]),
        "tail_idle": float(c.tail_idle[0]),
        "hbm_bytes": row.hbm_bytes,
        "resident_bytes": row.resident_bytes,
        "border_bytes": c.compulsory_bytes,
        "l2_bytes": float(c.l2_bytes[0]),
        "l1_bytes": float(c.l1_bytes[0]),
        "ub_bytes": float(c.ub_bytes[0]),
        "flops": row.flops,
        "note": row.note,
    }


def total_row(total: Total) -> dict[str, object]:
    """Sums over some kernels."""
    return asdict(total)


def over_fusion_row(warning: OverFusion) -> dict[str, object]:
    """A kernel that would be faster as several."""
    return {**asdict(warning), "split": [list(part) for part in warning.split], "slower": warning.slower}


def saving_rows(savings: tuple[tuple[Step, Saving], ...]) -> list[dict[str, object]]:
    """What each fusion step saved; negative numbers are losses."""
    return [
        {"index": step.index, "rewrites": len(step.rewrites), **asdict(saving), "pays": saving.pays}
        for step, saving in savings
    ]
