"""Mish: x times the hyperbolic tangent of its softplus."""

from __future__ import annotations

from gexplorer.passes.fusion.activations import Activation
from gexplorer.passes.fusion.pattern import either, op

_SOFTPLUS = either(op.Softplus("x"), op.Log(op.Add(op.Exp("x"), 1)))


class Mish(Activation):
    """x * tanh(log(1 + exp(x))) becomes one kernel.

    before:  Mul(x, Tanh(Softplus(x)))
    after:   Mish(x)
    """

    name = "mish"
    order = 602
    kernel = "Mish"
    saves = "Two to four round trips of the activation."
    near = 3
    telling = frozenset(("Softplus", "Log"))
    pattern = op.Mul(op.Tanh(_SOFTPLUS), "x")
