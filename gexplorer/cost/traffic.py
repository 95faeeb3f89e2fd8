"""Bytes that a matrix product moves on every path: closed forms, exact for ragged edges.

Every block of the output reads a panel of the left matrix (its rows, all of K) and one of the right matrix (its
columns, all of K). So the left matrix is read once for each column of blocks and the right one once for each row:
``M N K (1 / tile_n + 1 / tile_m)`` elements where the tiles divide evenly, whatever the tile of K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.residency import Residency
from gexplorer.cost.tile import Floats, GemmTiles, ceil_div
from gexplorer.cost.work import Gemm


@dataclass(frozen=True, slots=True)
class GemmTraffic:
    """Bytes moved by all cores together, [T] each.

    Attributes:
        left: of the left matrix into L1; as much goes on to L0A.
        right: of the right matrix into L1; as much goes on to L0B.
        out: of the result from L0C to memory.
    """

    left: Floats
    right: Floats
    out: Floats

    @property
    def on_chip(self) -> Floats:
        """Bytes between memory (L2 and HBM) and the cores."""
        return self.left + self.right + self.out


def gemm_traffic(work: Gemm, tiles: GemmTiles) -> GemmTraffic:
    """Bytes on the paths of a core.

    >>> from gexplorer.cost.tile import GemmTiles
    >>> t = gemm_traffic(Gemm(2048, 4096, 4096), GemmTiles.of(128, 256, 64))
    >>> float(t.on_chip[0])
    822083584.0
    """
    left = ceil_div(work.n, tiles.n) * work.batch * (work.m * work.k * work.element_bytes)
    right = ceil_div(work.m, tiles.m) * work.batch * (work.k * work.n * work.element_bytes)
    return GemmTraffic(left, right, np.full(len(tiles.m), work.batch * work.m * work.n * work.out_bytes))


def hbm_read_bytes(work: Gemm, traffic: GemmTraffic, tiles: GemmTiles, residency: Residency) -> Floats:
    """Bytes that come from HBM, [T]: every distinct byte once, and again what L2 has lost when it is read again."""
    left = work.batch * work.m * work.k * work.element_bytes * work.left_distinct
    right = work.batch * work.k * work.n * work.element_bytes
    outer, inner = (traffic.left * work.left_distinct, traffic.right)
    outer_once, inner_once = left, right
    if tiles.order == "columns":
        outer, inner, outer_once, inner_once = inner, outer, inner_once, outer_once
    # Cores that fetch a panel at the same time fetch it once.
    again = residency.outer_lost * np.maximum(outer / residency.outer_sharers - outer_once, 0)
    again = again + residency.inner_lost * np.maximum(inner / residency.inner_sharers - inner_once, 0)
    return left + right + again


def hong_kung_bytes(work: Gemm, accumulator_bytes: int, partial_bytes: int = 4) -> float:
    """Lower bound of the traffic between memory and one core: ``2 M N K / sqrt(S) - 2 S`` elements.

    S is the number of partial sums that the accumulator level holds. Source: Hong and Kung 1981, with the constant
    of Smith et al. 2019 ("A tight I/O lower bound for matrix multiplication").
    """
    held = accumulator_bytes / partial_bytes
    return (2 * work.batch * work.m * work.n * work.k / held**0.5 - 2 * held) * work.element_bytes
