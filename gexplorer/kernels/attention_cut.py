"""The search for an attention kernel's tile: every pair of powers of two, the fastest that fits taken."""

from __future__ import annotations

import numpy as np

from gexplorer.cost.attention import attention_cost
from gexplorer.cost.attention_tiles import AttentionTiles, tile_sizes
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel
from gexplorer.kernels.interpreter import require_capacity


def attention_cut(kernel: AttentionKernel, chip: Chip) -> tuple[AttentionCut | str, int]:
    """The fastest of the tiles of powers of two that fit, or why not even the smallest does; and how many were costed.

    A tile holds heads whole where any tile can: Q, K and V with all of their width in L0A and L0B at once, the output
    so far in UB. Only heads that are too wide for that are taken in slices.

    Whether a tile fits is seen from its program, which takes a hundred times as long as its cost. So all are costed,
    and the programs written from the fastest on until one fits.
    """
    sizes, work = tile_sizes(kernel.work, chip), kernel.work
    whole = [AttentionCut(q, k) for q in _up_to(sizes, work.queries) for k in _up_to(sizes, work.keys)]
    # A tile longer than the keys is no use, but for the columns of the output, of which it takes as many.
    in_slices = [AttentionCut(q, k, s) for q in _up_to(sizes, work.queries) for k in sizes for s in sizes]
    cuts = whole if not _refusal(kernel, whole[0], chip) else in_slices
    smallest = cuts[0]
    if why := _refusal(kernel, smallest, chip):
        return f"not even {smallest.queries} queries by {smallest.keys} keys fit: {why}", 0
    queries, keys, terms = (np.array(side) for side in zip(*((c.queries, c.keys, c.slice) for c in cuts), strict=True))
    tiles = AttentionTiles(queries, keys, terms if smallest.slice else None)
    fastest = np.argsort(attention_cost(work, chip, tiles).total_us, kind="stable")
    return next(cuts[i] for i in fastest.tolist() if not _refusal(kernel, cuts[i], chip)), len(cuts)


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
