"""Operators that reduce axes."""

from __future__ import annotations

from functools import reduce

from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Shape, maximum, minimum
from gexplorer.ops.shapes.arithmetic import add, multiply
from gexplorer.ops.shapes.fact import UNKNOWN, Content, Fact, fit, tensor
from gexplorer.ops.shapes.registry import Call, shape_of

# The opset from which the axes are an input.
AXES_INPUT = {"ReduceSum": 13}
AXES_INPUT_REST = 18
COMBINE = {"ReduceSum": add, "ReduceProd": multiply, "ReduceMax": maximum, "ReduceMin": minimum}


@shape_of("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")
@shape_of("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
def reduce_axes(call: Call) -> tuple[Fact, ...]:
    """The axes become 1, or vanish with keepdims=0; all of them where none are given."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,)
    keep = call.node.integer("keepdims", 1) == 1
    given, axes = call.listed("axes", 1, AXES_INPUT.get(call.node.op, AXES_INPUT_REST))
    if given and axes is not None and not axes:
        given = False
    if not given and call.node.integer("noop_with_empty_axes", 0):
        return (call.fact(0) if call.node.op in COMBINE else Fact(type_),)
    shape = reduced_shape(call, type_.shape, given, axes, keep)
    return (tensor(type_.dtype, shape, _reduced_content(call, type_.dtype, shape)),)


def reduced_shape(call: Call, source: Shape | None, given: bool, axes: Content | None, keep: bool) -> Shape | None:
    """The shape that is left after a reduction."""
    if source is None:
        return None if given or keep else ()
    rank = len(source)
    if not given:
        return (1,) * rank if keep else ()
    if axes is None or None in axes:
        if keep:
            return (None,) * rank
        return (None,) * (rank - len(axes)) if axes is not None else None
    gone = {call.axis(axis, rank) for axis in axes if isinstance(axis, int)}
    if keep:
        return tuple(1 if axis in gone else dim for axis, dim in enumerate(source))
    return tuple(dim for axis, dim in enumerate(source) if axis not in gone)


def _reduced_content(call: Call, dtype: DType, shape: Shape | None) -> Content | None:
    combine, content = COMBINE.get(call.node.op), call.fact(0).content
    if combine is None or not content or shape is None or any(dim != 1 for dim in shape):
        return None
    total: Dim = reduce(combine, content)
    return (fit(total, dtype),)


@shape_of("ArgMax", "ArgMin")
def arg_reduce(call: Call) -> tuple[Fact, ...]:
    """Positions along one axis, as int64."""
    axes = (call.node.integer("axis", 0),)
    keep = call.node.integer("keepdims", 1) == 1
    return (tensor(DType.INT64, reduced_shape(call, call.shape(0), True, axes, keep)),)


@shape_of("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(call: Call) -> tuple[Fact, ...]:
    """Batch and channels stay, the rest becomes 1."""
    type_ = call.tensor(0)
    if type_ is None or type_.shape is None:
        return (Fact(type_),)
    if len(type_.shape) < 2:
        raise call.error(f"the input must have batch and channels, its rank is {len(type_.shape)}")
    return (Fact(type_.with_shape(type_.shape[:2] + (1,) * (len(type_.shape) - 2))),)
