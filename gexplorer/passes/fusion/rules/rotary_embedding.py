"""Rotary position embedding as exporters write it: rotate one half, multiply, add."""

from __future__ import annotations

from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.rule import Rule

_ROTATED = op.Concat(
    op.Neg(op.Slice("x", name="high")),
    op.Slice("x", name="low"),
    name="concat",
)


class RotaryEmbedding(Rule):
    """x * cos + rotate_half(x) * sin becomes one kernel.

    before:  Add(Mul(x, cos), Mul(Concat(Neg(Slice(x)), Slice(x)), sin))
    after:   RotaryPositionEmbedding(x, cos, sin)
    """

    name = "rotary_embedding"
    order = 620
    kernel = "RotaryPositionEmbedding"
    saves = "Six round trips of the query or key."
    near = 4
    pattern = op.Add(op.Mul("x", "cos"), op.Mul(_ROTATED, "sin"))
