"""What the rules for Pad share: how much it pads, and with what."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import tensor_of


def pads_of(pad: Node, draft: Draft) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Pads before and after each axis; None where they or the rank are not known."""
    type_ = tensor_of(draft, pad.inputs[0])
    if type_ is None or type_.rank is None:
        return None
    given = pad.integers("pads") if len(pad.inputs) < 2 else _integers(pad.inputs[1], draft)
    axes = range(type_.rank) if len(pad.inputs) < 4 or not pad.inputs[3] else _integers(pad.inputs[3], draft)
    if given is None or axes is None or len(given) != 2 * len(axes):
        return None
    before, after = [0] * type_.rank, [0] * type_.rank
    for axis, low, high in zip(axes, given[: len(axes)], given[len(axes) :], strict=True):
        before[axis], after[axis] = low, high
    return tuple(before), tuple(after)


def value_of(pad: Node, draft: Draft) -> float | None:
    """What a Pad of the mode ``constant`` pads with; None where it comes at run time."""
    name = pad.inputs[2] if len(pad.inputs) > 2 else ""
    if not name:
        value = pad.attribute("value", 0.0)
        return float(value) if isinstance(value, int | float) else None
    data = draft.constant_of(name)
    return float(data.array().reshape(-1)[0]) if data is not None and data.is_small and data.elements == 1 else None


def text_of(value: object) -> str:
    """A text attribute, which may be bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _integers(name: str, draft: Draft) -> tuple[int, ...] | None:
    data = draft.constant_of(name)
    return tuple(int(item) for item in data.array().reshape(-1)) if data is not None and data.is_small else None
