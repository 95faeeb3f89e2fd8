"""Kernels that hold too much: which buffer overflows, what spills, and the split that cures it.

Products that follow each other in one kernel want two things of a core that it has only once. Two that are computed at
once share L0C, so blocks are smaller, and smaller blocks load more (M N K (1/m + 1/n) elements). And what one
hands to the next, a panel of whole rows, is to stay in L1 beside the operands of the product that reads it; a panel
that does not fit is written to memory and read again, as if nothing had been fused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Literal

from gexplorer.cost.attention_tiles import USUAL_TILE
from gexplorer.cost.graph import GraphCost, KernelRow
from gexplorer.cost.kernel_work import KernelWork, Stage
from gexplorer.cost.library import usual_block
from gexplorer.cost.staged import Costs, shares_of
from gexplorer.cost.tile import ACCUMULATOR_BYTES
from gexplorer.cost.work import Attention, Gemm
from gexplorer.hardware.spec import Chip

# All splits of so many stages are tried (2^11 groups of stages, each costed once); longer kernels are cut greedily.
_ALL_SPLITS = 12


@dataclass(frozen=True, slots=True)
class OverFusion:
    """A kernel that would be faster as several.

    Attributes:
        node: the kernel.
        op: its operator.
        products: its stages on the cube unit.
        buffer: the first buffer that overflows.
        need_bytes: of L1 the most that one product wants together with the panel handed to it; of L0C what the two
            products want that are computed at once.
        capacity_bytes: what there is.
        spilled_bytes: what is handed on inside the kernel and does not fit L1: written to memory and read again.
        whole_us: time of the kernel.
        split_us: time of the best split.
        split: the operators of each kernel of it.
    """

    node: str
    op: str
    products: int
    buffer: Literal["l1", "l0c"]
    need_bytes: float
    capacity_bytes: int
    spilled_bytes: float
    whole_us: float
    split_us: float
    split: tuple[tuple[str, ...], ...]

    @property
    def slower(self) -> float:
        """How much slower the kernel is than its best split, 0.2 for a fifth."""
        return self.whole_us / self.split_us - 1


def over_fusion(cost: GraphCost, costs: Costs | None = None) -> tuple[OverFusion, ...]:
    """Warnings for the kernels of a graph, in execution order; products have the tiles that its cost gave them."""
    known = costs if costs is not None else cost.costs
    found: dict[KernelWork, OverFusion | None] = {}
    warnings: list[OverFusion] = []
    for row in cost.rows:
        work = row.work
        if not isinstance(work, KernelWork) or work.products < 2:
            continue
        if work not in found:
            found[work] = _warning(row, work, known)
        warning = found[work]
        if warning is not None:
            warnings.append(replace(warning, node=row.node))
    return tuple(warnings)


def best_split(stages: tuple[Stage, ...], costs: Costs) -> tuple[float, tuple[tuple[Stage, ...], ...]]:
    """The fastest way to run stages as one kernel or several that follow each other, and its time."""
    best = (costs.stages_us(stages), (stages,))
    cuts = range(1, len(stages))
    choices = (
        (chosen for count in cuts for chosen in combinations(cuts, count))
        if len(stages) <= _ALL_SPLITS
        else [tuple(cuts)]
    )
    for chosen in choices:
        parts = tuple(stages[a:b] for a, b in pairwise((0, *chosen, len(stages))))
        us = sum(costs.stages_us(part) for part in parts)
        if us < best[0]:
            best = (us, parts)
    return best


def split_times(stages: tuple[Stage, ...], costs: Costs) -> tuple[float, ...]:
    """The best time of stages as one kernel, as two that follow each other, and so on, one for each stage at last."""
    us = {(a, b): costs.stages_us(stages[a:b]) for a in range(len(stages)) for b in range(a + 1, len(stages) + 1)}
    best = [us[0, b] for b in range(1, len(stages) + 1)]  # of the stages before b, in as many kernels as by now
    times = [best[-1]]
    for count in range(2, len(stages) + 1):
        best = [
            min((best[a - 1] + us[a, b] for a in range(count - 1, b)), default=float("inf"))
            for b in range(1, len(stages) + 1)
        ]
        times.append(best[-1])
    return tuple(times)


def _warning(row: KernelRow, work: KernelWork, costs: Costs) -> OverFusion | None:
    whole = costs.stages_us(work.stages)
    us, parts = best_split(work.stages, costs)
    if len(parts) == 1:
        return None
    chip = costs.chip
    m, n = usual_block(chip)
    accumulators = float(shares_of(work.stages) * m * n * ACCUMULATOR_BYTES)
    panels, spilled = _panels(work, chip, costs)
    buffer: Literal["l1", "l0c"] = "l1" if spilled else "l0c"
    return OverFusion(
        node=row.node,
        op=row.op,
        products=work.products,
        buffer=buffer,
        need_bytes=panels if spilled else accumulators,
        capacity_bytes=chip.capacity.l1_bytes if spilled else chip.capacity.l0c_bytes,
        spilled_bytes=spilled,
        whole_us=whole,
        split_us=us,
        split=tuple(tuple(stage.name for stage in part) for part in parts),
    )


def _panels(work: KernelWork, chip: Chip, costs: Costs) -> tuple[float, float]:
    """The most that a product and the panel handed to it want of L1, and what spills of all that is handed on."""
    products = [stage.main for stage in work.stages if isinstance(stage.main, Gemm | Attention)]
    most, spilled = 0.0, 0.0
    for product in products[1:]:
        if isinstance(product, Attention):
            e = product.dtype.bits / 8
            panel = USUAL_TILE[0] * product.width * e
            need = panel + 2 * USUAL_TILE[1] * (product.width + product.columns) * e
            whole = product.heads * product.queries * product.width * e
        else:
            e, tile = product.element_bytes, costs.tiles(product, 2)
            m, n, k = (int(axis[0]) for axis in (tile.m, tile.n, tile.k))
            need = min(m, product.m) * product.k * e + 2 * k * n * e
            whole = product.batch * product.m * product.k * e
        most = max(most, need)
        if need > chip.capacity.l1_bytes:
            spilled += 2 * whole
    return most, spilled
