"""Operators that make tensors from shapes or numbers, and those that read shapes."""

from __future__ import annotations

from gexplorer.ir.constant import Constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Ints, Strings
from gexplorer.ir.symbols import Dim, Shape, floor_div, maximum, product
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.arithmetic import add, multiply, subtract
from gexplorer.ops.shapes.fact import (
    CONTENT_LIMIT,
    UNKNOWN,
    Content,
    Fact,
    carries_content,
    constant_fact,
    tensor,
)
from gexplorer.ops.shapes.registry import Call, shape_of


@shape_of("Shape")
def shape(call: Call) -> tuple[Fact, ...]:
    """The dimensions as int64, from ``start`` to ``end`` where they are given (opset 15)."""
    source = call.shape(0)
    if source is None:
        return (tensor(DType.INT64, (None,)),)
    end = call.node.attribute("end")
    part = source[call.node.integer("start", 0) : end if isinstance(end, int) else None]
    return (tensor(DType.INT64, (len(part),), part if len(part) <= CONTENT_LIMIT else None),)


@shape_of("Size")
def size(call: Call) -> tuple[Fact, ...]:
    """The number of elements as an int64 scalar."""
    source = call.shape(0)
    return (tensor(DType.INT64, (), None if source is None else (product(source),)),)


@shape_of("Constant")
def constant(call: Call) -> tuple[Fact, ...]:
    """The tensor, number or list in the attribute."""
    node = call.node
    value = node.attribute("value")
    if isinstance(value, Constant):
        return (constant_fact(value),)
    number, numbers = node.attribute("value_int"), node.attribute("value_ints")
    if isinstance(number, int):
        return (tensor(DType.INT64, (), (number,)),)
    if isinstance(numbers, Ints):
        return (tensor(DType.INT64, (len(numbers),), tuple(numbers) if len(numbers) <= CONTENT_LIMIT else None),)
    floats, strings = node.attribute("value_floats"), node.attribute("value_strings")
    if node.attribute("value_float") is not None:
        return (tensor(DType.FLOAT32, ()),)
    if isinstance(floats, Floats):
        return (tensor(DType.FLOAT32, (len(floats),)),)
    if node.attribute("value_string") is not None:
        return (tensor(DType.STRING, ()),)
    return (tensor(DType.STRING, (len(strings),)) if isinstance(strings, Strings) else UNKNOWN,)


@shape_of("ConstantOfShape")
def constant_of_shape(call: Call) -> tuple[Fact, ...]:
    """One value (a float zero unless told) in the shape that the input holds."""
    value = call.node.attribute("value")
    dtype = value.dtype if isinstance(value, Constant) else DType.FLOAT32
    shape_ = natural_shape(call.content(0))
    content = None
    length = carries_content(dtype, shape_)
    if length is not None and isinstance(value, Constant) and value.is_small:
        content = (int(value.array().reshape(-1)[0]),) * length
    return (tensor(dtype, shape_, content),)


def natural_shape(content: Content | None) -> Shape | None:
    """The shape that elements describe; what may be negative is unknown."""
    if content is None:
        return None
    return tuple(dim if dim is None or not isinstance(dim, int) or dim >= 0 else None for dim in content)


@shape_of("Range")
def range_(call: Call) -> tuple[Fact, ...]:
    """Numbers from start to limit in steps of delta."""
    dtype = call.dtype(0) or call.dtype(1) or call.dtype(2)
    if dtype is None:
        return (UNKNOWN,)
    numbers = [_scalar(call, index) for index in range(3)]
    if any(isinstance(number, float) for number in numbers):
        return (tensor(dtype, (_float_length(numbers),)),)
    start, limit, delta = (number if not isinstance(number, float) else None for number in numbers)
    if delta == 0:
        raise call.error("steps of 0 lead nowhere")
    if not isinstance(delta, int):
        return (tensor(dtype, (None,)),)
    span = subtract(limit, start) if delta > 0 else subtract(start, limit)
    count = maximum(floor_div(add(span, abs(delta) - 1), abs(delta)), 0)
    content = None
    length = carries_content(dtype, (count,))
    if length is not None:
        content = tuple(add(start, multiply(place, delta)) for place in range(length))
    return (tensor(dtype, (count,), content),)


def _scalar(call: Call, index: int) -> Dim | float:
    content = call.content(index)
    if content is not None:
        return content[0] if len(content) == 1 else None
    known = call.constant(index)
    if known is None or known.elements != 1 or not known.is_small or not known.dtype.is_float:
        return None
    return float(known.array().reshape(-1)[0])


def _float_length(numbers: list[Dim | float]) -> Dim:
    start, limit, delta = numbers
    if not isinstance(start, float) or not isinstance(limit, float) or not isinstance(delta, float) or not delta:
        return None
    count = (limit - start) / delta
    # Runtimes divide in the tensor's own precision: near a whole number they may round either way.
    if count != count or abs(count) > 1e6 or (abs(count - round(count)) < 1e-3 and count != round(count)):
        return None
    return max(0, -int(-count // 1))


@shape_of("NonZero")
def non_zero(call: Call) -> tuple[Fact, ...]:
    """One column of indices for each non-zero element: how many, only a run tells."""
    source = call.shape(0)
    return (tensor(DType.INT64, (None if source is None else len(source), None)),)


@shape_of("EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli")
def like(call: Call) -> tuple[Fact, ...]:
    """The input's shape, in the type of the attribute or the input's own."""
    type_, wanted = call.tensor(0), call.node.integer("dtype", 0)
    if wanted:
        return (tensor(call.element_type(wanted), call.shape(0)),)
    return (UNKNOWN if type_ is None else Fact(TensorType(type_.dtype, type_.shape)),)
