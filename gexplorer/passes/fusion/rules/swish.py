"""Swish, also called SiLU: x times its sigmoid."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.activations import Activation
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, either, op

_SCALED = op.Mul("x", const("beta", test=lambda data: data.elements == 1, wanted="one constant number"))


class Swish(Activation):
    """x * sigmoid(beta * x) becomes one kernel; beta is 1 in SiLU, 1.702 in the quick GELU of CLIP.

    before:  Mul(x, Sigmoid(x))
    after:   Swish(x)
    """

    name = "swish"
    order = 604
    kernel = "Swish"
    saves = "One round trip of the activation, two with beta."
    near = 2
    telling = frozenset(("Sigmoid",))
    pattern = op.Mul(op.Sigmoid(either("x", _SCALED)), "x")

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The factor before the sigmoid."""
        data = draft.constant_of(found.values["beta"]) if "beta" in found.values else None
        known = data is not None and data.is_small
        return Map(scale=float(data.array().reshape(-1)[0]) if data is not None and known else 1.0)
