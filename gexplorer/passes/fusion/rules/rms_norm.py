"""RMSNorm from the pieces that exporters write."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, either, op, optional
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_X = optional("Cast", "x")
_MEAN = op("ReduceMean", either(op.Pow(_X, 2), op.Mul("y", "y")), name="mean")
_RSQRT = either(op.Reciprocal(op.Sqrt(op.Add(_MEAN, const("eps")))), op.Pow(op.Add(_MEAN, const("eps")), -0.5))
_NORMAL = either(op.Mul(_X, _RSQRT), op.Div(_X, op.Sqrt(op.Add(_MEAN, const("eps")))))


class RmsNorm(Rule):
    """x / sqrt(mean(x²) + eps), with or without its scale, becomes one RMSNorm kernel.

    before:  Mul(Mul(x, Reciprocal(Sqrt(Add(ReduceMean(Pow(x, 2)), eps)))), gamma)
    after:   RmsNorm(x, gamma)
    """

    name = "rms_norm"
    order = 610
    kernel = "RmsNorm"
    saves = "Five round trips of the hidden state and of its mean through memory."
    near = 3
    pattern = (
        op.Mul(optional("Cast", _NORMAL), const("gamma")),
        op.Mul(_X, _RSQRT),
        op.Div(_X, op.Sqrt(op.Add(_MEAN, const("eps")))),
    )
    messages = Map(
        axis=Message("{blocker} takes the mean over other axes than the last, which RmsNorm does not"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The mean must be over the last axis alone, and keep it."""
        mean = found.named["mean"]
        axes = mean.integers("axes")
        if axes is None and len(mean.inputs) > 1:
            data = draft.constant_of(mean.inputs[1])
            axes = tuple(int(a) for a in data.array().reshape(-1)) if data is not None and data.is_small else None
        type_ = tensor_of(draft, mean.inputs[0])
        last = (-1, type_.rank - 1) if type_ is not None and type_.rank is not None else (-1,)
        if axes is None or len(axes) != 1 or axes[0] not in last or not mean.attribute("keepdims", 1):
            return Reject("axis", mean.name)
        return None
