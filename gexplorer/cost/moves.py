"""How long the runs of bytes are that a move reads and writes: what decides how fast it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gexplorer.cost.instructions import shaped
from gexplorer.ir.graph import Ints, Node
from gexplorer.ir.types import Type

# A transposition that moves the last axis turns squares of so many elements in UB: two of them, in and out, double,
# of two bytes an element, are 128 of its 192 KiB.
TURNED = 128
# Elements of the last axis of a fractal format (NC1HWC0, FRACTAL_NZ) that lie together, of 16 bits each.
FRACTAL_RUN_BYTES = 32


def run_bytes(node: Node, inputs: Sequence[Type | None], outputs: Sequence[Type | None]) -> float:
    """Bytes that lie together on the side where they lie together least.

    Raises:
        CannotTell: a shape is not known.
    """
    type_, _ = shaped(outputs[0])
    e = type_.dtype.bits / 8
    shape = tuple(dim for dim in type_.shape or () if isinstance(dim, int))
    if node.op == "TransData":
        return FRACTAL_RUN_BYTES
    if not shape:
        return e
    if node.op == "Transpose":
        return _transposed(node, shape) * e
    if node.op in ("Concat", "Split"):
        axis = node.attribute("axis", 0)
        axis = axis if isinstance(axis, int) else 0
        parts = [t for t in (inputs if node.op == "Concat" else outputs) if t is not None]
        dims = [tuple(d for d in shaped(t)[0].shape or () if isinstance(d, int)) for t in parts]
        return max(min((prod(d[axis:] if axis >= 0 else d[len(d) + axis :]) for d in dims), default=1), 1) * e
    if node.op == "Gather" and len(inputs) > 1:
        data, _ = shaped(inputs[0])
        dims = tuple(d for d in data.shape or () if isinstance(d, int))
        axis = node.integer("axis", 0)
        return max(prod(dims[(axis if axis >= 0 else len(dims) + axis) + 1 :]), 1) * e
    if node.op in ("GatherElements", "ScatterElements", "Scatter"):
        return e
    return max(shape[-1], 1) * e


def _transposed(node: Node, made: tuple[int, ...]) -> int:
    """Elements together: the axes at the end that stay; squares in UB where the last one moves."""
    perm = node.attribute("perm")
    order = tuple(perm) if isinstance(perm, Ints) else tuple(reversed(range(len(made))))
    kept = 0
    while kept < len(order) and order[len(order) - 1 - kept] == len(order) - 1 - kept:
        kept += 1
    if kept:
        return max(prod(made[len(made) - kept :]), 1)
    last_given = made[order.index(len(order) - 1)] if order else 1
    return max(min(TURNED, made[-1], last_given), 1)
