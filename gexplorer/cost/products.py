"""Operators of the cube unit as products of matrices: MatMul, Gemm, Einsum of two operands, and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gexplorer.cost.instructions import shaped
from gexplorer.cost.kernel_work import CannotTell, Stage
from gexplorer.cost.work import Gemm
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.table import entry_of

Types = Sequence[Type | None]


def product_stages(node: Node, inputs: Types, outputs: Types) -> tuple[Stage, ...]:
    """The stages of an operator of the cube unit; one but for recurrent layers.

    Raises:
        CannotTell: a shape is not known, or nobody has written the operator as a product.
    """
    entry = entry_of(node)
    work = entry.family.work if entry is not None else "unknown"
    if work == "recurrent":
        return _recurrent(node, inputs)
    makers = {"matmul": _matmul, "conv": _conv, "conv_transpose": _conv_transpose, "einsum": _einsum}
    if work not in makers or node.op == "DeformConv":
        raise CannotTell(f"{node.op} is not modelled as a product")
    return (Stage(makers[work](node, inputs, outputs), name=node.op),)


def _dims(type_: Type | None) -> tuple[TensorType, tuple[int, ...]]:
    tensor, _ = shaped(type_)
    return tensor, tuple(dim for dim in tensor.shape or () if isinstance(dim, int))


def _matmul(node: Node, inputs: Types, outputs: Types) -> Gemm:
    """A batch only where the right operand has one: rows of the left one are as good as a batch."""
    left, a = _dims(inputs[0])
    made, c = _dims(outputs[0])
    if not a:
        raise CannotTell("an operand has no dimension")
    k = prod(a[-2:-1] if node.integer("transA", 0) and len(a) > 1 else a[-1:])
    if node.op == "MatMulNBits":
        n = node.integer("N", 1)
        return Gemm(prod(c) // n, n, k, left.dtype, made.dtype)
    # QLinearMatMul's second operand stands behind the first one's scale and zero point.
    right, b = _dims(inputs[3 if node.op == "QLinearMatMul" else 1])
    if not b or not k * prod(b) * prod(c):
        raise CannotTell("a dimension is 0")
    n = 1 if len(b) < 2 else prod(b[-2:-1] if node.integer("transB", 0) else b[-1:])
    batch = prod(b[:-2])
    rows = prod(c) // n
    dtype = left.dtype if left.dtype.bits >= right.dtype.bits else right.dtype
    if rows % batch:
        batch = 1
    return Gemm(rows // batch, n, k, dtype, made.dtype, batch)


def _conv(node: Node, inputs: Types, outputs: Types) -> Gemm:
    """M output pixels, N filters, K input channels times taps; a group is one product of the batch.

    The share of distinct elements of the left matrix is exact: the feature map over its windows.
    """
    data, x = _dims(inputs[0])
    _, w = _dims(inputs[1])
    made, y = _dims(outputs[0])
    groups = node.integer("group", 1)
    pixels, k = y[0] * prod(y[2:]), prod(w[1:])
    if not pixels * k * w[0]:
        raise CannotTell("a dimension is 0")
    distinct = min(1.0, prod(x) / (pixels * k * groups))
    return Gemm(pixels, w[0] // groups, k, data.dtype, made.dtype, groups, distinct, hf32=True)


def _conv_transpose(node: Node, inputs: Types, outputs: Types) -> Gemm:
    """M input pixels, N filters times taps, K input channels: every input pixel gives a patch of the output.

    The patches are added where they overlap, on the way out, so what is stored is the output.
    """
    data, x = _dims(inputs[0])
    _, w = _dims(inputs[1])
    made, _ = _dims(outputs[0])
    groups = node.integer("group", 1)
    m, n, k = x[0] * prod(x[2:]), prod(w[1:]), x[1] // groups
    if not m * n * k:
        raise CannotTell("a dimension is 0")
    return Gemm(m, n, k, data.dtype, made.dtype, groups, hf32=True)


def _einsum(node: Node, inputs: Types, outputs: Types) -> Gemm:
    """A contraction of two operands: indices of both and the result are the batch, of both alone the sum."""
    equation = node.attribute("equation", "")
    terms = str(equation).replace(" ", "").partition("->")
    sides = terms[0].split(",")
    if len(sides) != 2 or "." in terms[0] or not terms[1]:
        raise CannotTell("only an Einsum of two operands with a written result is modelled as a product")
    left, a = _dims(inputs[0])
    _, b = _dims(inputs[1])
    made, _ = _dims(outputs[0])
    sizes = {**dict(zip(sides[0], a, strict=True)), **dict(zip(sides[1], b, strict=True))}
    both, kept = set(sides[0]) & set(sides[1]), set(terms[2])
    batch = prod(sizes[i] for i in both & kept)
    k = prod(sizes[i] for i in both - kept)
    m = prod(sizes[i] for i in set(sides[0]) - both)
    n = prod(sizes[i] for i in set(sides[1]) - both)
    if not batch * m * n * k:
        raise CannotTell("a dimension is 0")
    return Gemm(m, n, k, left.dtype, made.dtype, batch)


def _recurrent(node: Node, inputs: Types) -> tuple[Stage, ...]:
    """The input's part of all gates for all steps at once, then the state's part, step by step."""
    data, x = _dims(inputs[0])
    _, w = _dims(inputs[1])
    _, r = _dims(inputs[2])
    steps, batch = (x[1], x[0]) if node.integer("layout", 0) else (x[0], x[1])
    if not steps * batch * prod(w) * prod(r):
        raise CannotTell("a dimension is 0")
    # What is between the products is float32, and small.
    first = Gemm(steps * batch, w[1], w[2], data.dtype, DType.FLOAT32, w[0])
    again = Gemm(batch, r[1], r[2], data.dtype, DType.FLOAT32, r[0])
    return Stage(first, name=node.op), Stage(again, times=steps, name=node.op)
