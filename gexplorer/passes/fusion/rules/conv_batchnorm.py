"""Conv and the BatchNormalization behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.folding import ConvFolding
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.trace.records import Message

if TYPE_CHECKING:
    import numpy as np


NORM_MESSAGES = Map(
    training=Message("{blocker} takes mean and variance of the batch itself", "export the model for inference"),
)


def inference_only(norm: Node, draft: Draft) -> Reject | None:
    """Refuses a BatchNormalization that trains, or whose old form does not go by channel."""
    trains = norm.attribute("training_mode", 0) or any(norm.outputs[1:]) or draft.opsets.get("", 0) < 7
    return Reject("training", norm.name) if trains or not norm.attribute("spatial", 1) else None


def batch_factor_and_addend(norm: Node, constants: Sequence[str], draft: Draft) -> tuple[np.ndarray, np.ndarray]:
    """What a BatchNormalization with these four constants multiplies with and adds, by channel, as float64."""
    import numpy as np

    data = [draft.constant_of(name) for name in constants]
    gamma, beta, mean, var = (d.array().astype(np.float64) for d in data if d is not None)
    epsilon = norm.attribute("epsilon", 1e-5)
    assert isinstance(epsilon, float)
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(var + epsilon)
        return factor, beta - mean * factor


class ConvBatchnorm(ConvFolding):
    """BatchNormalization is computed into the weights of the Conv before it.

    before:  BatchNormalization(Conv(x, w), gamma, beta, mean, var)
    after:   Conv(x, w * gamma / sqrt(var + eps), beta - mean * gamma / sqrt(var + eps))

    Where the weights are missing or many, ``conv_batchnorm_epilogue`` keeps them and scales the result.
    """

    name = "conv_batchnorm"
    ge_name = "ConvBatchnormFusionPass"
    order = 673
    saves = "The whole BatchNormalization, and one round trip of the feature map through memory."
    pattern = op.BatchNormalization(
        op("Conv|ConvTranspose", name="conv"),
        *("gamma", "beta", "mean", "var"),
        name="norm",
    )
    messages = NORM_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Mean and variance must be constants."""
        return inference_only(found.root, draft) or super().check(found, draft)

    def constants(self, found: Match) -> tuple[str, ...]:
        """The four of BatchNormalization."""
        return tuple(found[name] for name in ("gamma", "beta", "mean", "var"))

    def factor_and_addend(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What BatchNormalization multiplies with and adds."""
        return batch_factor_and_addend(found.named["norm"], self.constants(found), draft)
