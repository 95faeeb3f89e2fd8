"""Two products in a row are never one kernel, and this says why."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, either, op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

# L1 of one cube core of Ascend 910B, and the rows that it multiplies at once. Source: catlass, arch.hpp.
L1_BYTES = 512 * 1024
_ROWS = 16

_LINEAR = "MatMul|MatMulBias|Gemm"
_FIRST = op(_LINEAR, "x", const("first", wanted="a constant weight"), name="inner")


class ConsecutiveMatMul(Rule):
    """A guard: MatMul behind MatMul is left alone (the third rule of article A1, with the true reason).

    before:  MatMul(MatMul(x, w1), w2)
    after:   the same, and a near miss that reckons what one kernel would have to hold

    A kernel that makes a panel of rows of the first product and multiplies it again needs the panel and both weights in
    L1 at once, or loads the weights anew for every panel.
    """

    name = "consecutive_matmul"
    order = 677
    kernel = "MatMulMatMul"
    saves = "Nothing: it never fuses."
    near = 9  # half a pair is no miss
    pattern = op(_LINEAR, either(_FIRST, op.Reshape(_FIRST)), const("second", wanted="a constant weight"))
    messages = Map(
        does_not_fit=Message(
            "{blocker} and {node} stay two kernels: {rows} rows of what is between ({panel} bytes), {first} ({a} bytes)"
            " and {second} ({b} bytes) are {total} bytes, {excess} more than the {l1} of L1",
            "multiply {first} by {second} beforehand: nothing stands between the two products",
        ),
        fits=Message(
            "{blocker} and {node} stay two kernels, though {rows} rows of what is between and both weights fit L1"
            " ({total} of {l1} bytes): no kernel multiplies twice",
            "multiply {first} by {second} beforehand: nothing stands between the two products",
        ),
        unknown=Message("{blocker} and {node} stay two kernels: the size of {value} is not known"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Always declines; the reckoning says why."""
        inner, node, names = found.named["inner"], found.root.name, (found["first"], found["second"])
        between = tensor_of(draft, inner.outputs[0])
        width = between.shape[-1] if between is not None and between.shape else None
        if between is None or not isinstance(width, int):
            return Reject("unknown", inner.name, node=node, value=inner.outputs[0])
        a, b = (_bytes(draft, name) for name in names)
        panel = between.dtype.nbytes(_ROWS * width)
        total = panel + a + b
        said = {"node": node, "rows": _ROWS, "first": names[0], "second": names[1], "total": total, "l1": L1_BYTES}
        if total <= L1_BYTES:
            return Reject("fits", inner.name, **said)
        return Reject("does_not_fit", inner.name, panel=panel, a=a, b=b, excess=total - L1_BYTES, **said)


def _bytes(draft: Draft, name: str) -> int:
    data = draft.constant_of(name)
    return data.nbytes if data is not None else 0
