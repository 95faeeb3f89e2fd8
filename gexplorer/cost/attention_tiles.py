"""Tiles of attention: how the scores are cut, whether a core's buffers hold a tile, and which one is assumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.tile import ACCUMULATOR_BYTES, Bools, Floats, Ints, ceil_div
from gexplorer.cost.work import Attention
from gexplorer.hardware.spec import Chip

_POWERS = 5  # sizes of a tile along each side: what the cube multiplies at once, and so many doublings less one


@dataclass(frozen=True, slots=True)
class AttentionTiles:
    """Tiles of the scores, [T] each.

    Attributes:
        queries: rows of Q that a core computes a block of the output for.
        keys: keys that it takes at a time.
        slice: terms of its sums that an MMAD takes, columns of Q and K or keys of V; the output is then computed as
            many columns at a time as there are keys in a tile. None where the whole width lies in L0A and L0B at once.
    """

    queries: Ints
    keys: Ints
    slice: Ints | None = None

    @staticmethod
    def of(queries: int, keys: int, slice_: int = 0) -> AttentionTiles:
        """One tile, as arrays of shape [1]; without a slice the whole width."""
        return AttentionTiles(np.array([queries]), np.array([keys]), np.array([slice_]) if slice_ else None)

    def take(self, which: Bools | Ints) -> AttentionTiles:
        """Some of the tiles."""
        return AttentionTiles(
            self.queries[which], self.keys[which], self.slice[which] if self.slice is not None else None
        )

    def parts(self, columns: int) -> Ints:
        """Parts that so many columns of the output are computed in, one after the other, [T]."""
        return ceil_div(columns, self.keys) if self.slice is not None else np.ones(len(self.keys), np.int64)

    def mmads(self, work: Attention) -> Ints:
        """MMADs for one tile of scores, of both products, [T]."""
        if self.slice is None:
            return np.full(len(self.keys), 2)
        of_keys = ceil_div(np.minimum(self.keys, work.keys), self.slice)
        return ceil_div(work.width, self.slice) + self.parts(work.columns) * of_keys


# The usual tile of scores. Source: pto-isa's FlashAttention kernel, whose published times are among our points.
USUAL_TILE = (128, 128)


def tile_sizes(work: Attention, chip: Chip) -> list[int]:
    """The powers of two that a side of a tile can have, the smallest first."""
    unit = max(chip.cube.shape(work.dtype.bits))
    return [unit << step for step in range(_POWERS)]


def attention_footprints(work: Attention, tiles: AttentionTiles) -> dict[str, Floats]:
    """Bytes that each tile takes in each buffer of a core, [T]: those of ``kernels/attention.py``'s programs.

    UB has the state of all queries; of the strips that the scores come in it is counted with a row, without a mask.
    """
    e, sums = work.dtype.bits / 8, float(ACCUMULATOR_BYTES)
    q, k = tiles.queries, tiles.keys
    strip = k * (3 * sums + 2 * e) + sums  # two of sums and of probabilities, one between; the row's new maximum
    if tiles.slice is not None:
        # Slices twice everywhere, so that the next one comes while one is used; both products take the same places.
        return {
            "l1": 2 * (q * tiles.slice + 2 * k * tiles.slice + q * k) * e,
            "l0a": 2 * q * tiles.slice * e,
            "l0b": 2 * k * tiles.slice * e,
            "l0c": 2 * q * k * sums,
            "ub": 3 * q * sums + strip + 6 * k * sums + 2 * k * e,
        }
    whole = work.width + work.columns
    return {
        "l1": (q * work.width + 2 * k * whole + 2 * q * k) * e,
        "l0a": q * (work.width + k) * e,
        "l0b": k * whole * e,
        "l0c": q * (k + work.columns) * sums,
        "ub": q * (3 + work.columns) * sums + strip + work.columns * (2 * sums + 2 * e),
    }


def attention_fits(work: Attention, tiles: AttentionTiles, chip: Chip) -> Bools:
    """Which tiles every buffer of a core holds, [T]."""
    size = chip.capacity
    held = {
        "l1": size.l1_bytes,
        "l0a": size.l0a_bytes,
        "l0b": size.l0b_bytes,
        "l0c": size.l0c_bytes,
        "ub": size.ub_bytes,
    }
    fitting = [footprint <= held[name] for name, footprint in attention_footprints(work, tiles).items()]
    return np.logical_and.reduce(fitting)


def is_wide(work: Attention, chip: Chip) -> bool:
    """True where UB does not hold the output so far of the usual tile's queries, or no tile has the whole width.

    Nobody can run the usual tile on such a head: it has a smaller one, or goes along the width in slices.
    """
    (unit, *_), state = tile_sizes(work, chip), USUAL_TILE[0] * (3 + work.columns) * ACCUMULATOR_BYTES
    return state > chip.capacity.ub_bytes or not attention_fits(work, AttentionTiles.of(unit, unit), chip)[0]


def assumed_tiles(work: Attention, chip: Chip) -> tuple[AttentionTiles, ...]:
    """The tiles that the cost of an attention is the least of: the usual one; of a wide head all that fit."""
    if not is_wide(work, chip):
        return (AttentionTiles.of(*USUAL_TILE),)
    sizes = tile_sizes(work, chip)
    whole = AttentionTiles(*(side.ravel() for side in np.meshgrid(sizes, sizes)))
    sliced = AttentionTiles(*(side.ravel() for side in np.meshgrid(sizes, sizes, sizes, indexing="ij")))
    fitting = [(tiles, attention_fits(work, tiles, chip)) for tiles in (whole, sliced)]
    found = tuple(tiles.take(which) for tiles, which in fitting if which.any())
    # A chip whose buffers hold none has no such kernel; the smallest tile is then the least wrong.
    return found or (sliced.take(np.array([0])),)
