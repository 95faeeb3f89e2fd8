"""The part ``cost``: every kernel's time, bytes at every level, and what bounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.cost.kernel_work import KernelWork
from gexplorer.cost.over_fusion import over_fusion
from gexplorer.cost.roofline import kernel_peak_flops_per_us
from gexplorer.views.explorer.columns import Texts, floats, ints
from gexplorer.views.explorer.course import is_comparable

if TYPE_CHECKING:
    from gexplorer.cost.graph import GraphCost, KernelRow
    from gexplorer.cost.over_fusion import OverFusion
    from gexplorer.hardware.spec import Chip
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

PIPES = ("cube", "vector", "mte1", "mte2", "mte3", "fixpipe", "hbm")
# Widths of element, in bits, for which the cube's peak is told.
CUBE_BITS = (8, 16, 32)
VECTOR_BITS = (16, 32)


def cost_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """The cost as columns over the kernels, in execution order; None where nothing was costed.

    ``latency_us`` is from launch to end, ``pipe_us`` is [kernels x pipes] row by row, 0 for a pipe that does nothing;
    ``hbm`` is the memory's time for all cores. ``flops`` is NaN where the operations are not known.
    ``capacity_bytes`` is the size of the chip's HBM.
    """
    cost = subject.cost
    if cost is None:
        return None
    texts = Texts()
    rows = cost.rows
    over = {warning.node: warning for warning in over_fusion(cost)}
    pipes = [[float(row.cost.pipes[pipe][0]) if pipe in row.cost.pipes else 0.0 for pipe in PIPES] for row in rows]
    return {
        "soc": cost.chip.name,
        "capacity_bytes": cost.chip.capacity.hbm_bytes,
        "tiling": cost.tiling,
        "peaks": peaks_of(cost.chip),
        "bandwidths": bandwidths_of(cost.chip),
        "node": ints(numbering.last.get(row.node, -1) for row in rows),
        "name": texts.column(row.node for row in rows),
        "type": texts.column(row.op for row in rows),
        "family": texts.column(row.family for row in rows),
        "error": floats(cost.p90(row.family) for row in rows),
        "flops": floats(row.flops or None for row in rows),
        "peak_flops_per_s": floats(_peak(row, cost.chip) for row in rows),
        "compulsory_bytes": floats(row.cost.compulsory_bytes for row in rows),
        "hbm_bytes": floats(row.hbm_bytes for row in rows),
        "l2_bytes": floats(float(row.cost.l2_bytes[0]) for row in rows),
        "l1_bytes": floats(float(row.cost.l1_bytes[0]) for row in rows),
        "ub_bytes": floats(float(row.cost.ub_bytes[0]) for row in rows),
        "latency_us": floats(row.total_us for row in rows),
        "launch_us": floats(row.cost.launch_us for row in rows),
        "pipes": PIPES,
        "pipe_us": np.array(pipes, np.float64).reshape(-1),
        "bound": texts.column(row.bound for row in rows),
        "tile": ints(texts.maybe(_tile_text(row)) for row in rows),
        "warning": ints(texts.maybe(_warning(row, over)) for row in rows),
        "unfused": _unfused(subject.unfused, cost),
        "unpriced": texts.column(row.node for row in cost.uncosted),
        "unpriced_node": ints(numbering.last.get(row.node, -1) for row in cost.uncosted),
        "unpriced_reason": texts.column(row.reason for row in cost.uncosted),
        "strings": texts.strings,
    }


def peaks_of(chip: Chip) -> list[dict[str, object]]:
    """Operations a second of all cores together."""
    peaks: list[dict[str, object]] = []
    cube = {f"cube, {bits} bits": chip.cube.flops_per_cycle(bits) for bits in CUBE_BITS}
    if chip.cube.hf32_cycles != chip.cube.float32_cycles:
        cube["cube, HF32"] = chip.cube.flops_per_cycle(32, hf32=True)
    for label, flops_per_cycle in cube.items():
        peaks.append({"label": label, "flops_per_s": chip.cube_cores * chip.clock_hz * flops_per_cycle})
    for bits in VECTOR_BITS:
        rate = chip.vector_cores * chip.clock_hz * chip.vector.bytes_per_cycle * 8 / bits
        peaks.append({"label": f"vector, {bits} bits", "flops_per_s": rate})
    return peaks


def bandwidths_of(chip: Chip) -> list[dict[str, object]]:
    """Bytes a second: of HBM as the chip's file says it and as kernels reach it, of L2 to all cores."""
    rates = {"HBM": chip.hbm.bytes_per_us, "HBM, as reached": chip.hbm.achieved_bytes_per_us}
    for path, cores, label in (("gm->l1", chip.cube_cores, "L2 to L1"), ("gm->ub", chip.vector_cores, "L2 to UB")):
        if path in chip.paths:
            rates[label] = cores * chip.paths[path].bytes_per_us
    return [{"label": label, "bytes_per_s": rate * 1e6} for label, rate in rates.items()]


def _peak(row: KernelRow, chip: Chip) -> float | None:
    """What the kernel's unit computes at most, of its element types; None where it computes nothing."""
    return kernel_peak_flops_per_us(row.work, chip) * 1e6 or None if isinstance(row.work, KernelWork) else None


def _tile_text(row: KernelRow) -> str | None:
    return ", ".join("x".join(map(str, tile)) for tile in row.tiles) if row.tiles else None


def _warning(row: KernelRow, over: dict[str, OverFusion]) -> str | None:
    found = over.get(row.node)
    if found is None:
        return row.note or None
    parts = " | ".join(" + ".join(part) for part in found.split)
    return (
        f"holds too much: {found.buffer.upper()} has {found.capacity_bytes:,} bytes of the {found.need_bytes:,.0f} that"
        f" it wants; {100 * found.slower:.0f} % slower than {len(found.split)} kernels ({parts})"
    )


def _unfused(cost: GraphCost | None, now: GraphCost) -> dict[str, object]:
    if cost is None or not is_comparable(cost, now):
        return {"kernels": None, "hbm_bytes": None, "latency_us": None, "unpriced": None}
    return {
        "kernels": len(cost.rows) + len(cost.uncosted),
        "hbm_bytes": cost.hbm_bytes,
        "latency_us": cost.latency_us,
        "unpriced": len(cost.uncosted),
    }
