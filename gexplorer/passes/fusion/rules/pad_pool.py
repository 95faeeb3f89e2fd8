"""Padding before a pooling operator."""

from __future__ import annotations

from math import inf

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints, Node, joined_origin
from gexplorer.passes.fusion.attention import number_of
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.padding import pads_of, text_of, value_of
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

# What never gives a negative number, whatever it is given.
_NOT_NEGATIVE = frozenset(("Relu", "Sigmoid", "HardSigmoid", "Softmax", "Abs", "Exp", "Softplus", "Sqrt"))
# What picks among the numbers that it is given.
_PICKS = frozenset(("MaxPool", "GlobalMaxPool", "Reshape", "Transpose", "Identity", "Squeeze", "Unsqueeze", "Flatten"))
_SEARCHED = 8


class PadPool(Rule):
    """Padding around the feature map becomes padding of the pooling operator itself.

    before:  AveragePool(Pad(x, [0, 0, 1, 1, 0, 0, 1, 1])) {kernel_shape = [3, 3]}
    after:   AveragePool(x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1}

    A MaxPool pads with minus infinity. Zeros are as good where nothing in the feature map is below them, as behind a
    Relu, since every window holds something of the feature map.
    """

    name = "pad_pool"
    order = 671
    kernel = "AveragePool"
    saves = "Writing and reading the padded feature map."
    near = 2
    telling = frozenset(("Pad",))
    pattern = op("AveragePool|MaxPool", op.Pad("x", name="pad", shared=True), name="pool")
    messages = Map(
        mode=Message("{blocker} pads in the mode {mode}, pooling with one number", "pad with a constant"),
        value=Message("{blocker} pads with {value}, {pool} averages zeros", "pad with zeros"),
        below=Message(
            "{blocker} pads with {value}, and something in {x} may be less: it would be the maximum of its window",
            "pad with minus infinity",
        ),
        unknown=Message("how much {blocker} pads is not known beforehand", "make the pads of {blocker} a constant"),
        channels=Message("{blocker} pads by {pads}, other axes than the window moves on", "pad spatial axes only"),
        negative=Message("{blocker} pads by {pads}: negative padding cuts, which pooling does not", "use Slice to cut"),
        auto_pad=Message("{blocker} computes its own padding ({auto_pad}) from the size of its input"),
        ceil=Message("{blocker} rounds its size up (ceil_mode), so its last windows end beyond the padding"),
        counts=Message(
            "{blocker} pads by {own} itself and leaves that out of the average, but not what {pad} pads",
            "pad with {pad} alone",
        ),
        window=Message(
            "{pad} and {blocker} pad by {pads}, as much as the window of {kernel}: some windows would hold nothing else"
        ),
        dilated=Message(
            "{blocker} leaves out places in its windows ({dilations}), so that some may hold padding alone"
        ),
        old=Message("{blocker} of opset {opset} has no way to count what is padded", "export with opset 7 or later"),
        indices=Message("{blocker} gives the places of its maxima ({indices}), which count the padding"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """By how much and with what must be known, and be what the pooling does by itself."""
        pad, pool = found.named["pad"], found.named["pool"]
        mode, auto = text_of(pad.attribute("mode", "constant")), text_of(pool.attribute("auto_pad", "NOTSET"))
        if mode != "constant":
            return Reject("mode", pad.name, mode=mode)
        if auto not in ("NOTSET", "VALID"):
            return Reject("auto_pad", pool.name, auto_pad=auto)
        if pool.attribute("ceil_mode", 0):
            return Reject("ceil", pool.name)
        if pool.op == "AveragePool" and draft.opsets.get("", 7) < 7:
            return Reject("old", pool.name, opset=draft.opsets[""])
        if any(step != 1 for step in pool.integers("dilations") or ()):
            return Reject("dilated", pool.name, dilations=list(pool.integers("dilations") or ()))
        if any(pool.outputs[1:]):
            return Reject("indices", pool.name, indices=pool.outputs[1])
        pads = pads_of(pad, draft)
        if pads is None:
            return Reject("unknown", pad.name)
        return _amount(pad, pool, pads) or _number(pad, pool, draft)

    def fuse(self, found: Match, draft: Draft) -> Node:
        """Adds the pads to those of the pooling, which reads what the Pad read."""
        pad, pool = found.named["pad"], found.named["pool"]
        pads = pads_of(pad, draft)
        assert pads is not None
        attributes = pool.attributes.set("pads", _total(pool, pads)).set("auto_pad", "NOTSET")
        if pool.op == "AveragePool":
            attributes = attributes.set("count_include_pad", 1)
        inputs = (found["x"], *pool.inputs[1:])
        new = draft.update(pool, inputs=inputs, attributes=attributes, origin=joined_origin(pad, pool))
        if not draft.use_count(pad.outputs[0]):
            draft.remove(pad)
        return new


_Pads = tuple[tuple[int, ...], tuple[int, ...]]


def _total(pool: Node, pads: _Pads) -> Ints:
    more = [*pads[0][2:], *pads[1][2:]]
    own = pool.integers("pads") or (0,) * len(more)
    return Ints(a + b for a, b in zip(own, more, strict=True))


def _amount(pad: Node, pool: Node, pads: _Pads) -> Reject | None:
    """Only around the spatial axes, and less than a window: of padding alone there is no average and no maximum."""
    said = [*pads[0], *pads[1]]
    if any(pads[0][:2] + pads[1][:2]):
        return Reject("channels", pad.name, pads=said)
    if min(said) < 0:
        return Reject("negative", pad.name, pads=said)
    own, kernel = pool.integers("pads"), pool.integers("kernel_shape") or ()
    total = _total(pool, pads)
    if any(amount >= size for amount, size in zip(total, kernel * 2, strict=True)):
        return Reject("window", pool.name, pad=pad.name, pads=list(total), kernel=list(kernel))
    if pool.op == "AveragePool" and any(own or ()) and not pool.attribute("count_include_pad", 0):
        return Reject("counts", pool.name, own=list(own or ()), pad=pad.name)
    return None


def _number(pad: Node, pool: Node, draft: Draft) -> Reject | None:
    """An average takes zeros; a maximum takes what nothing in the feature map is below."""
    value = value_of(pad, draft)
    x, *given = pad.inputs
    shown = "".join(given[1:2]) if value is None else f"{value:g}"
    if pool.op == "AveragePool":
        return None if value == 0 else Reject("value", pad.name, value=shown, pool=pool.name)
    if value == -inf or (value is not None and value <= 0 and _not_negative(x, draft)):
        return None
    return Reject("below", pad.name, value=shown, x=x)


def _not_negative(name: str, draft: Draft) -> bool:
    """True when nothing in a value can be below zero, by the operators that made it."""
    for _ in range(_SEARCHED):
        type_, node = tensor_of(draft, name), draft.producer(name)
        if type_ is not None and type_.dtype.label.startswith("u"):
            return True
        if node is None or node.domain:
            return False
        if node.op == "Clip":
            least = node.attribute("min") if len(node.inputs) < 2 else number_of(draft, node.inputs[1])
            return isinstance(least, int | float) and least >= 0
        if node.op in _NOT_NEGATIVE:
            return True
        if node.op not in _PICKS:
            return False
        name = node.inputs[0]
    return False
