"""onnxruntime's operators on 8-bit integers, which its quantiser writes (``QuantFormat.QOperator``).

Each is an ONNX operator whose operands have a scale and a zero point behind them, so its rule is that operator's, given
the operands alone. Source: the schemas that onnxruntime registers, and docs/ContribOperators.md of its repository.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gexplorer.ir.graph import Node
from gexplorer.ir.symbols import Shape
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.broadcast import ShapeMismatchError, broadcast_shape
from gexplorer.ops.shapes.convolution import conv_shape, pool
from gexplorer.ops.shapes.elementwise import same_type
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, tensor
from gexplorer.ops.shapes.indexing import concat
from gexplorer.ops.shapes.reduction import global_pool
from gexplorer.ops.shapes.registry import Call, ShapeFunction, shape_of


@dataclass(frozen=True, slots=True)
class Quantised:
    """An operator on 8-bit integers.

    Attributes:
        rule: the shape function of what it computes.
        operands: positions of its operands among its inputs.
        dtype_of: position of the input that has the result's type.
    """

    rule: ShapeFunction
    operands: Callable[[Node], tuple[int, ...]]
    dtype_of: int = 0


def _at(*positions: int) -> Callable[[Node], tuple[int, ...]]:
    return lambda _: positions


def _each_third(node: Node) -> tuple[int, ...]:
    """Tensor, scale and zero point, again and again, behind the result's scale and zero point."""
    return tuple(range(2, len(node.inputs), 3))


def _broadcast(call: Call) -> tuple[Fact, ...]:
    """All operands broadcast; their types are the caller's affair, as a condition is none of the choices."""
    dtype = call.dtype(0)
    shape: Shape | None = ()
    try:
        for index in range(len(call.inputs)):
            shape = broadcast_shape(shape, call.shape(index))
    except ShapeMismatchError as error:
        raise call.error(str(error)) from None
    return (UNKNOWN if dtype is None else tensor(dtype, shape),)


def _conv(call: Call) -> tuple[Fact, ...]:
    dtype = call.dtype(0)
    return (UNKNOWN if dtype is None else tensor(dtype, conv_shape(call, call.shape(0), call.shape(1))),)


QUANTISED: Mapping[str, Quantised] = {
    "QLinearLeakyRelu": Quantised(same_type, _at(0)),
    "QLinearSigmoid": Quantised(same_type, _at(0)),
    "QLinearSoftmax": Quantised(same_type, _at(0)),
    "QLinearAdd": Quantised(_broadcast, _at(0, 3)),
    "QLinearMul": Quantised(_broadcast, _at(0, 3)),
    "QLinearWhere": Quantised(_broadcast, _at(0, 1, 4), dtype_of=1),
    "QLinearConcat": Quantised(concat, _each_third, dtype_of=1),
    "QLinearAveragePool": Quantised(pool, _at(0)),
    "QLinearGlobalAveragePool": Quantised(global_pool, _at(0)),
    "QLinearConv": Quantised(_conv, _at(0, 3), dtype_of=7),
}


@shape_of(*QUANTISED, domain="com.microsoft")
def quantised(call: Call) -> tuple[Fact, ...]:
    """As the operator that it computes, of its operands alone; with ``channels_last`` the channels lie behind."""
    found = QUANTISED[call.node.op]
    operands = [call.fact(index) for index in found.operands(call.node)]
    behind = call.node.integer("channels_last", 0) != 0
    if behind:
        operands[0] = _moved(operands[0], front=True)
    (made,) = found.rule(replace(call, inputs=tuple(operands), constant=_no_constant))
    if behind:
        made = _moved(made, front=False)
    dtype = call.dtype(found.dtype_of)
    return (UNKNOWN if dtype is None else tensor(dtype, _shape(made)),)


def _no_constant(_: int) -> None:
    """The elements of 8-bit tensors decide no shape."""


def _shape(fact: Fact) -> Shape | None:
    return fact.type.shape if isinstance(fact.type, TensorType) else None


def _moved(fact: Fact, *, front: bool) -> Fact:
    """The channels moved from the last axis to the second, or back."""
    shape = _shape(fact)
    if not isinstance(fact.type, TensorType) or shape is None or len(shape) < 2:
        return fact
    moved = (shape[0], shape[-1], *shape[1:-1]) if front else (shape[0], *shape[2:], shape[1])
    return Fact(fact.type.with_shape(moved))
