"""What a report shows of a memory plan: numbers, the picture, planners side by side, who is alive at the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gexplorer.memory.modes import MODES
from gexplorer.memory.program import BEFORE, Kind
from gexplorer.memory.stage import Memory
from gexplorer.ops.table import lookup
from gexplorer.views.memory import (
    PeakRow,
    PlanNumbers,
    SharingRow,
    UnsizedRow,
    kind_rows,
    memory_numbers,
    peak_rows,
    sharing_rows,
    unsized_rows,
)
from gexplorer.views.memory_picture import MOST_BLOCKS, UNKNOWN, PoolPicture, pool_picture
from gexplorer.views.memory_tensors import TensorRow, tensor_rows
from gexplorer.views.planners import PlannerRow, planner_rows, repeatable_planners
from gexplorer.views.scope import Scope

# Tensors in the table behind the picture.
LARGEST = 25


@dataclass(frozen=True, eq=False)
class MemoryReport:
    """The memory section of a report.

    Attributes:
        numbers: the plan in numbers.
        findings: what the verifier found, as sentences.
        picture: the plan.
        operators: name of the operator at each point.
        peak_at: the operator that runs at the peak; "" for an empty pool.
        peak: what is alive at the peak, the largest first.
        kinds: kind, number and bytes of all buffers, those outside of the pool too.
        sharing: tensors without bytes of their own, by the reason.
        planners: side by side.
        largest: the tensors of the pool with the most bytes.
        unsized: tensors that no plan can place, by the reason.
    """

    numbers: PlanNumbers
    findings: tuple[str, ...]
    picture: PoolPicture
    operators: Sequence[str]
    peak_at: str
    peak: tuple[PeakRow, ...]
    kinds: tuple[tuple[str, int, int], ...]
    sharing: tuple[SharingRow, ...]
    planners: tuple[PlannerRow, ...]
    largest: tuple[TensorRow, ...]
    unsized: tuple[UnsizedRow, ...]


def memory_report(memory: Memory, most: int = MOST_BLOCKS, *, with_planners: bool = True) -> MemoryReport:
    """Everything that the memory section shows; planners make little effort.

    Args:
        memory: the plan.
        most: buffers that the picture shows one by one.
        with_planners: whether all planners are run.
    """
    kinds, points = buffer_kinds(memory), len(memory.program)
    plans = [] if not with_planners else memory.compare(repeatable_planners(), MODES["balanced"].effort)
    own = [row for row in tensor_rows(memory) if row.kind in ("intermediate", "workspace") and row.size_bytes]
    return MemoryReport(
        numbers=memory_numbers(memory),
        findings=tuple(found.sentence for found in (*memory.plan.findings, *memory.findings)),
        picture=pool_picture(memory.plan, kinds, points=points, most=most),
        operators=memory.program.operators,
        peak_at=memory.bounds.operator,
        peak=tuple(peak_rows(memory)),
        kinds=tuple(kind_rows(memory)),
        sharing=tuple(sharing_rows(memory)),
        planners=tuple(planner_rows(plans, whole=not memory.program.unsized)),
        largest=tuple(sorted(own, key=lambda row: -(row.size_bytes or 0))[:LARGEST]),
        unsized=tuple(unsized_rows(memory)),
    )


def buffer_kinds(memory: Memory) -> list[str]:
    """What colours each buffer of the pool: ``workspace``, or the unit that writes the tensor that named it."""
    liveness, program = memory.liveness, memory.program
    nodes = {name: node for scope in Scope(memory.graph).nested() for name, node in scope.graph.nodes.items()}
    unit_of: dict[str, str] = {}

    def unit(name: str) -> str:
        if name not in unit_of:
            node = nodes.get(name)
            unit_of[name] = lookup(node).unit if node is not None else UNKNOWN
        return unit_of[name]

    kinds: list[str] = []
    for owner in liveness.owner[memory.pool_buffers].tolist():
        writer = int(program.writer[owner])
        if program.kind[owner] == Kind.WORKSPACE:
            kinds.append("workspace")
        else:
            kinds.append(UNKNOWN if writer == BEFORE else unit(program.operators[writer]))
    return kinds
