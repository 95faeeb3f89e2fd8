"""A product whose left operand is normalised on the way, on a core whose vector unit writes into L1.

The core makes a panel of whole rows, [m, K], in L1 and multiplies it by all columns that are its part. So the panel is
never in memory; but it takes room in L1, and cores that share rows make the same panel each for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.residency import lost
from gexplorer.cost.tile import ACCUMULATOR_BYTES, ceil_div
from gexplorer.cost.vector import passes
from gexplorer.cost.work import Gemm, Vector
from gexplorer.hardware.spec import Chip

# MMADs' length of the sum: what L0A and L0B hold twice of the usual block, in the cube's steps.
_STEPS_OF_SUM = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """The best way to cut it.

    Attributes:
        body_us: time between launch and end.
        again_bytes: bytes of the right matrix that come from HBM more than once.
        rows: rows of a panel.
        columns: columns of a block.
        l2_bytes: bytes between memory and all cores.
        l1_bytes: bytes into L1, of all cores.
        ub_bytes: bytes into UB and out of it.
    """

    body_us: float
    again_bytes: float
    rows: int
    columns: int
    l2_bytes: float
    l1_bytes: float
    ub_bytes: float


def panel_product(work: Gemm, before: Vector, chip: Chip) -> Panel | None:
    """The fastest cut; None where no path leads into L1, or it does not hold the least panel and the other operand.

    Args:
        work: the product; one of a batch is no such product.
        before: what is done to each row of the left operand.
        chip: the chip, with ``cube_vector_path`` direct.
    """
    if chip.cube_vector_path != "direct" or work.batch > 1:
        return None
    e, unit, size = work.element_bytes, chip.cube, chip.capacity
    step = round(unit.k_bytes / e) * _STEPS_OF_SUM
    most_m = min(-(-work.m // unit.m) * unit.m, int(size.l0a_bytes // (2 * step * e)))
    most_n = min(-(-work.n // unit.n) * unit.n, int(size.l0b_bytes // (2 * step * e)))
    grid = np.meshgrid(np.arange(unit.m, most_m + 1, unit.m), np.arange(unit.n, most_n + 1, unit.n))
    m, n = (axis.ravel() for axis in grid)
    fit = (m * n * ACCUMULATOR_BYTES <= size.l0c_bytes) & (m * work.k * e + 2 * n * step * e <= size.l1_bytes)
    m, n = m[fit], n[fit]
    if not len(m):
        return None
    lines = ceil_div(work.m, m)
    parts = np.clip(chip.cube_cores // lines, 1, ceil_div(work.n, n))
    columns = np.minimum(ceil_div(ceil_div(work.n, n), parts) * n, work.n)
    waves = ceil_div(lines * parts, chip.cube_cores)
    rows = np.minimum(m, work.m)

    cycles, rate = chip.cycles_per_us, {name: path.bytes_per_us for name, path in chip.paths.items()}
    panel, right = rows * work.k * e, columns * work.k * e
    blocks = ceil_div(columns, n)
    mmads = blocks * ceil_div(work.k, step)
    products = ceil_div(rows, unit.m) * ceil_div(columns, unit.n) * np.ceil(work.k * e / unit.k_bytes)
    products = products * unit.step_cycles(work.dtype.bits, hf32=work.hf32)
    cube = (products + mmads * (unit.head_cycles + unit.gap_cycles)) / cycles
    feed = blocks * panel / rate["l1->l0a"] + right / rate["l1->l0b"]
    computed = rows * work.k * before.element_bytes * passes(before.instructions, chip) / chip.vector.bytes_per_cycle
    vector = (computed + rows * chip.vector.row_cycles) / cycles
    raw = before.read_bytes / max(before.rows, 1) * rows
    made = vector + np.maximum(raw / rate["gm->ub"], panel / rate["ub->l1"])
    stored = rows * columns * (ACCUMULATOR_BYTES / rate["l0c->ub"] + work.out_bytes / rate["ub->gm"])
    started = chip.paths["gm->ub"].startup_us + chip.paths["ub->gm"].startup_us
    # In every wave all of the right matrix passes by; it is cold in the first, and in others as far as L2 has lost it.
    whole = work.k * work.n * e
    gone = float(lost(np.array([whole]), chip.l2_usable * size.l2_bytes)[0])
    sharers = np.minimum(lines, np.maximum(chip.cube_cores // parts, 1))
    waiting = (1 + (waves - 1) * gone) / waves * (1 + 1 / sharers) / 2
    cold = min(chip.hbm.cold_core_bytes_per_us, rate["gm->l1"])
    load = right * (waiting / cold + (1 - waiting) / rate["gm->l1"])
    again = (waves - 1) * gone * whole
    hbm = (work.compulsory_bytes + again) / chip.hbm.achieved_bytes_per_us
    body = waves * (made + np.maximum.reduce([cube, feed, load]) + stored) + started
    best = int(np.maximum(body, hbm).argmin())
    loaded = lines[best] * parts[best] * raw[best]
    rights = lines[best] * work.k * work.n * e
    out = work.m * work.n * work.out_bytes
    panels = lines[best] * parts[best] * panel[best]
    return Panel(
        body_us=float(max(body[best], hbm[best])),
        again_bytes=float(again[best]),
        rows=int(m[best]),
        columns=int(n[best]),
        l2_bytes=float(loaded + rights + out),
        l1_bytes=float(panels + rights),
        ub_bytes=float(loaded + panels + work.m * work.n * ACCUMULATOR_BYTES + out),
    )
