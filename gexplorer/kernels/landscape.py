"""Every tile that a product could have: what each costs, and which buffer keeps the others out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gexplorer.cost.tile import Bools, Floats, Ints
from gexplorer.display import Charted
from gexplorer.kernels.gemm_kernel import GemmTile

ORDERS = ("rows", "columns")
# The first of these buffers that is too small for a tile; "" where all are large enough.
BUFFERS = ("", "l0a", "l0b", "l0c", "l1", "ub")


@dataclass(frozen=True, slots=True)
class Space:
    """The tiles of one search: all combinations of these, numbered in this order of axes.

    Attributes:
        m: rows of a block, [Tm].
        n: columns of a block, [Tn].
        k: lengths of an MMAD's sum, [Tk].

    Behind them come the order of blocks (``ORDERS``) and double buffering (yes, no).
    """

    m: Ints
    n: Ints
    k: Ints

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Tiles along each axis."""
        return len(self.m), len(self.n), len(self.k), 2, 2

    def tile(self, index: int) -> GemmTile:
        """A tile by its number."""
        m, n, k, order, single = (int(i) for i in np.unravel_index(index, self.shape))
        return GemmTile(int(self.m[m]), int(self.n[n]), int(self.k[k]), ORDERS[order], not single)

    def index(self, tile: GemmTile) -> int | None:
        """The number of a tile; None where it is not in the space."""
        place = [np.flatnonzero(axis == size) for axis, size in ((self.m, tile.m), (self.n, tile.n), (self.k, tile.k))]
        if not all(len(found) for found in place):
            return None
        whole = (*(int(found[0]) for found in place), ORDERS.index(tile.order), int(not tile.double))
        return int(np.ravel_multi_index(whole, self.shape))


@dataclass(frozen=True)
class Landscape(Charted):
    """What a search has seen; arrays of shape [T] in the space's numbering, read-only.

    Attributes:
        space: the tiles.
        too_small: for each the buffer that it does not fit, as an index into ``BUFFERS``; 0 where it fits.
        total_us: the kernel's time; NaN where the tile does not fit or was not evaluated.
        best: number of the fastest tile; None where no tile fits.
        chosen: number of the tile that is taken: of those about as fast as the best, the one with the longest sum.
        evaluations: tiles whose cost was computed.
    """

    space: Space
    too_small: NDArray[np.int8]
    total_us: Floats
    best: int | None
    chosen: int | None
    evaluations: int

    def __repr__(self) -> str:
        fit = f"{int(self.feasible.sum()):,} of {len(self.total_us):,} tiles fit"
        return f"Landscape({fit}, taken {self.chosen_us:.1f} us, fastest {self.best_us:.1f} us)"

    @cached_property
    def feasible(self) -> Bools:
        """True for each tile that fits."""
        return self.too_small == 0

    @property
    def tile(self) -> GemmTile | None:
        """The chosen tile."""
        return None if self.chosen is None else self.space.tile(self.chosen)

    @property
    def chosen_us(self) -> float:
        """Its time; infinite where no tile fits."""
        return float("inf") if self.chosen is None else float(self.total_us[self.chosen])

    @property
    def best_us(self) -> float:
        """The time of the fastest tile; infinite where no tile fits."""
        return float("inf") if self.best is None else float(self.total_us[self.best])

    def choosing(self, tile: GemmTile) -> Landscape:
        """The same with another tile chosen; ValueError where it is not in the space."""
        number = self.space.index(tile)
        if number is None:
            raise ValueError(f"{tile} is not in the space")
        return replace(self, chosen=number)

    @property
    def double_tile(self) -> GemmTile | None:
        """The chosen tile if it has two panels of everything, else the fastest that has; None where none was seen."""
        if self.tile is not None and self.tile.double:
            return self.tile
        double = np.where(np.isnan(self.total_us), np.inf, self.total_us).reshape(-1, 2)[:, 0]
        best = int(double.argmin()) if len(double) else -1
        return None if best < 0 or np.isinf(double[best]) else self.space.tile(2 * best)

    def kept_out(self) -> dict[str, int]:
        """How many tiles each buffer keeps out."""
        counts = np.bincount(self.too_small, minlength=len(BUFFERS))
        return {name: int(counts[i]) for i, name in enumerate(BUFFERS) if name and counts[i]}

    def plane(self) -> tuple[Floats, NDArray[np.int8]]:
        """The landscape over (m, n), as a heat map shows it.

        Returns:
            The best time over k, order and buffering, [Tm, Tn], NaN where nothing was evaluated; and the buffer that
            keeps even the smallest of those tiles out, an index into ``BUFFERS``, 0 where some fits.
        """
        tm, tn = self.space.shape[:2]
        times = np.where(np.isnan(self.total_us), np.inf, self.total_us).reshape(tm, tn, -1).min(axis=2)
        codes = self.too_small.reshape(tm, tn, -1)
        blocked = np.where((codes == 0).any(axis=2), 0, codes.max(axis=2)).astype(np.int8)
        return np.where(np.isinf(times), np.nan, times), blocked
