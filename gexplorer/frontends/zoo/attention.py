"""The parts of attention as the exporter writes them: heads, rotary embedding, masks, the product itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx_ir as ir

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.writer import dims_of

if TYPE_CHECKING:
    from gexplorer.frontends.zoo.writer import Writer


def split_heads(w: Writer, x: ir.Value, heads: int) -> ir.Value:
    """(batch, seq, heads * size) to (batch, heads, seq, size)."""
    batch, seq, width = dims_of(x)
    assert isinstance(width, int)
    # transformers writes view(*shape, -1, size): the reshape finds out the number of heads.
    apart = aten.view(w, x, (batch, seq, heads, width // heads), infer=2)
    return aten.transpose(w, apart, 1, 2)


def merge_heads(w: Writer, x: ir.Value) -> ir.Value:
    """(batch, heads, seq, size) to (batch, seq, heads * size)."""
    batch, heads, seq, size = dims_of(x)
    assert isinstance(heads, int)
    assert isinstance(size, int)
    together = aten.transpose(w, aten.view(w, x, (batch, heads, seq, size)), 1, 2)
    return aten.view(w, together, (batch, seq, heads * size), infer=2)


def rotate(w: Writer, x: ir.Value, cos: ir.Value, sin: ir.Value) -> ir.Value:
    """Rotary position embedding, x cos + [-x2, x1] sin with x1, x2 the halves of a head.

    Source: Su et al., RoFormer, arXiv:2104.09864, in the half-split form of transformers.
    """
    size = dims_of(x)[-1]
    assert isinstance(size, int)
    straight = aten.mul(w, x, cos)
    first = aten.slice_(w, x, 3, 0, size // 2, size=size // 2)
    second = aten.slice_(w, x, 3, size // 2, size=size // 2)
    turned = aten.cat(w, (aten.unary(w, "Neg", "aten.neg.default", second), first), -1, size)
    return aten.add(w, straight, aten.mul(w, turned, sin))


def repeat_heads(w: Writer, x: ir.Value, times: int) -> ir.Value:
    """Grouped-query attention: each key or value head serves ``times`` query heads.

    Source: Ainslie et al., GQA, arXiv:2305.13245.
    """
    if times == 1:
        return x
    batch, heads, seq, size = dims_of(x)
    assert isinstance(heads, int)
    apart = aten.slice_(w, aten.unsqueeze(w, x, 2), 3)
    repeated = aten.clone(w, aten.expand(w, apart, (batch, heads, times, seq, size)))
    return aten.view(w, repeated, (batch, heads * times, seq, size), "aten._unsafe_view.default")


def scaled_dot_product(w: Writer, query: ir.Value, key: ir.Value, value: ir.Value, mask: ir.Value) -> ir.Value:
    """softmax(q k^T / sqrt(size) + mask) v, each of q and k scaled by the root of the scale.

    In 16-bit types the softmax is computed in float32. A row that is masked out wholly gives 0, not NaN.

    Args:
        w: where to write.
        query: (batch, heads, queries, size).
        key: (batch, heads, keys, size).
        value: (batch, heads, keys, size).
        mask: booleans (batch, 1, queries, keys), true where attention is allowed.
    """
    size = dims_of(query)[-1]
    assert isinstance(size, int)
    assert query.dtype is not None
    with w.call("aten.scaled_dot_product_attention.default"):
        scale = w.op("CastLike", w.constant(1 / math.sqrt(size), aten.FLOAT), query)
        key_transposed = _swap_last_axes(w, key)
        left = w.op("Mul", query, w.op("Sqrt", scale))
        right = w.op("Mul", key_transposed, w.op("Sqrt", scale))
        zero = w.own_constant(0.0, query.dtype)
        bias = w.op("Where", mask, zero, w.own_constant(float(query.dtype.min), query.dtype))
        scores = w.op("Add", w.op("MatMul", left, right), bias)
        if query.dtype == aten.FLOAT:
            weights = w.op("Softmax", scores, axis=-1)
        else:
            wide = w.op("Softmax", w.op("Cast", scores, to=int(aten.FLOAT)), axis=-1)
            weights = w.op("Cast", wide, to=int(query.dtype))
        weights = w.op("Where", w.op("IsNaN", weights), zero, weights)
        return w.result("MatMul", weights, value, shape=dims_of(query))


def _swap_last_axes(w: Writer, x: ir.Value) -> ir.Value:
    """Transpose through three dimensions, which the exporter does for any rank."""
    shape = w.op("Shape", x, start=0)
    last = w.op("Slice", shape, w.constant([-1]), w.ints(2**63 - 1))
    before = w.op("Slice", shape, w.constant([-2]), w.constant([-1]))
    first = w.ints(-(2**63))
    stack = w.op("Slice", shape, first, w.constant([-2]))
    flat = w.op("Reshape", x, w.op("Concat", w.ints(-1), before, last, axis=0), allowzero=0)
    swapped = w.op("Transpose", flat, perm=(0, 2, 1))
    return w.op("Reshape", swapped, w.op("Concat", stack, last, before, axis=0), allowzero=0)
