"""Conv and the activation behind it."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import CONVS, CubeEpilogue, activated, has_own_gate
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.trace.records import Message


class ConvActivation(CubeEpilogue):
    """Conv (with bias or BatchNorm) + activation becomes one kernel.

    before:  Relu(ConvBatchNorm(x, w, ...))
    after:   ConvActivation(x, w, ...) {epilogue = [BatchNormalization, Relu]}
    """

    name = "conv_activation"
    order = 684
    kernel = "ConvActivation"
    saves = "One round trip of the feature map through memory."
    near = 2
    latest_first = True
    pattern = activated(op(CONVS, name="cube"))
    messages = Map(
        other_gate=Message("{blocker} multiplies a Conv with the sigmoid of another Conv: a gate, not an activation"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """A product with a sigmoid is an activation only where both are of the same value."""
        return None if has_own_gate(found) else Reject("other_gate", found.root.name)
