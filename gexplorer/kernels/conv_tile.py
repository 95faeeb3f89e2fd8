"""The search for a convolution's tile: powers of two that fit, by the cost of the product that it is."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.tile import GemmTiles
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.conv import conv_program
from gexplorer.kernels.conv_kernel import ConvKernel, ConvTile
from gexplorer.kernels.interpreter import require_capacity

# The most tiles whose programs are written to see what the epilogue takes of UB, the fastest first.
_TRIED = 64


def conv_tile(kernel: ConvKernel, chip: Chip) -> tuple[ConvTile | None, int]:
    """The fastest tile that fits, and how many were costed.

    A block's rows and columns, filters and channels are powers of two, or all there are. The cube takes 16 places and
    filters at a time and 32 bytes of the sum, so L0A and L0B hold as much, whatever part of it is used.
    """
    fitting = [tile for tile in _tiles(kernel) if _fits(kernel, tile, chip)]
    if not fitting:
        return None, 0
    taps = prod(kernel.taps)
    m, n, k = (
        np.array([tile.rows * tile.columns for tile in fitting]),
        np.array([tile.filters for tile in fitting]),
        np.array([tile.channels * taps for tile in fitting]),
    )
    us = gemm_cost(kernel.work, GemmTiles(m, n, k), chip).total_us
    # Of tiles that cost the same, the one with the longest sum issues the fewest moves.
    for number in np.lexsort((-k, us))[:_TRIED].tolist():
        try:
            require_capacity(conv_program(kernel, fitting[number], chip), chip)
        except OptionError:
            continue
        return fitting[number], len(fitting)
    return None, len(fitting)


def _tiles(kernel: ConvKernel) -> list[ConvTile]:
    sizes = (kernel.places[0], kernel.places[1], kernel.filters, kernel.channels)
    rows, columns, filters, channels = (
        _powers(length, least) for length, least in zip(sizes, (1, 1, 16, 1), strict=True)
    )
    # Rows are cut before columns: a block is as wide as the map, or one row high.
    places = [(r, columns[-1]) for r in rows] + [(1, c) for c in columns[:-1]]
    return [ConvTile(*place, n, c) for place, n, c in product(places, filters, channels)]


def _fits(kernel: ConvKernel, tile: ConvTile, chip: Chip) -> bool:
    size, e = chip.capacity, kernel.dtype.bits // 8
    unit_m, unit_n, unit_k = chip.cube.shape(kernel.dtype.bits)
    m = _up(tile.rows * tile.columns, unit_m)
    n, k = _up(tile.filters, unit_n), _up(tile.channels * prod(kernel.taps), unit_k)
    seen = kernel.most_seen(0, tile.rows) * kernel.most_seen(1, tile.columns)
    maps, weights = tile.channels * seen * e, tile.filters * tile.channels * prod(kernel.taps) * e
    return (
        2 * m * k * e <= size.l0a_bytes
        and 2 * k * n * e <= size.l0b_bytes
        and m * n * 4 <= size.l0c_bytes
        and 2 * (maps + weights) <= size.l1_bytes
    )


def _powers(length: int, least: int) -> list[int]:
    """Powers of two below a length, and the length."""
    found = [size for exponent in range(12) if least <= (size := 1 << exponent) < length]
    return [*found, length]


def _up(length: int, unit: int) -> int:
    return -(-length // unit) * unit
