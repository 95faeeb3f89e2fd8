"""HardSwish: x times a clipped line."""

from __future__ import annotations

from math import isclose

from gexplorer.passes.fusion.activations import Activation, near
from gexplorer.passes.fusion.pattern import either, op


def _is_sixth(value: object) -> bool:
    return isinstance(value, float) and isclose(value, 1 / 6, rel_tol=1e-3)


def _is_half(value: object) -> bool:
    return value is None or value == 0.5  # what it is where absent


_SHIFTED = op.Add("x", 3)
_CLIPPED = either(
    op.Clip(_SHIFTED, 0, 6),
    op.Clip(_SHIFTED, attributes={"min": 0.0, "max": 6.0}),
    op.Min(op.Relu(_SHIFTED), 6),
)
_SIXTH = near(1 / 6, "1/6")
_LINE = either(
    op.HardSigmoid("x", attributes={"alpha": _is_sixth, "beta": _is_half}),
    op.Div(_CLIPPED, 6),
    op.Mul(_CLIPPED, _SIXTH),
)


class HardSwish(Activation):
    """x * clip(x + 3, 0, 6) / 6 becomes one kernel.

    before:  Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)
    after:   HardSwish(x)
    """

    name = "hard_swish"
    order = 603
    kernel = "HardSwish"
    saves = "Three round trips of the activation."
    near = 2
    telling = frozenset(("Clip", "HardSigmoid", "Min"))
    pattern = (
        op.Mul(_LINE, "x"),
        op.Div(op.Mul(_CLIPPED, "x"), 6),
        op.Mul(op.Mul(_CLIPPED, "x"), _SIXTH),
    )
