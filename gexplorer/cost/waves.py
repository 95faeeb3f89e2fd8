"""How the blocks of a product fall onto cores: waves, the last one's idle cores, and the ragged edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.tile import Bools, GemmTiles, Ints, ceil_div
from gexplorer.cost.work import Gemm


@dataclass(frozen=True, slots=True)
class Waves:
    """Blocks in the order in which cores take them; all arrays of shape [T].

    Blocks are taken line by line. A *line* is all blocks that share an *outer* panel: with order ``rows`` the outer
    panel is of the left matrix and a line is a row of blocks; with ``columns`` it is of the right matrix. The panels
    of the other matrix, one for each block of a line, are the *inner* ones. Core i takes blocks i, i + C, i + 2C.

    Attributes:
        cores: cores that there are, C.
        blocks: blocks of the output, of the whole batch.
        full: waves in which every core has a block.
        tail: true where a last wave follows that leaves cores idle.
        lines: lines, of the whole batch.
        line_blocks: blocks of a line.
        outer: length of an outer panel along the output.
        inner: length of an inner panel along the output.
        tall: full waves in which some core has a block of whole height.
        rest: height of the blocks of a ragged last line; ``outer`` where there is none.
        tail_outer: height of the highest block of the last wave.
    """

    cores: int
    blocks: Ints
    full: Ints
    tail: Bools
    lines: Ints
    line_blocks: Ints
    outer: Ints
    inner: Ints
    tall: Ints
    rest: Ints
    tail_outer: Ints

    @property
    def count(self) -> Ints:
        """Waves, the last one included."""
        return self.full + self.tail

    @property
    def full_blocks(self) -> Ints:
        """Blocks of the full waves."""
        return self.full * self.cores

    @property
    def tail_idle(self) -> np.ndarray:
        """Share of the cores' time (cores * waves) that the last wave leaves idle."""
        return 1 - self.blocks / (self.count * self.cores)

    def outer_sum(self, round_to: int = 1) -> Ints:
        """Heights that the busiest core computes, summed over the waves, each rounded up to a multiple."""

        def units(height: Ints) -> Ints:
            return ceil_div(height, round_to)

        low = self.full - self.tall
        return self.tall * units(self.outer) + low * units(self.rest) + self.tail * units(self.tail_outer)


def waves(work: Gemm, tiles: GemmTiles, cores: int) -> Waves:
    """How the blocks of a product fall onto cores.

    In a batch every line counts as one of whole height: the ragged ones lie between whole ones.
    """
    rows, columns = ceil_div(work.m, tiles.m), ceil_div(work.n, tiles.n)
    if tiles.order == "rows":
        length, tile, outers, inners, inner = work.m, tiles.m, rows, columns, np.minimum(tiles.n, work.n)
    else:
        length, tile, outers, inners, inner = work.n, tiles.n, columns, rows, np.minimum(tiles.m, work.m)
    blocks = work.batch * outers * inners
    full = blocks // cores
    outer = np.minimum(tile, length)
    ragged = (length % tile != 0) & (length > tile) & (work.batch == 1)
    rest = np.where(ragged, length % tile, outer)
    whole_blocks = np.where(ragged, length // tile, work.batch * outers) * inners
    return Waves(
        cores=cores,
        blocks=blocks,
        full=full,
        tail=blocks % cores != 0,
        lines=work.batch * outers,
        line_blocks=inners,
        outer=outer,
        inner=inner,
        tall=np.minimum(full, ceil_div(whole_blocks, cores)),
        rest=rest,
        tail_outer=np.where(whole_blocks > full * cores, outer, rest),
    )
