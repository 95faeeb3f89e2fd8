"""Conv and BatchNormalization where the weights cannot be computed anew."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import CubeEpilogue
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.passes.fusion.rules.conv_batchnorm import NORM_MESSAGES, inference_only


class ConvBatchnormEpilogue(CubeEpilogue):
    """BatchNormalization scales and shifts the result of the Conv while it leaves the cube unit.

    before:  BatchNormalization(Conv(x, w), gamma, beta, mean, var)
    after:   ConvBatchNorm(x, w, gamma, beta, mean, var)

    Takes what ``conv_batchnorm`` left because the bytes of the weights are missing or too many.
    """

    name = "conv_batchnorm_epilogue"
    order = 676
    kernel = "ConvBatchNorm"
    saves = "One round trip of the feature map through memory."
    near = 2
    pattern = op.BatchNormalization(op("Conv|ConvBias|ConvTranspose", name="cube"))
    messages = NORM_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Mean and variance must be those of training."""
        return inference_only(found.root, draft)
