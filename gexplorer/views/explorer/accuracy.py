"""How far the modelled time of a graph may be off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gexplorer.cost.graph import GraphCost


def error_of(cost: GraphCost) -> float | None:
    """The errors that nine of ten published points stay within, by family, weighted by the time of each family.

    That is the error of a sum whose parts are all off to the same side, so the true one is rarely larger. Kernels of
    families without published points are left out; ``measured_share`` says how much that is.

    Returns:
        A share, 0.12 for 12 %; None where no family has published points.
    """
    rows = [(row.total_us, p90) for row in cost.rows if (p90 := cost.p90(row.family)) is not None]
    total = sum(us for us, _ in rows)
    return sum(us * p90 for us, p90 in rows) / total if total else None


def measured_share(cost: GraphCost) -> float:
    """Share of the time that kernels of families with published points take; 0 where nothing takes time."""
    measured = sum(row.total_us for row in cost.rows if cost.p90(row.family) is not None)
    return measured / cost.latency_us if cost.latency_us else 0.0
