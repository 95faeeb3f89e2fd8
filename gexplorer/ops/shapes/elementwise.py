"""Operators that compute each element by itself: unary, broadcasting, and conversions of the element type."""

from __future__ import annotations

from gexplorer.ir.constant import Constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Shape
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.arithmetic import BINARY, UNARY, remainder
from gexplorer.ops.shapes.broadcast import ShapeMismatchError, broadcast_shape, broadcast_to
from gexplorer.ops.shapes.fact import UNKNOWN, Content, Fact, carries_content, fit, tensor
from gexplorer.ops.shapes.grid import spread
from gexplorer.ops.shapes.registry import Call, shape_of


@shape_of(
    *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Elu", "Erf"),
    *("Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LRN", "LeakyRelu", "Log", "LpNormalization"),
    *("MeanVarianceNormalization", "Mish", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sin"),
    *("Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "BitwiseNot"),
    *("CumSum", "CumProd", "Trilu", "ReverseSequence", "SimplifiedLayerNormalization"),
)
@shape_of("FastGelu", "QuickGelu", "BiasGelu", "Gelu", domain="com.microsoft")
def same_type(call: Call) -> tuple[Fact, ...]:
    """The type of the first input, all elements unknown."""
    fact = call.fact(0)
    if not isinstance(fact.type, TensorType):
        return (UNKNOWN,)
    return (fact if fact.content is None else Fact(fact.type),)


@shape_of("Identity")
def identity(call: Call) -> tuple[Fact, ...]:
    """The very input, containers included."""
    return (call.fact(0),)


@shape_of("Neg", "Abs", "Sign")
def unary(call: Call) -> tuple[Fact, ...]:
    """The same type, elements computed where they are known."""
    fact = call.fact(0)
    if fact.content is None or not isinstance(fact.type, TensorType):
        return same_type(call)
    function, dtype = UNARY[call.node.op], fact.type.dtype
    return (tensor(dtype, fact.type.shape, tuple(fit(function(x), dtype) for x in fact.content)),)


@shape_of("Not")
def logical_not(call: Call) -> tuple[Fact, ...]:
    """A boolean tensor of the same shape."""
    content = call.fact(0).content
    inverted = None if content is None else tuple(UNARY["Not"](x) for x in content)
    return (tensor(DType.BOOL, call.shape(0), inverted),)


@shape_of("IsNaN", "IsInf")
def predicate(call: Call) -> tuple[Fact, ...]:
    """A boolean tensor of the same shape."""
    return (tensor(DType.BOOL, call.shape(0)),)


@shape_of("Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "Sum", "Mean", "BitShift")
@shape_of("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def arithmetic(call: Call) -> tuple[Fact, ...]:
    """Broadcast inputs of one element type (the base's for Pow)."""
    if call.node.op != "Pow":
        same_dtypes(call, range(len(call.inputs)))
    dtype = call.dtype(0)
    if dtype is None and call.node.op != "Pow":
        dtype = next((d for i in range(1, len(call.inputs)) if (d := call.dtype(i)) is not None), None)
    return (broadcast(call, dtype),)


@shape_of("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def comparison(call: Call) -> tuple[Fact, ...]:
    """A boolean tensor of the broadcast shape; the inputs have one element type."""
    same_dtypes(call, (0, 1))
    return (broadcast(call, DType.BOOL),)


@shape_of("And", "Or", "Xor")
def logical(call: Call) -> tuple[Fact, ...]:
    """A boolean tensor of the broadcast shape."""
    for index in (0, 1):
        dtype = call.dtype(index)
        if dtype is not None and dtype != DType.BOOL:
            raise call.error(f"input {index} is {dtype.label} and must be bool")
    return (broadcast(call, DType.BOOL),)


def broadcast(call: Call, dtype: DType | None) -> Fact:
    """The broadcast result of all inputs, elements computed where they are known."""
    if dtype is None:
        return UNKNOWN
    if call.version < 7 and call.node.integer("broadcast", 0):  # the second operand goes along axes of its own choice
        return tensor(dtype, call.shape(0))
    shape = broadcast_inputs(call, range(len(call.inputs)))
    content = None
    if any(fact is not None and fact.content is not None for fact in call.inputs):
        content = _combined(call, dtype, shape)
    return tensor(dtype, shape, content)


def broadcast_inputs(call: Call, indices: range | tuple[int, ...]) -> Shape | None:
    """The broadcast shape of some inputs; raises VerifyError where they do not fit."""
    shapes = [call.shape(index) for index in indices]
    merged: Shape | None = ()
    try:
        for shape in shapes:
            if shape is not None:
                merged = broadcast_shape(merged, shape)
    except ShapeMismatchError as error:
        raise call.error(str(error)) from None
    return None if None in shapes else merged


def _combined(call: Call, dtype: DType, shape: Shape | None) -> Content | None:
    function = BINARY.get(call.node.op)
    if call.node.op == "Mod" and call.node.integer("fmod", 0):
        function = remainder
    if function is None or carries_content(dtype, shape) is None:
        return None
    contents = spread_inputs(call, shape)
    if contents is None:
        return None
    total, *others = contents
    for other in others:
        total = tuple(fit(function(a, b), dtype) for a, b in zip(total, other, strict=True))
    return total


def spread_inputs(call: Call, shape: Shape | None) -> list[Content] | None:
    """The contents of all inputs, broadcast to the result's shape; None where one is not known."""
    contents: list[Content] = []
    for index in range(len(call.inputs)):
        content = call.content(index)
        wide = None if content is None else spread(content, call.shape(index), shape)
        if wide is None:
            return None
        contents.append(wide)
    return contents


@shape_of("Where")
def where(call: Call) -> tuple[Fact, ...]:
    """Condition and both choices broadcast; the choices have one element type."""
    same_dtypes(call, (1, 2))
    condition = call.dtype(0)
    if condition is not None and condition != DType.BOOL:
        raise call.error(f"the condition is {condition.label} and must be bool")
    dtype = call.dtype(1) or call.dtype(2)
    if dtype is None:
        return (UNKNOWN,)
    shape = broadcast_inputs(call, range(3))
    choices = spread_inputs(call, shape) if carries_content(dtype, shape) is not None else None
    if choices is None:
        return (tensor(dtype, shape),)
    return (tensor(dtype, shape, tuple(_choose(*each) for each in zip(*choices, strict=True))),)


def _choose(condition: Dim, yes: Dim, no: Dim) -> Dim:
    if condition is None:
        return yes if yes == no else None
    return yes if condition else no


@shape_of("PRelu")
def prelu(call: Call) -> tuple[Fact, ...]:
    """The type of the data; the slope broadcasts to it."""
    same_dtypes(call, (0, 1))
    if call.version >= 7:
        try:
            broadcast_to(call.shape(1), call.shape(0))
        except ShapeMismatchError as error:
            if call.shape(1) is not None and len(call.shape(1) or ()) > 1:
                raise call.error(str(error)) from None
    return same_type(call)


@shape_of("Cast", "CastLike")
def cast(call: Call) -> tuple[Fact, ...]:
    """The same shape in another element type."""
    node = call.node
    dtype = call.dtype(1) if node.op == "CastLike" else _dtype_attribute(call, "to")
    if dtype is None:
        return (UNKNOWN,)
    fact, shape = call.fact(0), call.shape(0)
    if fact.type is not None and not isinstance(fact.type, TensorType):
        return (UNKNOWN,)
    content = fact.content
    length = carries_content(dtype, shape)
    if length is None:
        content = None
    elif content is not None:
        content = tuple(_converted(element, dtype) for element in content)
    elif (known := call.constant(0)) is not None and known.dtype.is_float and known.is_small:
        content = tuple(_truncated(element, dtype) for element in known.array().reshape(-1).tolist())
    return (tensor(dtype, shape, content),)


def _converted(element: Dim, dtype: DType) -> Dim:
    if dtype != DType.BOOL:
        return fit(element, dtype)
    zero = BINARY["Equal"](element, 0)
    return None if zero is None else BINARY["Sub"](1, zero)


def _truncated(element: float, dtype: DType) -> Dim:
    if element != element or element in (float("inf"), float("-inf")):
        return None
    return int(element != 0) if dtype == DType.BOOL else fit(int(element), dtype)


def _dtype_attribute(call: Call, name: str) -> DType | None:
    value = call.node.attribute(name)
    if isinstance(value, str):  # before opset 6: the type's name
        return DType.__members__.get({"FLOAT": "FLOAT32", "DOUBLE": "FLOAT64"}.get(value, value))
    try:
        return DType(value) if isinstance(value, int) and value else None
    except ValueError:
        return None


def same_dtypes(call: Call, indices: range | tuple[int, ...]) -> None:
    """Raises VerifyError where two of the inputs have different element types."""
    first: DType | None = None
    for index in indices:
        dtype = call.dtype(index)
        if dtype is None:
            continue
        if first is None:
            first = dtype
        elif dtype != first:
            raise call.error(f"the inputs differ in type: {first.label} and {dtype.label}")


def constant_value(call: Call, name: str) -> Constant | None:
    """A tensor attribute."""
    value = call.node.attribute(name)
    return value if isinstance(value, Constant) else None
