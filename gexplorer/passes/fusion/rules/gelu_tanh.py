"""GELU in its approximate form, with the hyperbolic tangent."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.activations import Activation, gated, near
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op

_ROOT = near((2 / 3.141592653589793) ** 0.5, "√(2/π)")
_SQUARE = either(op.Mul("x", "x"), op.Pow("x", 2))
_CUBE = either(op.Pow("x", 3), op.Mul("x", _SQUARE))
_SCALED_SQUARE = either(op.Mul("x", op.Mul("x", near(0.044715))), op.Mul(_SQUARE, near(0.044715)))
_SUM = op.Add("x", either(op.Mul(_CUBE, near(0.044715)), op.Mul("x", _SCALED_SQUARE)))
_PRODUCT = op.Add(_SCALED_SQUARE, 1)
_TANH = op.Tanh(
    either(
        op.Mul(_SUM, _ROOT),
        op.Mul(op.Mul("x", _ROOT), _PRODUCT),
        op.Mul(op.Mul("x", _PRODUCT), _ROOT),
    )
)


class GeluTanh(Activation):
    """x/2 * (1 + tanh(√(2/π) * (x + 0.044715 x³))) becomes one kernel.

    before:  Mul(Mul(x, 0.5), Add(Tanh(Mul(Add(x, Mul(Pow(x, 3), 0.044715)), 0.7978846)), 1))
    after:   Gelu(x) {approximate = "tanh"}

    The exact form is a rule of its own: both give other numbers, up to 5e-4 apart.
    """

    name = "gelu_tanh"
    order = 601
    kernel = "Gelu"
    saves = "Seven round trips of the widest activation of the network."
    near = 3
    telling = frozenset(("Tanh",))
    pattern = gated(_TANH)

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The form, named as ONNX does."""
        return Map(approximate="tanh")
