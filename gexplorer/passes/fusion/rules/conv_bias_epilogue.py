"""Conv and a bias behind it whose bytes are missing."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import CubeEpilogue
from gexplorer.passes.fusion.folding import by_channel
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.passes.fusion.rules.conv_bias import ConvBias


class ConvBiasEpilogue(CubeEpilogue):
    """A constant is added to each channel of the Conv's result while it leaves the cube unit.

    before:  Add(Conv(x, w), c: float32[8, 1, 1])
    after:   ConvBias(x, w, c)

    Takes what ``conv_bias`` left because the Conv's own bias or the new one has no bytes.
    """

    name = "conv_bias_epilogue"
    order = 675
    kernel = "ConvBias"
    saves = "One round trip of the feature map through memory."
    near = 2
    pattern = op.Add(op("Conv|ConvTranspose", name="cube"), const("addend", wanted="a constant bias"))
    messages = ConvBias.messages

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One number for each channel."""
        return by_channel(draft, found.named["cube"], found["addend"])
