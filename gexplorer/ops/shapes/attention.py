"""ONNX's Attention: its own inference invents dimensions where ranks or heads are not known."""

from __future__ import annotations

from gexplorer.ir.symbols import Dim, Shape, floor_div
from gexplorer.ops.shapes.arithmetic import add, multiply
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, tensor
from gexplorer.ops.shapes.registry import Call, shape_of


@shape_of("Attention")
def attention(call: Call) -> tuple[Fact, ...]:
    """``softmax(Q K^T) V``: the result, present keys and values, and the scores.

    Queries, keys and values are ``[batch, heads, length, size]`` or, with heads in attributes,
    ``[batch, length, heads * size]``. Past keys and values come before the new ones.
    """
    dtype, value_dtype = call.dtype(0), call.dtype(2)
    if dtype is None or value_dtype is None:
        return (UNKNOWN,) * len(call.node.outputs)
    query = _by_heads(call, 0, "q_num_heads")
    key = _by_heads(call, 1, "kv_num_heads")
    value = _by_heads(call, 2, "kv_num_heads")
    result: Shape | None = None
    rank = None if call.shape(0) is None else len(call.shape(0) or ())
    if rank == 4:
        result = (query[0], query[1], query[2], value[3])
    elif rank == 3:
        result = (query[0], query[2], multiply(query[1], value[3]))
    keys = (key[0], key[1], _total(call, 4, key[2]), key[3])
    values = (value[0], value[1], _total(call, 5, value[2]), value[3])
    scores = (query[0], query[1], query[2], keys[2])
    facts = (
        tensor(dtype, result),
        tensor(call.dtype(1) or dtype, keys),
        tensor(value_dtype, values),
        tensor(dtype, scores),
    )
    return facts[: len(call.node.outputs)]


def _by_heads(call: Call, index: int, heads: str) -> tuple[Dim, Dim, Dim, Dim]:
    """Batch, heads, length and size of an input."""
    shape = call.shape(index)
    if shape is None:
        return (None, None, None, None)
    if len(shape) == 4:
        return (shape[0], shape[1], shape[2], shape[3])
    if len(shape) != 3:
        raise call.error(f"input {index} must have rank 3 or 4, it has {len(shape)}")
    count = call.node.attribute(heads)
    if not isinstance(count, int) or count < 1:
        raise call.error(f"inputs of rank 3 need the attribute {heads}")
    return (shape[0], count, shape[1], floor_div(shape[2], count))


def _total(call: Call, past: int, length: Dim) -> Dim:
    """Length with what came before, where there is a past."""
    if not call.has(past):
        return length
    before = call.shape(past)
    return add(before[2], length) if before is not None and len(before) == 4 else None
