"""What can be read off an attention in pieces: its scale, its heads, whether it is causal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import sqrt

from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.ir.symbols import Dim, Shape, Symbol, at_least, operands, parse_dim
from gexplorer.passes.fusion.matcher import Match, tensor_of
from gexplorer.passes.fusion.rule import Reject

# Operators between a comparison of positions and the mask that comes of it.
_MASKING = frozenset(
    ("And", "Where", "Not", "Add", "Mul", "Cast", "Expand", "Unsqueeze", "Squeeze", "Reshape", "Slice", "Tile")
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


def is_single(draft: Draft, name: str) -> bool:
    """True for a tensor of one element."""
    type_ = tensor_of(draft, name)
    return type_ is not None and type_.elements == 1


def scale_of(draft: Draft, nodes: Iterable[Node]) -> float | None:
    """The product of the single numbers that the nodes multiply tensors by or divide them by; None where unknown."""
    scale = 1.0
    for node in nodes:
        if node.op == "Tanh":  # caps the scores: then the numbers are not all of one scale
            return None
        if node.op not in ("Mul", "Div") or is_single(draft, node.outputs[0]):
            continue
        number = next((number_of(draft, name) for name in node.inputs if is_single(draft, name)), None)
        if not number:
            return None
        scale = scale * number if node.op == "Mul" else scale / number
    return scale


def _shape(draft: Draft, name: str) -> Shape:
    type_ = tensor_of(draft, name)
    return type_.shape if type_ is not None and type_.shape is not None else ()


def heads_of(draft: Draft, scores: Node, weighted: Node, nodes: Iterable[Node]) -> dict[str, int]:
    """Heads of the queries and of the keys, and the size of a head, where they are known."""
    q, k, v = (_shape(draft, name) for name in (*scores.inputs, weighted.inputs[1]))
    split = [shape for shape in (q, k, v) if len(shape) > 3]
    repeated = [_shape(draft, node.outputs[0]) for node in nodes if node.op == "Expand"]
    found = {
        "heads": [shape[-3] for shape in split],
        "kv_heads": [shape[-4] for shape in repeated if len(shape) == 5] or [shape[-3] for shape in split[-2:]],
        "head_dim": list(q[-2:-1] if scores.attribute("transpose_a", 0) else q[-1:]),
    }
    known = {key: [dim for dim in dims if isinstance(dim, int)] for key, dims in found.items()}
    return {key: dims[0] for key, dims in known.items() if dims}


def steps_between(found: Match) -> list[tuple[Node, int]]:
    """The nodes between softmax and scores, last one first, each with which of its inputs leads to the scores."""
    nodes = list(found.nodes)
    path = nodes[nodes.index(found.named["softmax"]) : nodes.index(found.named["scores"]) + 1]
    return [(node, node.inputs.index(below.outputs[0])) for node, below in pairwise(path)][1:]


def masks_of(found: Match) -> list[str]:
    """What is added to the scores, or chooses among them."""
    steps = [(node, i) for node, i in steps_between(found) if node.op in ("Add", "Where")]
    return [name for node, leading in steps for i, name in enumerate(node.inputs) if i != leading]


def check_step(node: Node, operand: int, scores: Node, draft: Draft) -> Reject | None:
    """What is wrong with one operator between softmax and scores, which ``operand`` leads to."""
    before, after = tensor_of(draft, node.inputs[operand]), tensor_of(draft, node.outputs[0])
    others = [name for i, name in enumerate(node.inputs) if i != operand]
    if node.op in ("Div", "Sub") and operand != 0:
        return Reject("divides", node.name, op=node.op)
    if node.op == "Where" and operand == 0:
        return Reject("condition", node.name)
    if node.op in ("Mul", "Div", "Max") and not all(is_single(draft, name) for name in others):
        return Reject("scale", node.name, op=node.op, type=tensor_of(draft, others[0]), node=scores.name)
    if node.op == "Cast" and after is not None and not after.dtype.is_float:
        return Reject("retypes", node.name, type=after.dtype.label)
    if before is not None and after is not None and before.shape and after.shape:
        rank = len(before.shape) == len(after.shape) or node.op == "Reshape"
        same = before.shape[-2:] == after.shape[-2:] or _never_wider(draft, others, before.shape, after.shape)
        if not same or not rank:
            return Reject("widens", node.name, op=node.op, type=after, scores=before, node=scores.name)
    return None


def _never_wider(draft: Draft, others: Iterable[str], scores: Shape, after: Shape) -> bool:
    """Where a dimension of the result is not known, that is no wider than the scores since no other operand is."""
    if len(after) < 2 or len(scores) < 2:
        return False
    for place in (-2, -1):
        whole = scores[place]
        if after[place] == whole:
            continue
        dims = [shape[place] for shape in (_shape(draft, name) for name in others) if len(shape) >= -place]
        if after[place] is not None or whole is None or not all(_at_most(dim, whole) for dim in dims):
            return False
    return True


def _at_most(dim: Dim, whole: int | Symbol) -> bool:
    """True where a dimension is certainly no greater; masks are cut to the queries by Slice: so come min and max."""
    if dim is None:
        return False
    found = operands(dim)
    if found is not None and found[0] == "max":
        return all(_at_most(side, whole) for side in found[1:])
    if at_least(whole, dim):
        return True
    if not isinstance(dim, Symbol):
        return False
    for atom in sorted(dim.atoms):
        found = operands(parse_dim(atom))
        added = all(part == (atom,) and count > 0 for part, count in dim.terms if atom in part)
        if found is not None and found[0] == "min" and added:  # then each side of it gives an upper bound
            return any(_at_most(dim.substitute({atom: side}), whole) for side in found[1:])
    return False


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
        elif node is not None and not node.domain:
            if node.op == "Trilu" or _compares_positions(draft, node):
                return True
            if node.op in _MASKING:
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
    if key < 0 or len(node.inputs) != 2:
        return False
    row, column = _shape(draft, node.inputs[key]), _shape(draft, node.inputs[query])
    if not row or len(column) < 2 or row[-2:-1] not in ((), (1,)):
        return False
    return row[-1] != 1 and column[-1] == 1 and column[-2] != 1
