"""Conv and the scale behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.folding import ConvFolding, by_channel
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.rule import Reject

if TYPE_CHECKING:
    import numpy as np


class ConvScale(ConvFolding):
    """A constant that each channel is multiplied with goes into the weights of the Conv before it.

    before:  Mul(Conv(x, w, b), c: float32[8, 1, 1])
    after:   Conv(x, w * c, b * c)
    """

    name = "conv_scale"
    ge_name = "ConvScaleFusionPass"
    order = 673
    saves = "One round trip of the feature map through memory."
    pattern = op.Mul(op("Conv|ConvTranspose", name="conv"), const("factor", wanted="a constant scale"))

    def constants(self, found: Match) -> tuple[str, ...]:
        """What is multiplied with."""
        return (found["factor"],)

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One number for each channel."""
        return by_channel(draft, found.named["conv"], found["factor"]) or super().check(found, draft)

    def factor_and_addend(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What is multiplied with."""
        import numpy as np

        data = draft.constant_of(found["factor"])
        assert data is not None
        return data.array().astype(np.float64).reshape(-1), None
