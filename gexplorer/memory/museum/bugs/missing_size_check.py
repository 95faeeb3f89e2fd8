"""Reuse without looking at sizes."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.article import place_in_blocks
from gexplorer.memory.museum.exhibit import BufferBug, Spoilt
from gexplorer.memory.museum.plans import PlacedBuffers
from gexplorer.memory.problem import make_problem


class MissingSizeCheck(BufferBug):
    """A dead block is reused for a larger tensor, which runs over into its neighbour.

    This is the planner that the articles print; the pull request has a size check that compares the wrong unit, its
    closest relative among the reported ones.
    """

    name = "missing_size_check"
    issues = ("https://github.com/microsoft/onnxruntime/pull/32611",)
    code = "overlap"

    def example(self) -> PlacedBuffers:
        """A small hidden state dies, a kept residual lies behind it, and a wide FFN tensor comes."""
        names = ("hidden", "residual", "ffn")
        problem = make_problem([0, 1, 2], [2, 4, 4], [7168, 7168, 37888], names, alignment_bytes=512)
        return PlacedBuffers(problem, np.array([0, 37888, 0]), 45056)

    def spoil_buffers(self, plan: PlacedBuffers) -> Spoilt | None:
        """Plans anew, without a size check."""
        problem = plan.problem
        offsets, rooms, pool = place_in_blocks(problem.lower, problem.upper, problem.size_bytes, check_sizes=False)
        spoilt = PlacedBuffers(problem, offsets, pool)
        for buffer in np.flatnonzero(problem.size_bytes > rooms).tolist():
            if (other := spoilt.collision(buffer)) is not None:
                return Spoilt(spoilt, in_order(spoilt, buffer, other))
        return None


def in_order(plan: PlacedBuffers, one: int, other: int) -> tuple[int, int]:
    """Two buffers, that which was there first in front."""
    first, second = sorted((one, other), key=lambda buffer: (int(plan.problem.lower[buffer]), buffer))
    return first, second
