"""The part ``nodes``: every version of every node."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.ir.symbols import dim_text
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops import row
from gexplorer.ops.row import Outcome
from gexplorer.ops.table import entry_of, lookup
from gexplorer.views.describe import attribute_lines, type_text
from gexplorer.views.explorer.columns import Texts, floats, ints, ragged

if TYPE_CHECKING:
    from gexplorer.ir.graph import Graph, Node
    from gexplorer.ops.table import Lowering
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


class Unit(IntEnum):
    """Who does a node's work, as the explorer colours it."""

    CUBE = 0
    VECTOR = 1
    MIXED = 2  # a fused kernel of cube and vector operators
    MOVE = 3  # data movement, and views, which move nothing
    FALLBACK = 4  # the chip's Arm cores, or the host
    CONTROL = 5  # If, Loop, Scan
    CONSTANT = 6
    BOUNDARY = 7


_UNITS = {
    row.Unit.CUBE: Unit.CUBE,
    row.Unit.VECTOR: Unit.VECTOR,
    row.Unit.SCALAR: Unit.VECTOR,
    row.Unit.MTE: Unit.MOVE,
    row.Unit.NONE: Unit.MOVE,
    row.Unit.AICPU: Unit.FALLBACK,
    row.Unit.HOST: Unit.FALLBACK,
}


def nodes_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """Every node of the trace, in the order of its numbers.

    ``type`` and ``unit`` come from the operator table. ``bytes`` is the sum over the outputs, NaN where one has no
    known size. Types are those of the last graph that has a value.
    """
    del subject
    texts = Texts()
    rows = _Rows(texts, numbering)
    columns = list(zip(*map(rows.row, numbering.nodes), strict=True)) or [()] * 8
    name, type_, onnx_type, unit, scope, detail, size, attributes = columns
    inputs_at, inputs = ragged([rows.values_of(node.inputs) for node in numbering.nodes])
    outputs_at, outputs = ragged([rows.values_of(node.outputs) for node in numbering.nodes])
    origin_at, origin = ragged([[texts(one) for one in node.origin] for node in numbering.nodes])
    body_at, body = ragged([rows.body(node.body) for node in numbering.nodes])
    return {
        "name": ints(name),
        "type": ints(type_),
        "onnx_type": ints(onnx_type),
        "unit": np.array(unit, np.uint8),
        "scope": ints(scope),
        "detail": ints(detail),
        "bytes": floats(size),
        "inputs_at": inputs_at,
        "inputs": inputs,
        "outputs_at": outputs_at,
        "outputs": outputs,
        "attributes": ints(attributes),
        "origin_at": origin_at,
        "origin": origin,
        "body_at": body_at,
        "body": body,
        "holder": ints(texts(one) if one else -1 for one in numbering.holder),
        "born": ints(numbering.born),
        "gone": ints(numbering.gone),
        "strings": texts.strings,
    }


class _Rows:
    """Makes rows; what many nodes have in common is looked at once."""

    def __init__(self, texts: Texts, numbering: Numbering) -> None:
        self._texts = texts
        self._type: dict[str, Type | None] = {
            name: value.type if value is not None else None
            for name, value in zip(numbering.values, numbering.typed, strict=True)
        }
        self._type[""] = None  # an optional input or output that is absent
        self._number = {name: number for number, name in enumerate(numbering.values)}
        self._number[""] = -1
        self._details: dict[int, int] = {}  # by id of a type, an attribute map or a body, all of which stay alive
        self._sizes: dict[int, int | None] = {}
        self._attributes: dict[int, int] = {}
        self._bodies: dict[int, list[int]] = {}

    def row(self, node: Node) -> tuple[int, int, int, int, int, int, float | None, int]:
        """Name, type, ONNX type, unit, scope, detail, bytes, attributes."""
        texts = self._texts
        inputs, outputs = [self._type[one] for one in node.inputs], [self._type[one] for one in node.outputs]
        lowering = lookup(node, inputs, outputs)
        onnx_type = f"{node.domain}.{node.op}" if node.domain and node.body is None else node.op
        return (
            texts(node.name),
            texts(lowering.cann or onnx_type),
            texts(onnx_type),
            unit_of(node, lowering),
            texts(node.scope),
            self._detail(outputs[0] if outputs else None),
            self._size(node.outputs),
            self._attribute_text(node),
        )

    def values_of(self, names: tuple[str, ...]) -> list[int]:
        """The numbers of values, -1 for those that are absent."""
        return [self._number[name] for name in names]

    def body(self, body: Graph | None) -> list[int]:
        """The operators inside a fused kernel, in order."""
        if body is None:
            return []
        found = self._bodies.get(id(body))
        if found is None:
            found = self._bodies[id(body)] = [self._texts(node.op) for node in body.order]
        return found

    def _detail(self, type_: Type | None) -> int:
        found = self._details.get(id(type_))
        if found is None:
            found = self._details[id(type_)] = self._texts(detail_text(type_))
        return found

    def _size(self, outputs: tuple[str, ...]) -> float | None:
        total = 0
        for name in outputs:
            if name:
                type_ = self._type[name]
                if id(type_) not in self._sizes:
                    self._sizes[id(type_)] = size_of(type_)
                size = self._sizes[id(type_)]
                if size is None:
                    return None
                total += size
        return float(total)

    def _attribute_text(self, node: Node) -> int:
        if not node.attributes:
            return self._texts("")
        found = self._attributes.get(id(node.attributes))
        if found is None:
            found = self._attributes[id(node.attributes)] = self._texts("\n".join(attribute_lines(node)))
        return found


def detail_text(type_: Type | None) -> str:
    """A type as a card shows it, such as ``float16 [1, 2048, 4096]``; "" where unknown."""
    if not isinstance(type_, TensorType):
        return type_text(type_)
    return f"{type_.dtype.label} {shape_text(type_)}"


def shape_text(type_: TensorType) -> str:
    """A shape, such as ``[b, 128]``; ``[*]`` where not even the rank is known."""
    if type_.shape is None:
        return "[*]"
    return f"[{', '.join(map(dim_text, type_.shape))}]"


def size_of(type_: Type | None) -> int | None:
    """Bytes of a tensor; None where they are not known, and for what is no tensor."""
    return type_.nbytes if isinstance(type_, TensorType) else None


def unit_of(node: Node, lowering: Lowering) -> Unit:
    """Who does a node's work. A fused kernel is what the operators inside it are; views inside do not count."""
    if node.body is not None:
        return _unit_of_body(node.body)
    if lowering.outcome is Outcome.FALLBACK:
        return Unit.FALLBACK
    entry = entry_of(node)
    family = entry.family.name if entry is not None else ""
    if family in _FAMILIES:
        return _FAMILIES[family]
    return _UNITS[lowering.unit]


_FAMILIES = {"control": Unit.CONTROL, "constant": Unit.CONSTANT}


def _unit_of_body(body: Graph) -> Unit:
    units = {unit_of(inner, lookup(inner)) for inner in body.nodes.values()}
    if Unit.CUBE in units or Unit.MIXED in units:
        return Unit.MIXED if Unit.VECTOR in units or Unit.MIXED in units else Unit.CUBE
    return Unit.VECTOR if Unit.VECTOR in units else max(units, default=Unit.VECTOR)
