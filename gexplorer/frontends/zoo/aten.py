"""ATen calls as the nodes that torch's exporter (dynamo, opset 20, not optimised) writes for them.

Each function is one call: it takes and gives `onnx_ir.Value`s with declared shapes. The surplus that the
exporter writes (``Cast`` of an integer to an integer, ``Reshape`` of a scalar to a list) is kept on purpose:
it is what a compiler gets to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from gexplorer.frontends.zoo.writer import dims_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gexplorer.frontends.zoo.entry import Dim
    from gexplorer.frontends.zoo.writer import Shape, Writer

TO_THE_END = 2**63 - 1
"""What the exporter writes for the end of a slice that has none."""

INT64 = ir.DataType.INT64
FLOAT = ir.DataType.FLOAT
BOOL = ir.DataType.BOOL


def broadcast(left: ir.Value, right: ir.Value) -> Shape:
    """The shape of an element-wise result; two different names count as equal, the left one stays."""
    a, b = dims_of(left), dims_of(right)
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(y if x == 1 else x for x, y in pairs)


def binary(
    w: Writer, op_type: str, target: str, left: ir.Value, right: ir.Value, dtype: ir.DataType | None = None
) -> ir.Value:
    """An element-wise call of two operands; ``dtype`` is the left operand's unless given."""
    with w.call(target):
        return w.result(op_type, left, right, shape=broadcast(left, right), dtype=dtype or left.dtype)


def with_scalar(w: Writer, op_type: str, target: str, left: ir.Value, scalar: float) -> ir.Value:
    """An element-wise call whose second operand is a number."""
    with w.call(target):
        right = w.constant(scalar, _dtype(left))
        return w.result(op_type, left, right, shape=dims_of(left), dtype=left.dtype)


def add(w: Writer, left: ir.Value, right: ir.Value) -> ir.Value:
    """``left + right``."""
    return binary(w, "Add", "aten.add.Tensor", left, right)


def mul(w: Writer, left: ir.Value, right: ir.Value) -> ir.Value:
    """``left * right``."""
    return binary(w, "Mul", "aten.mul.Tensor", left, right)


def unary(w: Writer, op_type: str, target: str, x: ir.Value) -> ir.Value:
    """An element-wise call of one operand that is one node."""
    with w.call(target):
        return w.result(op_type, x, shape=dims_of(x), dtype=x.dtype)


def to_copy(w: Writer, x: ir.Value, dtype: ir.DataType) -> ir.Value:
    """``x.to(dtype)``; nothing is written if it has that type."""
    if x.dtype == dtype:
        return x
    with w.call("aten._to_copy.default"):
        return w.result("Cast", x, shape=dims_of(x), dtype=dtype, to=int(dtype))


def clone(w: Writer, x: ir.Value) -> ir.Value:
    """A copy; also what dropout is at inference."""
    return unary(w, "Identity", "aten.clone.default", x)


def softmax(w: Writer, x: ir.Value) -> ir.Value:
    """Softmax over the last axis."""
    with w.call("aten._softmax.default", "softmax"):
        return w.result("Softmax", x, shape=dims_of(x), dtype=x.dtype, axis=-1)


def matmul(w: Writer, left: ir.Value, right: ir.Value) -> ir.Value:
    """Product of two stacks of matrices."""
    with w.call("aten.matmul.default"):
        shape = (*dims_of(left)[:-1], dims_of(right)[-1])
        return w.result("MatMul", left, right, shape=shape, dtype=left.dtype)


def transpose(w: Writer, x: ir.Value, first: int, second: int) -> ir.Value:
    """Swap two axes, given as numbers from 0."""
    order = list(range(len(dims_of(x))))
    order[first], order[second] = order[second], order[first]
    return permute(w, x, tuple(order), "aten.transpose.int")


def permute(w: Writer, x: ir.Value, order: tuple[int, ...], target: str = "aten.permute.default") -> ir.Value:
    """Put the axes in a new order."""
    dims = dims_of(x)
    with w.call(target):
        shape = tuple(dims[axis] for axis in order)
        return w.result("Transpose", x, shape=shape, dtype=x.dtype, perm=order)


def cat(w: Writer, parts: tuple[ir.Value, ...], axis: int, size: Dim) -> ir.Value:
    """Concatenate; ``axis`` counts from the end (negative), ``size`` is the result's on that axis."""
    shape = list(dims_of(parts[0]))
    shape[axis] = size
    with w.call("aten.cat.default"):
        return w.result("Concat", *parts, shape=tuple(shape), dtype=parts[0].dtype, axis=axis)


def unsqueeze(w: Writer, x: ir.Value, axis: int) -> ir.Value:
    """Insert an axis of size 1 before ``axis``."""
    dims = dims_of(x)
    at = axis if axis >= 0 else len(dims) + 1 + axis
    with w.call("aten.unsqueeze.default"):
        shape = (*dims[:at], 1, *dims[at:])
        return w.result("Unsqueeze", x, w.constant([axis]), shape=shape, dtype=x.dtype)


def slice_(
    w: Writer,
    x: ir.Value,
    axis: int,
    start: Dim = 0,
    end: Dim = TO_THE_END,
    *,
    size: Dim | None = None,
) -> ir.Value:
    """``x[start:end]`` on one axis; ``size`` is the result's there, that of ``x`` unless given."""
    shape = list(dims_of(x))
    if size is not None:
        shape[axis] = size
    with w.call("aten.slice.Tensor"):
        bounds = [_as_list(w, bound) for bound in (start, end, axis)]
        return w.result("Slice", x, *bounds, w.ints(1), shape=tuple(shape), dtype=x.dtype)


