"""Arithmetic of two quantised tensors whose result is quantised again."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

# As each kernel computes them anew, the wide operands may have other users.
_A, _B = (op.DequantizeLinear(name, name=f"{name}_wide", shared=True) for name in "ab")
_ARITHMETIC = op("Add|Sub|Mul", _A, _B, name="arithmetic")


class QuantisedAdd(Rule):
    """Add (or Sub, or Mul) between DequantizeLinear and QuantizeLinear becomes one vector kernel on bytes.

    before:  QuantizeLinear(Relu(Add(DequantizeLinear(a), DequantizeLinear(b))), scale)
    after:   QuantAdd(a, b, scales)

    The residual connections of a quantised network are such. A rule of ours: GE's list has none, since tools of CANN
    quantise the operators of the cube unit alone.
    """

    name = "quantised_add"
    order = 637
    kernel = "QuantAdd"
    kind = "ub"
    saves = "Three quarters of the bytes that go in and out, and one round trip for each intermediate."
    near = 4
    telling = frozenset(("DequantizeLinear",))
    reads = ("a", "b")
    pattern = op.QuantizeLinear(either(op("Relu|Clip|LeakyRelu|HardSwish", _ARITHMETIC), _ARITHMETIC))
    messages = Map(
        widens=Message(
            "{blocker} makes {type} of {a_type} and {b_type}: each tile would widen the smaller one again",
            "expand the smaller one before it is quantised",
        ),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Both operands must have the result's shape, or one of them be a single number."""
        made = tensor_of(draft, found.root.outputs[0])
        types = [tensor_of(draft, found[name]) for name in "ab"]
        fits = [
            type_ is not None
            and type_.shape is not None
            and made is not None
            and (type_.shape == made.shape or type_.elements == 1)
            for type_ in types
        ]
        if all(fits) and made is not None and any(type_ is not None and type_.shape == made.shape for type_ in types):
            return None
        said = "of unknown type"
        values = {"type": made or said, "a_type": types[0] or said, "b_type": types[1] or said}
        return Reject("widens", found.named["arithmetic"].name, **values)

    def kernel_of(self, found: Match) -> str:
        """By what it computes."""
        return f"Quant{found.named['arithmetic'].op}"
