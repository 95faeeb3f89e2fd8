"""Two casts in a row become one or none where the first loses nothing."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import joined_origin
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class CastCancellation(Pass):
    """Merges Cast(Cast(x)) where the inner cast keeps every value exactly.

    before:  a = Cast(x: float16, to=float32); y = Cast(a, to=float16)
    after:   users of y read x

    before:  a = Cast(x: int8, to=int32); y = Cast(a, to=float32)
    after:   y = Cast(x, to=float32)
    """

    name = "cast_cancellation"
    ge_name = "CastRemovePass"
    order = 400
    messages = Map(
        inverse=Message("{node} casts back to {to} what {inner} widened without loss"),
        merged=Message("{inner} keeps every {start} exactly, so {node} may cast from {start} at once"),
        lossy=Message("{blocker} casts {start} to {middle}, which loses values, so {node} cannot undo it"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Looks at every Cast whose input is another Cast; program order makes a chain collapse in one sweep."""
        log.settle(lambda: self._sweep(draft, log))

    def _sweep(self, draft: Draft, log: Log) -> None:
        for node in draft.candidates("Cast"):
            current = draft.current(node)
            if current is None or node.domain:
                continue
            inner = draft.producer(current.inputs[0])
            if inner is None or inner.op != "Cast" or inner.domain:
                continue
            types = [draft.value(name) for name in (inner.inputs[0], inner.outputs[0], current.outputs[0])]
            dtypes = [v.tensor.dtype if v is not None and v.tensor is not None else None for v in types]
            start, middle, end = dtypes
            if start is None or middle is None or end is None:
                continue
            if not is_lossless(start, middle):
                if start == end:
                    log.reject(node, "lossy", blocker=inner.name, start=start.label, middle=middle.label)
            elif start == end:
                with log.rewrite(node, "inverse", inner=inner.name, to=end.label):
                    draft.replace_uses(current.outputs[0], inner.inputs[0])
                    draft.remove(draft.node(node.name))
                    _remove_if_unused(draft, inner.name)
            elif draft.use_count(inner.outputs[0]) == 1 and end != DType.STRING:
                with log.rewrite(node, "merged", inner=inner.name, start=start.label):
                    draft.update(current, inputs=(inner.inputs[0],), origin=joined_origin(inner, current))
                    _remove_if_unused(draft, inner.name)


def _remove_if_unused(draft: Draft, name: str) -> None:
    node = draft.node(name)
    if not draft.use_count(node.outputs[0]):
        draft.remove(node)


# Mantissa bits (hidden one included) and exponent range: what an integer or a narrower float needs to fit.
_SIGNIFICAND_BITS = {DType.FLOAT16: 11, DType.BFLOAT16: 8, DType.FLOAT32: 24, DType.FLOAT64: 53}
_WIDER_FLOATS = {
    DType.FLOAT16: (DType.FLOAT32, DType.FLOAT64),
    DType.BFLOAT16: (DType.FLOAT32, DType.FLOAT64),
    DType.FLOAT32: (DType.FLOAT64,),
}


def is_lossless(start: DType, end: DType) -> bool:
    """True when every value of one type is exactly a value of the other."""
    if start == end:
        return True
    if start == DType.BOOL:
        return end.is_integer or end in _SIGNIFICAND_BITS
    if start.is_integer:
        magnitude = start.bits - (not start.name.startswith("U"))
        if end in _SIGNIFICAND_BITS:
            return magnitude <= _SIGNIFICAND_BITS[end]
        if not end.is_integer:
            return False
        signed, end_signed = not start.name.startswith("U"), not end.name.startswith("U")
        return magnitude <= end.bits - end_signed and (end_signed or not signed)
    return end in _WIDER_FLOATS.get(start, ())
