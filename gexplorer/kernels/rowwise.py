"""Kernels that go over rows several times: softmax, LayerNorm, RMSNorm, reductions along the last axis."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Ints, Node
from gexplorer.kernels.formula import Formula, Refusal, RowMake, Term, Writer, number
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel

# Before this opset these go along all axes from theirs on (by default 1), after it along their own (the last) alone.
_FLATTENED = frozenset(("Softmax", "LogSoftmax"))
_BY_ONE_AXIS = 13


def softmax(rows: int, width: int, dtype: DType) -> VectorKernel:
    """``exp(x - max)`` over its sum, along rows [rows, width]."""
    write = Writer(("x",))
    return _kernel(rows, width, dtype, write.formula(softmax_of(write, 0)))


def layer_norm(rows: int, width: int, dtype: DType, epsilon: float = 1e-5, *, shift: bool = True) -> VectorKernel:
    """``(x - mean) / sqrt(variance + epsilon) * scale + shift`` along rows [rows, width]."""
    write = Writer(("x", "scale", "shift") if shift else ("x", "scale"))
    result: Term = write("mul", normalised(write, 0, width, epsilon), 1)
    return _kernel(rows, width, dtype, write.formula(write("add", result, 2) if shift else result))


def rms_norm(rows: int, width: int, dtype: DType, epsilon: float = 1e-6) -> VectorKernel:
    """``x / sqrt(mean of x * x + epsilon) * scale`` along rows [rows, width]."""
    write = Writer(("x", "scale"))
    return _kernel(rows, width, dtype, write.formula(write("mul", rms_normalised(write, 0, width, epsilon), 1)))


def softmax_of(write: Writer, x: Term) -> int:
    """Instructions of a softmax."""
    numerator = write("exp", write("sub", x, write("reduce_max", x)))
    return write("div", numerator, write("reduce_sum", numerator))


def mean_of(write: Writer, x: Term, width: int) -> int:
    """Instructions of the mean of a row."""
    return write("mul", write("reduce_sum", x), 1.0 / width)


def normalised(write: Writer, x: Term, width: int, epsilon: float) -> int:
    """Instructions of a row with mean 0 and variance 1; the variance is that of the differences from the mean."""
    centred = write("sub", x, mean_of(write, x, width))
    return write("div", centred, _root(write, centred, width, epsilon))


def rms_normalised(write: Writer, x: Term, width: int, epsilon: float) -> int:
    """Instructions of a row with mean square 1."""
    return write("div", x, _root(write, x, width, epsilon))


def _root(write: Writer, x: Term, width: int, epsilon: float) -> int:
    return write("sqrt", write("add", mean_of(write, write("mul", x, x), width), epsilon))


def _kernel(rows: int, width: int, dtype: DType, formula: Formula) -> VectorKernel:
    weights = (Tensor(name, (1, width), dtype) for name in formula.inputs[1:])
    x, out = Tensor("x", (rows, width), dtype), Tensor("out", (rows, width), dtype)
    return VectorKernel(x.shape, formula, (x, *weights), (out,))


def _reduction(op: str, *, square: bool = False, mean: bool = False) -> RowMake:
    def make(write: Writer, graph: Graph, node: Node, x: tuple[Term, ...]) -> Term | Refusal:
        width = _row_width(graph, node)
        if isinstance(width, Refusal):
            return width
        term = write("mul", x[0], x[0]) if square else x[0]
        return mean_of(write, term, width) if mean else write(op, term)

    return make


def _softmax(write: Writer, graph: Graph, node: Node, x: tuple[Term, ...]) -> Term | Refusal:
    width = _row_width(graph, node)
    return width if isinstance(width, Refusal) else softmax_of(write, x[0])


def _log_softmax(write: Writer, graph: Graph, node: Node, x: tuple[Term, ...]) -> Term | Refusal:
    width = _row_width(graph, node)
    if isinstance(width, Refusal):
        return width
    below = write("sub", x[0], write("reduce_max", x[0]))
    return write("sub", below, write("log", write("reduce_sum", write("exp", below))))


def _layer_normalization(write: Writer, graph: Graph, node: Node, x: tuple[Term, ...]) -> Term | Refusal:
    width = _row_width(graph, node)
    if isinstance(width, Refusal):
        return width
    scaled = write("mul", normalised(write, x[0], width, number(node, "epsilon", 1e-5)), x[1])
    return write("add", scaled, x[2]) if len(x) > 2 and isinstance(x[2], int) else scaled


def _rms_normalization(write: Writer, graph: Graph, node: Node, x: tuple[Term, ...]) -> Term | Refusal:
    width = _row_width(graph, node)
    if isinstance(width, Refusal):
        return width
    return write("mul", rms_normalised(write, x[0], width, number(node, "epsilon", 1e-5)), x[1])


def row_axes(graph: Graph, node: Node) -> int | Refusal:
    """How many of the last axes a row has: those that the operator goes along; a reduction may go along several."""
    type_ = graph.tensor(node.inputs[0])
    if type_ is None or not type_.shape:
        return Refusal(node.op, "the length of its rows is not known")
    rank = len(type_.shape)
    axes = _axes(graph, node, rank)
    if not axes or {axis % rank for axis in axes} != {*range(rank - len(axes), rank)}:
        along = "axes that are not known" if axes is None else f"axes {list(axes)}"
        return Refusal(node.op, f"goes along {along} of {rank}, rows lie along the last")
    return len(axes)


def _row_width(graph: Graph, node: Node) -> int | Refusal:
    """Elements of a row."""
    count = row_axes(graph, node)
    if isinstance(count, Refusal):
        return count
    type_ = graph.tensor(node.inputs[0])
    sizes = [size for size in (type_.shape or () if type_ is not None else ())[-count:] if isinstance(size, int)]
    return prod(sizes) if len(sizes) == count else Refusal(node.op, "the length of its rows is not known")


def _axes(graph: Graph, node: Node, rank: int) -> tuple[int, ...] | None:
    """The axes that an operator goes along; None where they are not known."""
    if node.op in _FLATTENED and graph.opsets.get("", _BY_ONE_AXIS) < _BY_ONE_AXIS:
        first = node.integer("axis", 1)
        return tuple(range(first + rank if first < 0 else first, rank))
    given = node.attributes.get("axes", node.attributes.get("axis"))
    if isinstance(given, Ints):
        return tuple(given)
    if isinstance(given, int):
        return (given,)
    if not node.op.startswith("Reduce"):
        return (-1,)
    value = graph.values.get(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] else None
    if value is None or value.constant is None or not value.constant.available:
        return None
    return tuple(int(axis) for axis in value.constant.array().reshape(-1))


OPERATORS: Mapping[str, RowMake] = MappingProxyType(
    {
        "ReduceSum": _reduction("reduce_sum"),
        "ReduceMax": _reduction("reduce_max"),
        "ReduceMin": _reduction("reduce_min"),
        "ReduceMean": _reduction("reduce_sum", mean=True),
        "ReduceSumSquare": _reduction("reduce_sum", square=True),
        "Softmax": _softmax,
        "LogSoftmax": _log_softmax,
        "LayerNormalization": _layer_normalization,
        "RMSNormalization": _rms_normalization,
    }
)
