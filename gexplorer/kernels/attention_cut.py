"""The search for an attention kernel's tile: every pair of powers of two that fits, the fastest taken."""

from __future__ import annotations

import numpy as np

from gexplorer.cost.attention import AttentionTiles, attention_cost
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel
from gexplorer.kernels.interpreter import require_capacity


def attention_cut(kernel: AttentionKernel, chip: Chip) -> tuple[AttentionCut | None, int]:
    """The fastest of the tiles of powers of two that fit, None where none does; and how many were costed."""
    unit = max(chip.cube.shape(kernel.work.dtype.bits))
    sizes = [unit << step for step in range(5)]
    fitting: list[AttentionCut] = []
    for queries in _up_to(sizes, kernel.work.queries):
        for keys in _up_to(sizes, kernel.work.keys):
            cut = AttentionCut(queries, keys)
            try:
                require_capacity(attention_program(kernel, cut, chip), chip)
            except OptionError:
                continue
            fitting.append(cut)
    if not fitting:
        return None, 0
    tiles = AttentionTiles(np.array([c.queries for c in fitting]), np.array([c.keys for c in fitting]))
    return fitting[attention_cost(kernel.work, chip, tiles).best], len(fitting)


def _up_to(sizes: list[int], length: int) -> list[int]:
    """The sizes up to the first that covers the length."""
    return [size for index, size in enumerate(sizes) if index == 0 or sizes[index - 1] < length]
