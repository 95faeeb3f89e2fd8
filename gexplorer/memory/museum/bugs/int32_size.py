"""A size field of 32 bits."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.article import place_in_blocks
from gexplorer.memory.museum.exhibit import BufferBug, Spoilt
from gexplorer.memory.museum.plans import PlacedBuffers
from gexplorer.memory.problem import make_problem

ELEMENT_BYTES = 4
SMALL_BYTES = 2048 * 4096 * ELEMENT_BYTES


class Int32Size(BufferBug):
    """A size of 2^31 bytes turns negative in 32 bits, so it passes every size check and fits into any block.

    A [64, 2048, 4096] tensor of fp32 has exactly 2^31 bytes, one of batch 63 is still right: a planner that breaks
    "above batch 63" has this field somewhere.
    """

    name = "int32_size"
    issues = ("https://github.com/Samsung/ONE/issues/11582",)
    code = "overlap"

    def example(self) -> PlacedBuffers:
        """Two small tensors side by side; the first is dead when the logits of batch 64 come."""
        names = ("mask", "scale", "logits")
        sizes = [SMALL_BYTES, SMALL_BYTES, 64 * SMALL_BYTES]
        problem = make_problem([0, 1, 2], [2, 4, 4], sizes, names, alignment_bytes=512)
        return PlacedBuffers(problem, np.array([0, 64 * SMALL_BYTES, 0]), 65 * SMALL_BYTES)

    def spoil_buffers(self, plan: PlacedBuffers) -> Spoilt | None:
        """Plans anew, with a size check, but with sizes that went through 32 bits."""
        problem = plan.problem
        wrapped = problem.size_bytes.astype(np.int32).astype(np.int64)
        offsets, _, pool = place_in_blocks(problem.lower, problem.upper, wrapped, check_sizes=True)
        spoilt = PlacedBuffers(problem, offsets, max(pool, 0))
        for buffer in np.flatnonzero(wrapped != problem.size_bytes).tolist():
            if (other := spoilt.collision(buffer)) is not None:
                first, second = sorted((buffer, other), key=lambda row: (int(problem.lower[row]), row))
                return Spoilt(spoilt, (first, second))
        return None
