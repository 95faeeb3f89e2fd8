"""Operations and compulsory bytes of a node, from its types alone.

**What counts as an operation (flop).** On the cube unit, a multiplication and an addition each, so a product
of matrices is 2MNK; a bias that rides along is not counted. On the vector unit, one instruction applied to
one element: add, multiply, compare, select, exp, log, square root and divide count one each, whatever the
element type and however many cycles the chip takes; other functions count the instructions of their formula
(``ops/rows``). Data movement counts nothing.

**What counts as bytes.** What any implementation must read and write with nothing kept on the chip before or
after: every distinct input once, every output once. A view moves nothing, a gather reads of its table no more
than it gives out, and a fused node moves what crosses its border; what stays inside costs nothing.

Results are ints, symbolic expressions where dimensions are (``gexplorer.ir.symbols``), or None where
something is unknown: a rank, a dimension, the width of a string, the number of turns of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.symbols import Dim, floor_div, minimum, product
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.formulas import FORMULAS, elements, total
from gexplorer.ops.row import Traffic
from gexplorer.ops.table import entry_of
from gexplorer.ops.traits import is_view

Types = Sequence[Type | None]


def flops(node: Node, inputs: Types, outputs: Types) -> Dim:
    """Operations of a node; of a fused node, the sum over its body by the types of the body's values.

    Args:
        node: an ONNX operator or a fused node.
        inputs: types of its inputs, in order; None where unknown or absent.
        outputs: types of its outputs, in order.
    """
    if node.body is not None:
        return graph_flops(node.body)
    entry = entry_of(node)
    if entry is None:
        return None
    if is_view(node):
        return 0
    return FORMULAS[entry.family.work](node, _tensors(inputs), _tensors(outputs), entry.row.flops)


def graph_flops(graph: Graph) -> Dim:
    """Operations of all nodes of a graph, None as soon as those of one are unknown."""
    return total([flops(node, *types_of(graph, node)) for node in graph.nodes.values()])


def bytes_moved(node: Node, inputs: Types, outputs: Types) -> Dim:
    """Compulsory bytes of a node, read and written. Arguments as for ``flops``."""
    if node.body is not None:
        return _fused_bytes(node, node.body, inputs, outputs)
    if is_view(node):
        return 0
    if _traffic(node) == "view":
        return 0
    written = [nbytes(t) for name, t in zip(node.outputs, outputs, strict=False) if name]
    seen: set[str] = set()
    read: list[Dim] = []
    for index, name in enumerate(node.inputs):
        if name and name not in seen:
            seen.add(name)
            read.append(_read(node, index, inputs, outputs))
    return total([*read, *written])


def nbytes(type_: Type | None) -> Dim:
    """Bytes of a packed tensor, symbolic where its shape is; None where unknown or no tensor."""
    if not isinstance(type_, TensorType) or not type_.dtype.bits:
        return None
    bits = product((type_.dtype.bits, elements(type_)))
    return None if bits is None else floor_div(bits + 7, 8) if type_.dtype.bits % 8 else floor_div(bits, 8)


def types_of(graph: Graph, node: Node) -> tuple[tuple[Type | None, ...], tuple[Type | None, ...]]:
    """The types of a node's inputs and outputs as its graph knows them; None where unknown or absent."""

    def type_of(name: str) -> Type | None:
        value = graph.values.get(name)
        return value.type if value is not None else None

    return tuple(map(type_of, node.inputs)), tuple(map(type_of, node.outputs))


def _read(node: Node, index: int, inputs: Types, outputs: Types) -> Dim:
    """Bytes that a node must read of one input."""
    whole = nbytes(inputs[index]) if index < len(inputs) else None
    match _traffic(node):
        case "unknown":
            return None
        case "shape_only" if index == 0:
            return 0
        case "gathered" if index == 0:
            given = nbytes(outputs[0]) if outputs else None
            return given if whole is None else minimum(given, whole)
        case _:
            return whole


def _traffic(node: Node) -> Traffic:
    entry = entry_of(node)
    return entry.family.traffic if entry is not None else "whole"


def _fused_bytes(node: Node, body: Graph, inputs: Types, outputs: Types) -> Dim:
    """What crosses the border: inputs and constants that the body reads, results that it computes.

    A source that only gathers look into is read in part, one that anything else uses is read whole. Views
    inside the body are looked through.
    """
    source: dict[str, str] = {}
    reads: dict[str, list[Dim]] = {}
    whole: set[str] = set()
    for inner in body.order:
        if is_view(inner):
            source[inner.outputs[0]] = source.get(inner.inputs[0], inner.inputs[0])
            continue
        types = types_of(body, inner)
        for index, name in enumerate(inner.inputs):
            origin = source.get(name, name)
            value = body.values.get(origin)
            if not name or value is None or value.producer:
                continue
            if index == 0 and _traffic(inner) in ("gathered", "shape_only"):
                reads.setdefault(origin, []).append(_read(inner, index, *types))
            elif _traffic(inner) != "view":
                whole.add(origin)
    border = {formal: (actual, type_) for formal, actual, type_ in zip(body.inputs, node.inputs, inputs, strict=False)}
    parts: list[Dim] = []
    seen: set[str] = set()
    for origin in dict.fromkeys((*reads, *whole)):
        actual, type_ = border.get(origin, (origin, body.values[origin].type))
        if actual in seen:
            continue
        seen.add(actual)
        parts.append(nbytes(type_) if origin in whole else minimum(total(reads[origin]), nbytes(type_)))
    for result, type_ in zip(body.outputs, outputs, strict=False):
        value = body.values.get(source.get(result, result))
        if value is not None and value.producer:
            parts.append(nbytes(type_))
    return total(parts)


def _tensors(types: Types) -> tuple[TensorType | None, ...]:
    return tuple(type_ if isinstance(type_, TensorType) else None for type_ in types)
