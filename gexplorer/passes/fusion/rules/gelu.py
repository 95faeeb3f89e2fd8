"""GELU in its exact form, with the error function."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.activations import Activation, gated, near
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op

_ERF = op.Erf(either(op.Div("x", near(2**0.5, "√2")), op.Mul("x", near(0.5**0.5, "1/√2"))))


class Gelu(Activation):
    """x/2 * (1 + erf(x/√2)) becomes one kernel; what tanh approximates is another rule's.

    before:  Mul(Mul(x, 0.5), Add(Erf(Div(x, 1.4142135)), 1))
    after:   Gelu(x)
    """

    name = "gelu"
    order = 600
    kernel = "Gelu"
    saves = "Four round trips of the widest activation of the network."
    near = 3
    telling = frozenset(("Erf",))
    pattern = gated(_ERF)

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The form, named as ONNX does."""
        return Map(approximate="none")
