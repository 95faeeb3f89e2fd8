"""The text form of a graph: ``to_text`` prints it, ``from_text`` reads it back, nothing is lost on the way.

One line a node, indented by two spaces for what is inside::

    graph main opset(17, com.microsoft=1)
      input %x : float32[batch,4]
      constant %w = float32[4] {1.0, 2.0, 3.0, 4.0}
      %y : float32[batch,4] = Add(%x, %w) #add_0 in model.layers.0
      %z = If(%c) #if_0 at 2097152 from add_1, if_0
        then_branch = graph then
          output %y
        else_branch = graph else
          output %x
      output %z as result

- ``%name`` is a value, ``_`` an absent input or output, ``#name`` a node. A name stands in JSON's quotes
  unless it is made of letters, digits and ``_./:@-`` only.
- After ``:`` comes the inferred type, after ``declared`` the one that the file declares (nothing: the same).
- ``Op<domain>(...) {axis = 1, pads = [0, 1], scale = 1.0}``: integers have no point, floats have one (or an
  exponent, or are ``inf`` or ``nan``); empty lists name their kind, as ``ints[]``. Nested graphs follow on
  lines of their own; ``+= graph`` is one of a list, ``body graph`` what a fused node computes.
- ``part`` is the partition. ``at`` is the position, left out where it is ``POSITION_STEP`` behind that of the
  node before; ``from`` the origin, left out where it is the node itself; ``in`` the scope.
- ``opset`` of a graph inside another is left out where it is the same.
- A constant of more than 32 elements, or without bytes, is printed as ``float32[64] 256 bytes ...``; read
  back, its elements are not available.
- Blank lines, and lines that start with ``//``, are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.graph import Floats, Graph, Graphs, Ints, Node, OpaqueAttribute, Strings, Value
from gexplorer.ir.literals import constant_text, type_text
from gexplorer.ir.text_reader import from_text
from gexplorer.ir.tokens import quoted, quoted_bytes, quoted_name
from gexplorer.ir.types import TensorType

__all__ = ["from_text", "to_text"]

_INDENT = "  "


def to_text(graph: Graph, *, locations: bool = True) -> str:
    r"""The graph as text.

    Args:
        graph: any graph without a cycle.
        locations: whether position, origin and scope of the nodes are printed.

    Raises:
        VerifyError: the graph has a cycle, so that its nodes have no order.
        ModelError: the bytes of a small constant cannot be decoded.

    >>> print(to_text(from_text("graph g  \n\n  input %x : int64[n]\n  output %x as y")), end="")
    graph g
      input %x : int64[n]
      output %x as y
    """
    return "\n".join(_graph(graph, "", "", Map(), locations)) + "\n"


def _graph(graph: Graph, label: str, indent: str, around: Map[str, int], locations: bool) -> Iterator[str]:
    opset = "" if graph.opsets == around else f" opset({_opsets(graph.opsets)})"
    yield f"{indent}{label}graph {quoted_name(graph.name)}{opset}"
    inside = indent + _INDENT
    for name in graph.inputs:
        default = f" default {constant_text(graph.defaults[name])}" if name in graph.defaults else ""
        yield f"{inside}input {_result(name, graph)}{default}"
    for value in graph.constants:
        yield f"{inside}constant {_constant(value)}"
    expected = 0
    for node in graph.order:
        location = _location(node, expected) if locations else ""
        yield f"{inside}{_node(node, graph)}{location}"
        yield from _nested(node, inside + _INDENT, graph.opsets, locations)
        expected = node.position + POSITION_STEP
    for name, outside in zip(graph.outputs, graph.output_names, strict=True):
        renamed = "" if outside == name else f" as {quoted_name(outside)}"
        yield f"{inside}output %{quoted_name(name)}{renamed}"


def _nested(node: Node, indent: str, around: Map[str, int], locations: bool) -> Iterator[str]:
    for name, value in sorted(node.attributes.items()) if node.attributes else ():
        if isinstance(value, Graph):
            yield from _graph(value, f"{quoted_name(name)} = ", indent, around, locations)
        elif isinstance(value, Graphs):
            for graph in value:
                yield from _graph(graph, f"{quoted_name(name)} += ", indent, around, locations)
    if node.body is not None:
        yield from _graph(node.body, "body ", indent, around, locations)


def _opsets(opsets: Mapping[str, int]) -> str:
    return ", ".join([f"{quoted_name(d)}={v}" if d else str(v) for d, v in sorted(opsets.items())])


def _result(name: str, graph: Graph) -> str:
    if not name:
        return "_"
    value = graph.values.get(name)
    return f"%{quoted_name(name)}" + (_types(value) if value is not None else "")


def _types(value: Value) -> str:
    inferred = "" if value.type is None else f" : {type_text(value.type)}"
    if value.declared is None:
        return inferred
    return f"{inferred} declared" + ("" if value.declared == value.type else f" {type_text(value.declared)}")


def _constant(value: Value) -> str:
    data = value.constant
    assert data is not None
    obvious = value.type == TensorType(data.dtype, data.shape) and value.declared is None
    types = "" if obvious else _types(value)
    return f"%{quoted_name(value.name)}{types} = {constant_text(data)}"


def _node(node: Node, graph: Graph) -> str:
    results = ", ".join([_result(name, graph) for name in node.outputs])
    operands = ", ".join([f"%{quoted_name(name)}" if name else "_" for name in node.inputs])
    domain = f"<{quoted_name(node.domain)}>" if node.domain else ""
    named = sorted(node.attributes.items()) if node.attributes else ()
    inline = [f"{quoted_name(name)} = {text}" for name, value in named if (text := _inline(value))]
    attributes = f" {{{', '.join(inline)}}}" if inline else ""
    head = f"{results} = " if results else "= "
    part = f" part {quoted_name(node.partition)}" if node.partition else ""
    return f"{head}{quoted_name(node.op)}{domain}({operands}){attributes} #{quoted_name(node.name)}{part}"


def _inline(value: object) -> str:
    """An attribute's value, "" where it takes lines of its own."""
    match value:
        case Graph():
            return ""
        case Graphs():
            return "" if value else "graphs[]"
        case Ints():
            return f"[{', '.join([str(int(v)) for v in value])}]" if value else "ints[]"
        case Floats():
            return f"[{', '.join([repr(float(v)) for v in value])}]" if value else "floats[]"
        case Strings():
            return f"[{', '.join([_string(v) for v in value])}]" if value else "strings[]"
        case float():
            return repr(float(value))
        case int():
            return str(int(value))
        case str() | bytes():
            return _string(value)
        case Constant():
            return constant_text(value)
        case OpaqueAttribute():
            return f"opaque({value.proto.hex()})"
        case _:
            raise TypeError(f"an attribute cannot be a {type(value).__name__}")


def _string(text: str | bytes) -> str:
    return quoted_bytes(text) if isinstance(text, bytes) else quoted(text)


def _location(node: Node, expected: int) -> str:
    text = "" if node.position == expected else f" at {node.position}"
    if not node.origin:
        text += " from ()"
    elif node.origin != (node.name,):
        text += f" from {', '.join(map(quoted_name, node.origin))}"
    return text + (f" in {quoted_name(node.scope)}" if node.scope else "")
