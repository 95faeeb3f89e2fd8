"""The tile that a library would take for a product: its usual block, or a search where that leaves cores idle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.kernel import KernelCost
from gexplorer.cost.tile import ACCUMULATOR_BYTES, GemmTiles, Order, ceil_div, fits
from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip

ORDERS: tuple[Order, ...] = ("rows", "columns")


@dataclass(frozen=True, slots=True)
class TiledGemm:
    """A product with the tile that was taken, and its cost; ``tile`` and ``cost`` hold one entry."""

    tile: GemmTiles
    cost: KernelCost

    @property
    def total_us(self) -> float:
        """Time of the kernel."""
        return float(self.cost.total_us[0])


def library_gemm(work: Gemm, chip: Chip, tile: tuple[int, int, int] | None = None) -> TiledGemm:
    """A product as a library runs it.

    Libraries have a usual block, which fills L0C (128 x 256 on Ascend 910B). They keep it as long as there is a
    block for every core, even where another would do better; only below that do they cut finer. The order of
    blocks is the better one of two.

    Args:
        work: the product.
        chip: the chip.
        tile: tile_m, tile_n and tile_k where they are known.
    """
    return min((_of_order(work, chip, tile, order) for order in ORDERS), key=lambda tiled: tiled.total_us)


def usual_block(chip: Chip) -> tuple[int, int]:
    """Rows and columns of the block that fills L0C, powers of two, at most twice as wide as high."""
    held = chip.capacity.l0c_bytes // ACCUMULATOR_BYTES
    n = 1 << (held.bit_length() // 2)
    return held // n, n


def feasible_tiles(work: Gemm, chip: Chip, order: Order) -> GemmTiles:
    """Every tile that fits L0A, L0B, L0C and L1: blocks in steps of the cube's shape, sums in powers of two of it."""
    e, size = work.element_bytes, chip.capacity
    unit = round(chip.cube.k_bytes / e)
    most_m = min(_up(work.m, chip.cube.m), round(size.l0a_bytes // (2 * unit * e)))
    most_n = min(_up(work.n, chip.cube.n), round(size.l0b_bytes // (2 * unit * e)))
    blocks_m, blocks_n = (
        np.arange(chip.cube.m, most_m + 1, chip.cube.m),
        np.arange(chip.cube.n, most_n + 1, chip.cube.n),
    )
    sums = unit << np.arange((-(-work.k // unit) - 1).bit_length() + 1)
    m, n, k = (grid.ravel() for grid in np.meshgrid(blocks_m, blocks_n, sums))
    fit = np.logical_and.reduce([*fits(work, GemmTiles(m, n, k, order), chip).values()])
    return GemmTiles(m[fit], n[fit], k[fit], order)


def _of_order(work: Gemm, chip: Chip, tile: tuple[int, int, int] | None, order: Order) -> TiledGemm:
    tiles = GemmTiles.of(*tile, order) if tile is not None else _library_tiles(work, chip, order)
    cost = gemm_cost(work, tiles, chip)
    best = tiles.take(cost.best)
    return TiledGemm(best, gemm_cost(work, best, chip) if len(tiles.m) > 1 else cost)


def _library_tiles(work: Gemm, chip: Chip, order: Order) -> GemmTiles:
    m, n = usual_block(chip)
    if work.batch * ceil_div(work.m, m) * ceil_div(work.n, n) < chip.cube_cores:
        return feasible_tiles(work, chip, order)
    # The longest sum of which L0A and L0B hold two.
    unit = round(chip.cube.k_bytes / work.element_bytes)
    held = min(chip.capacity.l0a_bytes / m, chip.capacity.l0b_bytes / n) / (2 * work.element_bytes)
    return GemmTiles.of(m, n, unit << (int(held // unit).bit_length() - 1), order)


def _up(length: int, unit: int) -> int:
    return -(-length // unit) * unit
