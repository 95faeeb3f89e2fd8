"""What can be read off an attention in pieces: its scale, its heads, whether it is causal."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import tensor_of

# Operators between a comparison of positions and the mask that comes of it.
_MASKING = frozenset(
    ("And", "Where", "Not", "Add", "Mul", "Cast", "Expand", "Unsqueeze", "Squeeze", "Reshape", "Slice", "Concat", "Tile")
)
_MASK_NODES = 40
_MASK_BYTES = 1 << 22


def number_of(draft: Draft, name: str) -> float | None:
    """A single number that is a constant, or made of constants alone; None where it is not known."""
    data = draft.constant_of(name)
    if data is not None:
        if data.elements != 1 or not data.is_small or data.dtype == DType.STRING:
            return None
        return float(data.array().reshape(-1)[0])
    node = draft.producer(name)
    if node is None or node.domain:
        return None
    if node.op in ("Cast", "CastLike", "Reshape", "Squeeze", "Unsqueeze"):
        return number_of(draft, node.inputs[0])
    if node.op in ("Sqrt", "Reciprocal", "Mul", "Div"):
        numbers = [number_of(draft, operand) for operand in node.inputs]
        first, second = numbers[0], numbers[-1]
        if first is None or second is None or (second == 0 and node.op in ("Reciprocal", "Div")) or first < 0:
            return None
        return {"Sqrt": sqrt(first), "Mul": first * second}.get(node.op) or (first if node.op == "Div" else 1) / second
    return None


def scale_of(draft: Draft, nodes: Iterable[Node], single: Iterable[str]) -> float | None:
    """The product of the single numbers that the nodes multiply by or divide by; None where one is not known."""
    known = frozenset(single)
    scale = 1.0
    for node in nodes:
        if node.op not in ("Mul", "Div"):
            continue
        name = next((name for name in node.inputs if name in known), "")
        number = number_of(draft, name) if name else None
        if not number:
            return None
        scale = scale * number if node.op == "Mul" else scale / number
    return scale


def is_causal(draft: Draft, mask: str) -> bool | None:
    """Whether a mask keeps every query from later keys, by its constant or by how it is made; None: nobody can tell."""
    waiting, seen = [mask], set[str]()
    while waiting and len(seen) < _MASK_NODES:
        name = waiting.pop()
        node = draft.producer(name)
        if name in seen:
            continue
        seen.add(name)
        data = draft.constant_of(name)
        if data is not None and data.elements > 1:
            if data.available and data.nbytes <= _MASK_BYTES and len(data.shape) >= 2 and _hides_later(draft, name):
                return True
        elif node is not None and node.op == "Trilu" and not node.domain:
            return True
        elif node is not None and _compares_positions(draft, node):
            return True
        elif node is not None and node.op in _MASKING and not node.domain:
            waiting += node.inputs
    return None


def _hides_later(draft: Draft, name: str) -> bool:
    """A square constant that is one thing on and below the diagonal and another above it."""
    import numpy as np

    data = draft.constant_of(name)
    assert data is not None
    rows, columns = data.shape[-2:]
    if rows != columns or rows < 2 or data.dtype == DType.STRING:
        return False
    table = data.array().reshape(-1, rows, columns)
    seen = np.tril(np.ones((rows, columns), bool))
    kept, hidden = table[:, seen], table[:, ~seen]
    return bool((kept == kept.flat[0]).all() and (hidden == hidden.flat[0]).all() and kept.flat[0] != hidden.flat[0])


def _compares_positions(draft: Draft, node: Node) -> bool:
    """Positions of keys (a row) compared with positions of queries (a column): key <= query, or query >= key."""
    key, query = {"LessOrEqual": (0, 1), "GreaterOrEqual": (1, 0), "Less": (1, 0), "Greater": (0, 1)}.get(
        node.op, (-1, -1)
    )
    if key < 0 or node.domain or len(node.inputs) != 2:
        return False
    row, column = (tensor_of(draft, node.inputs[i]) for i in (key, query))
    if row is None or column is None or not row.shape or not column.shape or len(column.shape) < 2:
        return False
    flat = len(row.shape) < 2 or row.shape[-2] == 1
    return flat and row.shape[-1] != 1 and column.shape[-1] == 1 and column.shape[-2] != 1
