"""Conv and a bias behind it that is no constant with bytes."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import CubeEpilogue
from gexplorer.passes.fusion.folding import by_channel
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.passes.fusion.rules.conv_bias import ConvBias


class ConvBiasEpilogue(CubeEpilogue):
    """A constant is added to each channel of the Conv's result while it leaves the cube unit.

    before:  Add(Conv(x, w), c: float32[8, 1, 1])
    after:   ConvBias(x, w, c)

    Takes what ``conv_bias`` left because a bias has no bytes, or is computed at run time.
    """

    name = "conv_bias_epilogue"
    order = 675
    kernel = "ConvBias"
    saves = "One round trip of the feature map through memory."
    near = 2
    pattern = op.Add(op("Conv|ConvTranspose", name="cube"), "addend")
    messages = ConvBias.messages

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One number for each channel."""
        return by_channel(draft, found.named["cube"], found["addend"])
