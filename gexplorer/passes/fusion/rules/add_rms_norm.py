"""A residual addition and the RMSNorm behind it."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.norms import RMS_NORM, SUM_MESSAGES, check_sum
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, Rule


class AddRmsNorm(Rule):
    """Residual addition + RMSNorm becomes one kernel; where the sum is used again, it is its second output.

    before:  s = Add(x, residual); y = RmsNorm(s, gamma)
    after:   y, s = AddRmsNorm(x, residual, gamma)

    After the epilogues of the matrix products, which may want the addition.
    """

    name = "add_rms_norm"
    ge_name = "AddRmsNormFusionGraphPass"
    order = 711
    kernel = "AddRmsNorm"
    saves = "One round trip of the sum; one reading of it where it is used again."
    near = 2
    reads = ("x", "residual")
    pattern = op(RMS_NORM, op.Add("x", "residual", name="add", exposed=True))
    messages = SUM_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Both terms must be as large as their sum, and one of them computed in the network."""
        return check_sum(found, draft, self.kernel)
