"""Attributes, constants and changes of a node in short lines of text."""

from __future__ import annotations

from collections.abc import Iterable

from gexplorer.errors import ModelError
from gexplorer.ir.constant import Constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Graph, Graphs, Ints, Node, OpaqueAttribute, Strings
from gexplorer.ir.types import OpaqueType, Type

# Constants with so few elements are shown by them, longer lists are cut there.
SHOWN_ELEMENTS = 8
# Exporters write "to the end" as the limits of int64.
_LIMITS = {-(2**63): "min", 2**63 - 1: "max"}


# Origins listed one by one; a chain may stand for thousands.
MOST_ORIGINS = 12


def type_text(type_: Type | None) -> str:
    """A type, such as ``float32[1,3,224,224]``; "" where unknown."""
    if type_ is None:
        return ""
    return "opaque" if isinstance(type_, OpaqueType) else str(type_)


def constant_text(data: Constant) -> str:
    """A constant: a small one with its elements, any other by its type; large ones are not read."""
    kind = f"{data.dtype.label}[{','.join(map(str, data.shape))}]"
    if not data.is_small or not 0 < data.elements <= SHOWN_ELEMENTS or data.dtype == DType.STRING:
        return kind if data.available else f"{kind} (not available)"
    try:
        elements = data.array().reshape(-1).tolist()
    except ModelError:
        return f"{kind} (unreadable)"
    text = ", ".join(_number(element) for element in elements)
    return f"{data.dtype.label} {text}" if not data.shape else f"{data.dtype.label} [{text}]"


def attribute_lines(node: Node) -> list[str]:
    """The attributes of a node, one a line, by name."""
    return [f"{name} = {attribute_text(node.attributes[name])}" for name in sorted(node.attributes)]


def attribute_text(value: object) -> str:
    """The value of an attribute, long lists cut."""
    match value:
        case Constant():
            return constant_text(value)
        case Graph():
            return f"graph of {len(value):,} nodes"
        case Graphs():
            return f"{len(value):,} graphs"
        case OpaqueAttribute():
            return "…"
        case Ints() | Floats() | Strings():
            more = ", …" if len(value) > SHOWN_ELEMENTS else ""
            return f"[{', '.join(attribute_text(item) for item in value[:SHOWN_ELEMENTS])}{more}]"
        case bytes():
            return value.decode(errors="replace")
        case _:
            return _number(value)


def change_lines(old: Node, new: Node) -> list[str]:
    """What is different between two states of a node, one a line."""
    return [
        *([f"operator was {old.op}"] if old.op != new.op else []),
        *_changed_inputs(old, new),
        *_changed_attributes(old, new),
        *([f"part {new.partition}"] if old.partition != new.partition else []),
        *_joined(old, new),
    ]


def _changed_attributes(old: Node, new: Node) -> Iterable[str]:
    for name in sorted({*old.attributes, *new.attributes}):
        if name not in old.attributes:
            yield f"{name} = {attribute_text(new.attributes[name])}"
        elif old.attributes[name] != new.attributes.get(name):
            yield f"{name} was {attribute_text(old.attributes[name])}"


def _joined(old: Node, new: Node) -> Iterable[str]:
    had = {*old.origin}
    joined = [name for name in new.origin if name not in had]
    yield from (f"now also stands for {name}" for name in joined[:MOST_ORIGINS])
    if len(joined) > MOST_ORIGINS:
        yield f"and for {len(joined) - MOST_ORIGINS:,} more"


def _changed_inputs(old: Node, new: Node) -> Iterable[str]:
    if len(old.inputs) != len(new.inputs):
        yield f"{len(new.inputs)} inputs, were {len(old.inputs)}"
        return
    for index, (before, after) in enumerate(zip(old.inputs, new.inputs, strict=True)):
        if before != after:
            yield f"input {index} was {before or 'absent'}"


def _number(value: object) -> str:
    if isinstance(value, int) and value in _LIMITS:
        return _LIMITS[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