def _as_list(w: Writer, bound: Dim) -> ir.Value:
    return w.op("Reshape", w.op("Cast", w.size(bound), to=int(INT64)), w.ints(-1), allowzero=0)


def view(
    w: Writer, x: ir.Value, shape: Shape, target: str = "aten.view.default", *, infer: int | None = None
) -> ir.Value:
    """Reshape; the axis ``infer`` is written as -1."""
    with w.call(target):
        written = tuple(-1 if axis == infer else dim for axis, dim in enumerate(shape))
        return w.result("Reshape", x, w.sizes(written), shape=shape, dtype=x.dtype, allowzero=1)


def expand(w: Writer, x: ir.Value, shape: Shape, sizes: Sequence[Dim | ir.Value] | None = None) -> ir.Value:
    """Repeat along axes of size 1 until ``x`` has ``shape``, which is written as ``sizes`` if given."""
    with w.call("aten.expand.default"):
        return w.result("Expand", x, w.sizes(sizes or shape), shape=shape, dtype=x.dtype)


def arange(w: Writer, size: Dim, end: ir.Value | None = None) -> ir.Value:
    """The integers from 0 below ``size``, whose scalar is ``end`` if that is known."""
    with w.call("aten.arange.default"):
        end = end or w.size(size)
        start = w.op("CastLike", w.constant(0.0, FLOAT), end)
        step = w.op("CastLike", w.constant(1.0, FLOAT), end)
        return w.result("Range", start, end, step, shape=(size,), dtype=INT64)


def index(w: Writer, table: ir.Value, rows: ir.Value, columns: ir.Value) -> ir.Value:
    """``table[rows, columns]`` of a matrix, rows and columns broadcast against each other."""
    with w.call("aten.index.Tensor"):
        kept = w.op("Transpose", table, perm=(0, 1))
        shape = w.op("Shape", w.op("Max", rows, columns), start=0)
        parts = []
        for part in (rows, columns):
            expanded = w.op("Expand", part, shape)
            parts.append(w.op("Unsqueeze", expanded, w.constant([-1])))
        picked = w.op("GatherND", kept, w.op("Concat", *parts, axis=-1), batch_dims=0)
        dims = broadcast(rows, columns)
        return w.result("Transpose", picked, shape=dims, dtype=table.dtype, perm=tuple(range(len(dims))))


def mean(w: Writer, x: ir.Value, axes: list[int], shape: Shape) -> ir.Value:
    """Mean over ``axes``, which stay with size 1; ``shape`` is the result's."""
    with w.call("aten.mean.dim"):
        minus_one = w.ints(-1)
        flat = w.op("Reshape", w.constant(axes), minus_one, allowzero=0)
        return w.result("ReduceMean", x, flat, shape=shape, dtype=x.dtype, noop_with_empty_axes=0, keepdims=1)


def embedding(w: Writer, ids: ir.Value, rows: int, columns: int) -> ir.Value:
    """Rows of the current module's table ``weight``."""
    with w.call("aten.embedding.default"):
        table = w.weight("weight", (rows, columns), "embedding")
        return w.result("Gather", table, ids, shape=(*dims_of(ids), columns), axis=0)


def linear(w: Writer, name: str, x: ir.Value, features: int, *, bias: bool) -> ir.Value:
    """The module ``torch.nn.Linear`` called ``name``: ``x @ weight.T + bias``, weight (features, inputs)."""
    dims = dims_of(x)
    inputs = dims[-1]
    if not isinstance(inputs, int):
        raise TypeError(f"the last axis of {x.name} should have a fixed size, not {inputs!r}")
    shape = (*dims[:-1], features)
    with w.module(name, "torch.nn.modules.linear.Linear"), w.call("aten.linear.default"):
        weight = w.weight("weight", (features, inputs), "matrix")
        if not bias:
            return w.result("MatMul", x, w.op("Transpose", weight, perm=(1, 0)), shape=shape)
        offset = w.weight("bias", (features,), "bias")
        if len(dims) == 2:
            return w.result("Gemm", x, weight, offset, shape=shape, beta=1.0, transB=1, alpha=1.0, transA=0)
        product = w.op("MatMul", x, w.op("Transpose", weight, perm=(1, 0)))
        return w.result("Add", product, offset, shape=shape)


def layer_norm(w: Writer, name: str, x: ir.Value, epsilon: float) -> ir.Value:
    """The module ``torch.nn.LayerNorm`` called ``name``, over the last axis."""
    size = dims_of(x)[-1]
    assert isinstance(size, int)
    with w.module(name, "torch.nn.modules.normalization.LayerNorm"), w.call("aten.layer_norm.default"):
        gain, offset = w.weight("weight", (size,), "gain"), w.weight("bias", (size,), "bias")
        return w.result("LayerNormalization", x, gain, offset, shape=dims_of(x), stash_type=1, epsilon=epsilon, axis=-1)


def _dtype(value: ir.Value) -> ir.DataType:
    if value.dtype is None:
        raise ValueError(f"value {value.name!r} has no declared type")
    return value.dtype
