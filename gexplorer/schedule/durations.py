"""How long each kernel of a planned graph runs, from the cost of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gexplorer.cost.graph import GraphCost
from gexplorer.memory.stage import Memory
from gexplorer.schedule.stage import kernel_names


@dataclass(frozen=True, slots=True)
class Durations:
    """Times for a schedule.

    Attributes:
        us: microseconds of each kernel that is launched; 0 for those whose time nobody can tell.
        unpriced: those, with the reason; a makespan is then a lower bound.
    """

    us: Mapping[str, float]
    unpriced: Mapping[str, str]


def durations_of(memory: Memory, cost: GraphCost) -> Durations:
    """The time of every kernel that a schedule of this plan launches, launch included."""
    priced = {row.node: row.total_us for row in cost.rows}
    reasons = {row.node: row.reason for row in cost.uncosted}
    names = kernel_names(memory)
    return Durations(
        MappingProxyType({name: priced.get(name, 0.0) for name in names}),
        MappingProxyType({name: reasons[name] for name in names if name in reasons}),
    )
