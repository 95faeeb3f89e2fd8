"""Zero padding before a Conv."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints, Node, joined_origin
from gexplorer.passes.fusion.matcher import Match, is_number
from gexplorer.passes.fusion.padding import pads_of, text_of
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message


class PadConv(Rule):
    """Zeros around the feature map become padding of the Conv itself.

    before:  Conv(Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), w) {pads = [0, 0, 0, 0]}
    after:   Conv(x, w) {pads = [1, 1, 1, 1]}

    A Pad that feeds several Convs goes into each. Pooling, where padding is not the same as zeros, is for ``pad_pool``.
    """

    name = "pad_conv"
    ge_name = "PadConv2dFusionPass"
    order = 670
    kernel = "Conv"
    saves = "Writing and reading the padded feature map."
    near = 2
    pattern = op.Conv(op.Pad("x", name="pad", shared=True), name="conv")
    messages = Map(
        mode=Message("{blocker} pads in the mode {mode}, a Conv pads with zeros", "pad with zeros"),
        value=Message("{blocker} pads with {value}, a Conv pads with zeros", "pad with zeros"),
        unknown=Message("how much {blocker} pads is not known beforehand", "make the pads of {blocker} a constant"),
        channels=Message(
            "{blocker} pads by {pads}, other axes than the Conv's window moves on", "pad spatial axes only"
        ),
        negative=Message("{blocker} pads by {pads}: negative padding cuts, which a Conv does not", "use Slice to cut"),
        auto_pad=Message("{blocker} computes its own padding ({auto_pad}) from the size of its input"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Only zeros, only around the spatial axes, and by how much must be known."""
        pad, conv = found.named["pad"], found.named["conv"]
        mode, auto = text_of(pad.attribute("mode", "constant")), text_of(conv.attribute("auto_pad", "NOTSET"))
        if mode != "constant":
            return Reject("mode", pad.name, mode=mode)
        if auto not in ("NOTSET", "VALID"):
            return Reject("auto_pad", conv.name, auto_pad=auto)
        value = pad.inputs[2] if len(pad.inputs) > 2 else ""
        data = draft.constant_of(value) if value else None
        if (value and (data is None or not is_number(data, 0.0))) or pad.attribute("value", 0.0) != 0.0:
            return Reject("value", pad.name, value=value or pad.attribute("value"))
        pads = pads_of(pad, draft)
        if pads is None:
            return Reject("unknown", pad.name)
        if any(pads[0][:2] + pads[1][:2]):
            return Reject("channels", pad.name, pads=[*pads[0], *pads[1]])
        if min(pads[0] + pads[1]) < 0:
            return Reject("negative", pad.name, pads=[*pads[0], *pads[1]])
        return None

    def fuse(self, found: Match, draft: Draft) -> Node:
        """Adds the pads to the Conv's own and reads what the Pad read."""
        pad, conv = found.named["pad"], found.named["conv"]
        pads = pads_of(pad, draft)
        assert pads is not None
        more = [*pads[0][2:], *pads[1][2:]]
        own = conv.integers("pads") or (0,) * len(more)
        total = Ints(a + b for a, b in zip(own, more, strict=True))
        attributes = conv.attributes.set("pads", total).set("auto_pad", "NOTSET")
        inputs = (found["x"], *conv.inputs[1:])
        new = draft.update(conv, inputs=inputs, attributes=attributes, origin=joined_origin(pad, conv))
        if not draft.use_count(pad.outputs[0]):
            draft.remove(pad)
        return new
