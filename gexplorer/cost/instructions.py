"""Vector instructions of ONNX's elementwise operators and reductions, by what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.cost.kernel_work import CannotTell
from gexplorer.cost.work import Instructions, Vector
from gexplorer.ir.graph import Node
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.table import entry_of
from gexplorer.ops.work import flops

# Exponentials and divisions of a formula; all its other operations (``ops/rows``) are simple.
_EXPONENTIALS: dict[str, int] = {
    **dict.fromkeys(("Exp", "Log", "Sigmoid", "Swish", "Tanh", "Erf", "Gelu", "FastGelu", "QuickGelu", "Elu"), 1),
    **dict.fromkeys(("Celu", "Selu", "Softmax", "LogSoftmax", "SwiGLU", "ReduceLogSumExp", "Softplus"), 1),
    **dict.fromkeys(("Pow", "Sinh", "Cosh", "Mish"), 2),
}
_DIVISIONS: dict[str, int] = {
    **dict.fromkeys(("Div", "Sqrt", "Reciprocal", "Mod", "Sigmoid", "Swish", "Tanh", "Erf", "Gelu", "FastGelu"), 1),
    **dict.fromkeys(("QuickGelu", "Mish", "Softsign", "SwiGLU", "QuantizeLinear"), 1),
}
# Reductions along a row; of normalisations, as ``vector_work`` writes them out.
_REDUCTIONS: dict[str, int] = {
    **dict.fromkeys(("Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization"), 2),
    **dict.fromkeys(("SkipLayerNormalization", "GroupNorm", "MeanVarianceNormalization"), 2),
    **dict.fromkeys(("RMSNormalization", "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"), 1),
    **dict.fromkeys(("LpNormalization", "SoftmaxCrossEntropyLoss"), 1),
}
# Normalisations with fixed statistics: nothing is reduced.
_BY_CHANNEL = frozenset(("BatchNormalization",))
# Normalisations of groups of channels: their scale has a number for each channel, not one for each element of a row.
_BY_GROUP = frozenset(("InstanceNormalization", "GroupNormalization", "GroupNorm", "MeanVarianceNormalization"))
_COMPUTED_BYTES = 4  # reductions are taken in float32


def is_row_wise(node: Node) -> bool:
    """True where an element of the result depends on a whole row of the input."""
    entry = entry_of(node)
    if entry is None or node.op in _BY_CHANNEL:
        return False
    return entry.family.name == "reduction" or node.op in _REDUCTIONS


def instructions_of(node: Node, per_element: float) -> Instructions:
    """Instructions for one element of an operator that does so many operations on each."""
    if node.op == "Pow":  # a square is a product; of other exponents the formula is exp(b * log(a))
        return Instructions(simple=1) if per_element <= 1 else Instructions(simple=1, exp=2)
    entry = entry_of(node)
    reduced = _REDUCTIONS.get(node.op, 1 if entry is not None and entry.family.name == "reduction" else 0)
    exp, divide = _EXPONENTIALS.get(node.op, 0), _DIVISIONS.get(node.op, 0)
    return Instructions(max(per_element - exp - divide - reduced, 0), exp, divide, reduced)


def shaped(type_: Type | None) -> tuple[TensorType, int]:
    """A tensor type and its number of elements. Raises CannotTell where the shape is not known."""
    if not isinstance(type_, TensorType) or type_.elements is None or not type_.dtype.bits:
        raise CannotTell("a shape is not known before run time")
    return type_, type_.elements


def vector_of(
    nodes: Sequence[tuple[Node, Sequence[Type | None], Sequence[Type | None]]],
    read_bytes: float,
    write_bytes: float,
    squares: frozenset[str] = frozenset(),
) -> Vector:
    """The work of some operators of the vector unit in one kernel, one after the other on the same elements.

    Each is counted on its own elements and in the width in which it is computed; the sum is given per element of the
    largest tensor, as float32. Reductions are computed in float32, with a cast where the tensor is narrower.

    Args:
        nodes: the operators with the types of their inputs and outputs.
        read_bytes: bytes that come from memory.
        write_bytes: bytes that go there.
        squares: names of the nodes that raise to the power of 2.

    Raises:
        CannotTell: a shape or a formula is not known.
    """
    most, width, row_wise = 0, 1, False
    sums = [0.0, 0.0, 0.0, 0.0]
    for node, inputs, outputs in nodes:
        tensors = [shaped(type_) for type_ in (*inputs[:1], *outputs[:1]) if type_ is not None]
        count = max((elements for _, elements in tensors), default=0)
        bits = max((type_.dtype.bits for type_, _ in tensors), default=32)
        if not count:
            continue
        most = max(most, count)
        per = 1.0
        moved = entry_of(node)
        if moved is not None and moved.family.unit.value != "mte":
            operations = 1 if node.name in squares else flops(node, inputs, outputs)
            if not isinstance(operations, int):
                raise CannotTell(f"how much {node.op} computes is not known")
            per = operations / count
        done = instructions_of(node, per)
        weight = count * bits / 8 / _COMPUTED_BYTES
        simple = done.simple
        if is_row_wise(node):
            row_wise = True
            weight = count
            casts = 1 if node.op not in _REDUCTIONS else 2  # a row's one number is not worth counting
            simple += casts if bits < 32 else 0
            width = max(width, _row(node, inputs, count, outputs))
        for index, number in enumerate((simple, done.exp, done.divide, done.reduce)):
            sums[index] += weight * number
    most = max(most, 1)
    rows = max(most // width, 1) if row_wise else 1
    done = Instructions(*(s / most for s in sums))
    shared = _shared_bytes(nodes, width) if rows > 1 else 0.0
    return Vector(rows, -(-most // rows), read_bytes, write_bytes, done, row_wise, shared_bytes=shared)


def _shared_bytes(nodes: Sequence[tuple[Node, Sequence[Type | None], Sequence[Type | None]]], width: int) -> float:
    """Bytes of the inputs that are a row as long as those that are reduced, along the last axis: scales and shifts."""
    made = {name for node, _, _ in nodes for name in node.outputs}
    found: dict[str, float] = {}
    for node, inputs, _ in nodes:
        if node.op in _BY_GROUP:
            continue
        for name, type_ in zip(node.inputs, inputs, strict=True):
            if name in made or not isinstance(type_, TensorType) or not type_.dtype.is_float or not type_.shape:
                continue
            # A number for each row, [rows, 1], is no row, though there may be as many of them.
            if type_.elements == width and type_.shape[-1] != 1:
                found[name] = type_.dtype.nbytes(width)
    return sum(found.values())


def _row(node: Node, inputs: Sequence[Type | None], count: int, outputs: Sequence[Type | None]) -> int:
    """Elements that are reduced together."""
    given, made = shaped(inputs[0]), shaped(outputs[0])
    if made[1] < given[1]:
        return given[1] // max(made[1], 1)
    shape = [dim for dim in given[0].shape or () if isinstance(dim, int)]
    axis = node.attribute("axis", -1)
    if node.op in _BY_GROUP:
        groups = node.attribute("num_groups", shape[1] if len(shape) > 1 else 1)
        rows = (shape[0] if shape else 1) * (groups if isinstance(groups, int) else 1)
        return count // max(rows, 1)
    if not shape:
        return 1
    if isinstance(axis, int) and node.op == "LayerNormalization":
        tail = shape[axis if axis >= 0 else len(shape) + axis :]
        length = 1
        for dim in tail:
            length *= dim
        return length
    return shape[axis] if isinstance(axis, int) and -len(shape) <= axis < len(shape) else shape[-1]
