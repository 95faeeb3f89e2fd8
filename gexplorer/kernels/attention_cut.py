"""The search for an attention kernel's tile: every pair of powers of two, the fastest that fits taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gexplorer.cost.attention import attention_cost
from gexplorer.cost.attention_tiles import AttentionTiles, attention_fits, is_wide, tile_sizes
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel
from gexplorer.kernels.interpreter import require_capacity


def attention_cut(kernel: AttentionKernel, chip: Chip) -> tuple[AttentionCut | str, int]:
    """The fastest of the tiles of powers of two that fit, or why not even the smallest does; and how many were costed.

    A tile holds heads whole: Q, K and V with all of their width in L0A and L0B at once, the output so far in UB. Wide
    heads are taken in slices as well, and heads that no tile holds whole in slices only.

    Whether a tile fits is seen from its program, which takes a hundred times as long as its cost. So all are costed,
    and the programs written from the fastest on until one fits, but for those whose buffers alone say that it does not.
    """
    sizes, work = tile_sizes(kernel.work, chip), kernel.work
    whole = [AttentionCut(q, k) for q in _up_to(sizes, work.queries) for k in _up_to(sizes, work.keys)]
    families, why = [whole], _refusal(kernel, whole[0], chip)
    if why or is_wide(work, chip):
        # A tile longer than the keys is no use, but for the columns of the output, of which it takes as many.
        sliced = [AttentionCut(q, k, s) for q in _up_to(sizes, work.queries) for k in sizes for s in sizes]
        families = [sliced] if why else [whole, sliced]
        why = why and _refusal(kernel, sliced[0], chip)
    smallest = families[0][0]
    if why:
        return f"not even {smallest.queries} queries by {smallest.keys} keys fit: {why}", 0
    cuts = [cut for family in families for cut in family]
    tiles = [_tiles(family) for family in families]
    us = np.concatenate([attention_cost(work, chip, some).total_us for some in tiles])
    fitting = np.concatenate([attention_fits(work, some, chip) for some in tiles])
    fastest = [cuts[i] for i in np.argsort(us, kind="stable").tolist() if fitting[i]]
    return next(cut for cut in fastest if not _refusal(kernel, cut, chip)), len(cuts)


def _tiles(cuts: Sequence[AttentionCut]) -> AttentionTiles:
    """Cuts of one family, as the cost model wants them."""
    queries, keys, terms = (np.array(side) for side in zip(*((c.queries, c.keys, c.slice) for c in cuts), strict=True))
    return AttentionTiles(queries, keys, terms if terms.any() else None)


def _refusal(kernel: AttentionKernel, cut: AttentionCut, chip: Chip) -> str:
    """Why a tile does not fit, "" where it does."""
    try:
        require_capacity(attention_program(kernel, cut, chip), chip)
    except OptionError as error:
        return str(error).partition(": ")[2]
    return ""


def _up_to(sizes: list[int], length: int) -> list[int]:
    """The sizes up to the first that covers the length."""
    return [size for index, size in enumerate(sizes) if index == 0 or sizes[index - 1] < length]
