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


_SCALED = op.Mul(op("Conv|ConvTranspose", name="conv"), const("factor", wanted="a constant scale"))


class ConvScale(ConvFolding):
    """What each channel is multiplied with, and what is added then, goes into the weights and bias of the Conv before.

    before:  Add(Mul(Conv(x, w, b), k: float32[8, 1, 1]), c: float32[8, 1, 1])
    after:   Conv(x, w * k, b * k + c)

    Runs behind ``conv_batchnorm``, since such a scale follows a BatchNormalization in older exports.
    """

    name = "conv_scale"
    ge_name = "ConvScaleFusionPass"
    order = 674
    latest_first = True
    telling = frozenset(("Conv", "ConvTranspose"))
    saves = "One round trip of the feature map through memory."
    pattern = (op.Add(_SCALED, const("addend", wanted="a constant bias")), _SCALED)

    def constants(self, found: Match) -> tuple[str, ...]:
        """What is multiplied with, and what is added."""
        return tuple(found.values[name] for name in ("factor", "addend") if name in found.values)

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One number for each channel."""
        refused = (by_channel(draft, found.named["conv"], name) for name in self.constants(found))
        return next((reason for reason in refused if reason is not None), None) or super().check(found, draft)

    def factor_and_addend(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What is multiplied with, and what is added."""
        import numpy as np

        data = [draft.constant_of(name) for name in self.constants(found)]
        factor, *addend = (d.array().astype(np.float64).reshape(-1) for d in data if d is not None)
        return factor, addend[0] if addend else None
