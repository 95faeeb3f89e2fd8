"""Conv and the bias behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.folding import ConvFolding, by_channel
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject

if TYPE_CHECKING:
    import numpy as np


class ConvBias(ConvFolding):
    """A constant that is added to each channel becomes the bias of the Conv before it.

    before:  Add(Conv(x, w), c: float32[8, 1, 1])
    after:   Conv(x, w, c: float32[8])
    """

    name = "conv_bias"
    ge_name = "AABiasaddConvFusion"
    order = 672
    scales = False
    saves = "One round trip of the feature map through memory."
    pattern = op.Add(op("Conv|ConvTranspose", name="conv"), "addend")

    def constants(self, found: Match) -> tuple[str, ...]:
        """What is added."""
        return (found["addend"],)

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One number for each channel."""
        return by_channel(draft, found.named["conv"], found["addend"]) or super().check(found, draft)

    def factor_and_addend(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What is added."""
        import numpy as np

        data = draft.constant_of(found["addend"])
        assert data is not None
        return None, data.array().astype(np.float64).reshape(-1)
