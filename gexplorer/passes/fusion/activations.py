"""What the activation rules have in common."""

from __future__ import annotations

from math import isclose

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match, tensor_of
from gexplorer.passes.fusion.pattern import Const, Op, Pattern, const, either, op
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message

# Exporters write constants with six digits or more; in float16 there are three.
_DIGITS = 2e-5
_HALF_DIGITS = 1e-3


class Activation(Rule):
    """A function of each element of ``x``, written out in several operators."""

    reads = ("x",)
    latest_first = True
    messages = Map(
        shape=Message("{blocker} is {type} and the result {result}: a constant of {node} may widen it"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The constants must not widen what they are applied to."""
        x, result = tensor_of(draft, found["x"]), tensor_of(draft, found.root.outputs[0])
        if x is None or result is None or x.shape is None or x.shape != result.shape:
            return Reject("shape", found["x"], type=str(x), result=str(result), node=found.root.name)
        return None


def near(number: float, text: str = "") -> Const:
    """A constant that is a number, to within the digits that exporters write."""

    def test(data: Constant) -> bool:
        if data.elements != 1 or not data.is_small or not data.dtype.is_float:
            return False
        tolerance = _HALF_DIGITS if data.dtype.bits < 32 else _DIGITS
        return isclose(float(data.array().reshape(-1)[0]), number, rel_tol=tolerance)

    return const(test=test, wanted=text or f"{number:g}")


def gated(odd: Pattern) -> tuple[Op, ...]:
    """x/2 * (1 + odd(x)), however the half is written; what tells it comes first, so that the rest can be missed."""
    gate = op.Add(odd, 1)
    half_gate = either(op.Mul(gate, 0.5), op.Div(gate, 2), op.Add(op.Mul(odd, 0.5), 0.5))
    half_x = either(op.Mul("x", 0.5), op.Div("x", 2))
    whole = op.Mul(gate, "x")
    return op.Mul(gate, half_x), op.Mul(half_gate, "x"), op.Mul(whole, 0.5), op.Div(whole, 2)
