"""Matrix products."""

from __future__ import annotations

from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Shape
from gexplorer.ops.shapes.broadcast import ShapeMismatchError, broadcast_shape, broadcast_to
from gexplorer.ops.shapes.elementwise import same_dtypes
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, tensor
from gexplorer.ops.shapes.registry import Call, shape_of


@shape_of("MatMul")
def matmul(call: Call) -> tuple[Fact, ...]:
    """``[..., m, k] x [..., k, n]``, leading dimensions broadcast; a vector loses its own dimension."""
    same_dtypes(call, (0, 1))
    dtype = call.dtype(0) or call.dtype(1)
    if dtype is None:
        return (UNKNOWN,)
    return (tensor(dtype, matmul_shape(call, call.shape(0), call.shape(1))),)


@shape_of("MatMulInteger")
def matmul_integer(call: Call) -> tuple[Fact, ...]:
    """As MatMul, the result is int32."""
    return (tensor(DType.INT32, matmul_shape(call, call.shape(0), call.shape(1))),)


def matmul_shape(call: Call, a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of numpy's ``matmul``; raises VerifyError where the inner dimensions are known and differ."""
    if a is None or b is None:
        return None
    if not a or not b:
        raise call.error("a scalar has no matrix product")
    _same(call, a[-1], b[-2:][0])
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ShapeMismatchError as error:
        raise call.error(str(error)) from None
    return None if batch is None else batch + rows + columns


@shape_of("Gemm")
def gemm(call: Call) -> tuple[Fact, ...]:
    """``[m, n]`` from A (m, k) and B (k, n), either of them transposed on demand; C broadcasts to it."""
    same_dtypes(call, range(len(call.inputs)))
    dtype = call.dtype(0) or call.dtype(1)
    if dtype is None:
        return (UNKNOWN,)
    a, b = call.shape(0), call.shape(1)
    for shape in (a, b):
        if shape is not None and len(shape) != 2:
            raise call.error(f"A and B must be matrices, one has rank {len(shape)}")
    rows: Dim = None
    columns: Dim = None
    inner: list[Dim] = []
    if a is not None:
        turned = call.node.integer("transA", 0)
        rows = a[1] if turned else a[0]
        inner.append(a[0] if turned else a[1])
    if b is not None:
        turned = call.node.integer("transB", 0)
        columns = b[0] if turned else b[1]
        inner.append(b[1] if turned else b[0])
    if len(inner) == 2:
        _same(call, inner[0], inner[1])
    if call.version >= 7 and call.has(2):
        try:
            broadcast_to(call.shape(2), (rows, columns))
        except ShapeMismatchError as error:
            raise call.error(f"C: {error}") from None
    return (tensor(dtype, (rows, columns)),)


def _same(call: Call, a: Dim, b: Dim) -> None:
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise call.error(f"the inner dimensions {a} and {b} differ")
