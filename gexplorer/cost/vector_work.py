"""Instructions and bytes of the usual vector operators. Sums are taken in float32, so that is what is computed in."""

from __future__ import annotations

from math import prod

from gexplorer.cost.work import Instructions, Move, Vector
from gexplorer.ir.dtypes import DType

CAST = 1  # one pass from or to float32, where elements are narrower


def elementwise(
    shape: tuple[int, ...], dtype: DType, *, inputs: int = 1, instructions: Instructions | None = None
) -> Vector:
    """An operator on each element by itself: ``inputs`` tensors of the shape in, one out."""
    elements = prod(shape)
    data = dtype.nbytes(elements)
    done = instructions or Instructions(simple=max(inputs - 1, 1))
    return Vector(1, elements, inputs * data, data, done, row_wise=False, element_bytes=dtype.bits / 8)


def reduction(rows: int, width: int, dtype: DType) -> Vector:
    """One number of each row."""
    return _row_wise(rows, width, dtype, Instructions(reduce=1), inputs=1, outputs=0, extra=rows * dtype.bits / 8)


def softmax(rows: int, width: int, dtype: DType) -> Vector:
    """Maximum, difference, exponential, sum, product with the sum's inverse."""
    return _row_wise(rows, width, dtype, Instructions(simple=2, exp=1, reduce=2))


def layer_norm(rows: int, width: int, dtype: DType, *, added: bool = False) -> Vector:
    """Mean, difference, square, mean, product with the deviation's inverse, scale and shift.

    Args:
        rows: rows that are normalised.
        width: elements of a row.
        dtype: element type in memory.
        added: true where a residual is added first and the sum given out as well.
    """
    done = Instructions(simple=5 + added, reduce=2)
    return _row_wise(rows, width, dtype, done, 1 + added, 1 + added, 2 * width * dtype.bits / 8)


def rms_norm(rows: int, width: int, dtype: DType, *, added: bool = False) -> Vector:
    """Square, mean, product with the root's inverse, scale. Arguments as for ``layer_norm``."""
    done = Instructions(simple=3 + added, reduce=1)
    return _row_wise(rows, width, dtype, done, 1 + added, 1 + added, width * dtype.bits / 8)


def swiglu(rows: int, width: int, dtype: DType) -> Vector:
    """``silu(gate) * up`` of rows that hold both halves; ``width`` is that of the output."""
    elements = rows * width
    casts = 3 * CAST if dtype.bits < 32 else 0
    done = Instructions(simple=4 + casts, exp=1, divide=1)
    return Vector(1, elements, 2 * dtype.nbytes(elements), dtype.nbytes(elements), done, row_wise=False)


def transpose(shape: tuple[int, ...], dtype: DType, run: int) -> Move:
    """A change of the order of axes; ``run`` elements lie together before and after."""
    data = dtype.nbytes(prod(shape))
    return Move(data, data, run * dtype.bits / 8)


def gather(rows: int, width: int, dtype: DType, index_bytes: int = 8) -> Move:
    """Rows of a table, picked by an index each."""
    data = dtype.nbytes(rows * width)
    return Move(data + rows * index_bytes, data, width * dtype.bits / 8)


def _row_wise(
    rows: int,
    width: int,
    dtype: DType,
    done: Instructions,
    inputs: int = 1,
    outputs: int = 1,
    weights: float = 0,
    extra: float = 0,
) -> Vector:
    """Rows in and out; besides, ``weights`` bytes that all rows share, and ``extra`` bytes (results of a reduction)."""
    casts = CAST * (inputs + outputs) if dtype.bits < 32 else 0
    data = dtype.nbytes(rows * width)
    with_casts = Instructions(done.simple + casts, done.exp, done.divide, done.reduce)
    return Vector(rows, width, inputs * data + weights + extra, outputs * data, with_casts, shared_bytes=weights)
