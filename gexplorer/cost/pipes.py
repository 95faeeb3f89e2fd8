"""Time of each pipe of the busiest core while it computes its blocks of a matrix product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.residency import Residency
from gexplorer.cost.tile import Floats, GemmTiles, Numbers, ceil_div
from gexplorer.cost.waves import Waves
from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip


@dataclass(frozen=True, slots=True)
class GemmPipes:
    """Microseconds, [T] each.

    Attributes:
        cube: products and MMAD heads.
        gap: the cube's idle cycles between MMADs.
        mte1: L1 to L0A and L0B, one after the other.
        mte2: memory to L1, waiting for HBM included; no less than a start-up time for every MMAD.
        fixpipe: L0C to memory.
        last_store: the part of ``fixpipe`` that belongs to the last block.
    """

    cube: Floats
    gap: Floats
    mte1: Floats
    mte2: Floats
    fixpipe: Floats
    last_store: Floats


def gemm_pipes(work: Gemm, tiles: GemmTiles, w: Waves, found: Residency, hbm_read: Floats, chip: Chip) -> GemmPipes:
    """Pipes of the busiest core.

    Every MMAD waits for a transfer of its own. A transfer starts up behind the one before it, as long as that lasts;
    panels shorter than that arrive one in a start-up time, however little they carry.

    Args:
        work: the product.
        tiles: its tiles, [T].
        w: how its blocks fall onto the cores.
        found: what the panels find in L2.
        hbm_read: bytes that all cores together read from HBM, [T].
        chip: the chip.
    """
    rows = tiles.order == "rows"
    outer_unit, inner_unit = (chip.cube.m, chip.cube.n) if rows else (chip.cube.n, chip.cube.m)
    sums = np.ceil(work.k * work.element_bytes / chip.cube.k_bytes)
    steps = w.outer_sum(outer_unit) * ceil_div(w.inner, inner_unit) * sums
    cycles = steps * chip.cube.step_cycles(work.dtype.bits, hf32=work.hf32)
    mmads = w.count * ceil_div(work.k, tiles.k)
    panel = work.k * work.element_bytes
    to_outer, to_inner = (
        chip.paths[f"l1->{name}"].bytes_per_us for name in (("l0a", "l0b") if rows else ("l0b", "l0a"))
    )
    store = chip.paths["l0c->gm"]
    out = w.inner * work.out_bytes
    return GemmPipes(
        cube=(cycles + mmads * chip.cube.head_cycles) / chip.cycles_per_us,
        gap=mmads * chip.cube.gap_cycles / chip.cycles_per_us,
        mte1=panel * (w.outer_sum() / to_outer + w.count * w.inner / to_inner),
        mte2=np.maximum(_load_us(panel, w, found, hbm_read, chip), mmads * chip.paths["gm->l1"].startup_us),
        fixpipe=w.outer_sum() * out / store.bytes_per_us + store.startup_us,
        last_store=np.where(w.tail, w.tail_outer, w.rest) * out / store.bytes_per_us + store.startup_us,
    )


def _load_us(panel: float, w: Waves, found: Residency, hbm_read: Floats, chip: Chip) -> Floats:
    """Time to load, wave by wave: what a core can take in, or what HBM gives to all of them."""
    hot = chip.paths["gm->l1"].bytes_per_us
    cold = min(chip.hbm.cold_core_bytes_per_us, hot)

    def us(length: Numbers, waiting: Floats) -> Floats:
        return length * panel * (waiting / cold + (1 - waiting) / hot)

    outer = w.tall * w.outer + (w.full - w.tall) * w.rest
    full = us(outer, found.outer) + us(w.full * w.inner, found.inner)
    tail = w.tail * (us(w.tail_outer, found.tail_outer) + us(w.inner, found.tail_inner))
    of_full = w.full_blocks / w.blocks
    hbm = hbm_read / chip.hbm.achieved_bytes_per_us
    return np.maximum(full, hbm * of_full) + np.maximum(tail, hbm * (1 - of_full)) + chip.paths["gm->l1"].startup_us
