"""The search for an attention kernel's tile: every pair of powers of two that fits, the fastest taken."""

from __future__ import annotations

import numpy as np

from gexplorer.cost.attention import AttentionTiles, attention_cost
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel
from gexplorer.kernels.interpreter import require_capacity


def attention_cut(kernel: AttentionKernel, chip: Chip) -> tuple[AttentionCut | str, int]:
    """The fastest of the tiles of powers of two that fit, or why not even the smallest does; and how many were costed.

    A tile holds heads whole: Q, K and V with all of their width lie in L0A and L0B at once, and the output so far
    lies in UB. A head too wide for that needs a kernel that goes along its width as well: there is no program of that.
    """
    unit = max(chip.cube.shape(kernel.work.dtype.bits))
    sizes = [unit << step for step in range(5)]
    fitting: list[AttentionCut] = []
    least = ""
    for queries in _up_to(sizes, kernel.work.queries):
        for keys in _up_to(sizes, kernel.work.keys):
            cut = AttentionCut(queries, keys)
            try:
                require_capacity(attention_program(kernel, cut, chip), chip)
            except OptionError as error:
                least = least or f"not even {queries} queries by {keys} keys fit: {str(error).partition(': ')[2]}"
                continue
            fitting.append(cut)
    if not fitting:
        return least, 0
    tiles = AttentionTiles(np.array([c.queries for c in fitting]), np.array([c.keys for c in fitting]))
    return fitting[attention_cost(kernel.work, chip, tiles).best], len(fitting)


def _up_to(sizes: list[int], length: int) -> list[int]:
    """The sizes up to the first that covers the length."""
    return [size for index, size in enumerate(sizes) if index == 0 or sizes[index - 1] < length]
