"""Tiles of a matrix product: how the cube unit's blocks are cut, one or thousands at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Numbers = Ints | Floats
Bools = NDArray[np.bool_]
Order = Literal["rows", "columns"]

ACCUMULATOR_BYTES = 4  # L0C sums in float32 or int32


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, which nobody can write to through this array."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class GemmTiles:
    """Tiles of the output and of the sum, all of shape [T].

    Attributes:
        m: rows of a block of the output.
        n: columns of a block.
        k: length of the sum that one MMAD takes from L0A and L0B.
        order: how blocks are given to cores: ``rows`` one row of blocks after the other, or ``columns``.
    """

    m: Ints
    n: Ints
    k: Ints
    order: Order = "rows"

    def __post_init__(self) -> None:
        for name in ("m", "n", "k"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @staticmethod
    def of(m: int, n: int, k: int, order: Order = "rows") -> GemmTiles:
        """One tile, as arrays of shape [1]."""
        return GemmTiles(np.array([m]), np.array([n]), np.array([k]), order)

    def take(self, index: int) -> GemmTiles:
        """One of the tiles."""
        return GemmTiles(self.m[[index]], self.n[[index]], self.k[[index]], self.order)


def ceil_div(a: Ints | int, b: Ints | int) -> Ints:
    """Integer quotient, rounded up."""
    return -(-np.asarray(a, np.int64) // np.asarray(b, np.int64))


def footprints(work: Gemm, tiles: GemmTiles) -> dict[str, Floats]:
    """Bytes that each tile takes in each buffer, [T]: L0A, L0B and L1 twice (double buffering), L0C once."""
    e = work.element_bytes
    left, right = 2 * tiles.m * tiles.k * e, 2 * tiles.k * tiles.n * e
    return {"l0a": left, "l0b": right, "l0c": tiles.m * tiles.n * float(ACCUMULATOR_BYTES), "l1": left + right}


def occupancy(work: Gemm, tiles: GemmTiles, chip: Chip) -> dict[str, Floats]:
    """Share of each buffer that each tile takes, [T]; above 1 where it does not fit."""
    size = chip.capacity
    held = {"l0a": size.l0a_bytes, "l0b": size.l0b_bytes, "l0c": size.l0c_bytes, "l1": size.l1_bytes}
    return {name: footprint / held[name] for name, footprint in footprints(work, tiles).items()}


def fits(work: Gemm, tiles: GemmTiles, chip: Chip) -> dict[str, Bools]:
    """Which tiles fit each buffer, [T] each."""
    return {name: share <= 1 for name, share in occupancy(work, tiles, chip).items()}
