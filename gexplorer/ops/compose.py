"""An operator without a kernel of its own, written out in basic operators: ONNX's function bodies as graphs.

The bodies are onnx's own (``OpSchema``), so what is composed means exactly what ONNX says. Example, Celu::

    Celu(x)  ->  Max(0, x) + Min(0, alpha * (Exp(x / alpha) - 1))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gexplorer.ir.graph import Graph, Node, Value, make_graph
from gexplorer.ir.to_onnx import to_onnx, write_type
from gexplorer.ir.types import Type
from gexplorer.ops.function_body import read_function

if TYPE_CHECKING:
    import onnx


# Bodies that do not compute what the operator is said to. Bernoulli's (onnx 1.23) gives 1 where a uniform
# number is greater than p, so with probability 1 - p.
_WRONG = frozenset((("", "Bernoulli"),))


def compose(node: Node, inputs: Sequence[Type | None], opsets: Mapping[str, int]) -> Graph | None:
    """The body of an operator that ONNX defines by a function; None where it gives none for this node.

    The graph's inputs are the node's present inputs in order, its outputs the node's present outputs in
    order, so it may be the body of a fused node. Its opsets are those that the body is written in, which may
    be older than the model's; types inside are unknown until inferred.

    Args:
        node: an operator of ai.onnx or another domain whose schemas onnx knows.
        inputs: types of its inputs, None where unknown or absent. Some bodies depend on them.
        opsets: version of each operator domain, as the graph around the node has them.
    """
    import onnx
    import onnx.defs

    domain = "" if node.domain == "ai.onnx" else node.domain
    if (domain, node.op) in _WRONG:
        return None
    opset = opsets.get(domain, 0)
    try:
        schema = onnx.defs.get_schema(node.op, opset, domain)
    except onnx.defs.SchemaError:
        return None
    proto = _function(schema, node, inputs, opset)
    if proto is None:
        return None
    # A body outside ai.onnx may use ai.onnx without importing it; then it means the version around it.
    if all(entry.domain for entry in proto.opset_import):
        proto.opset_import.add(domain="", version=opsets.get("", onnx.defs.onnx_opset_version()))
    return read_function(proto, node, inputs, schema)


def _function(
    schema: Any,  # an OpSchema; onnx's stubs leave out what is asked of it here
    node: Node,
    inputs: Sequence[Type | None],
    opset: int,
) -> onnx.FunctionProto | None:
    """The newest body that fits.

    onnx refuses a body at an opset where an operator in it has changed since the body was written; the body
    is then asked for at the version that it was written in.
    """
    import onnx

    message, types = b"", list[bytes]()
    if schema.has_context_dependent_function:
        message, types = _node_message(node, inputs, opset), [_type_message(type_) for type_ in inputs]
    versions = (v for v in sorted(schema.all_function_opset_versions, reverse=True) if v <= opset)
    for version in (opset, *versions):
        if message:
            data = schema.get_context_dependent_function_with_opset_version(version, message, types)
            if not data and schema.has_function:
                data = schema.get_function_with_opset_version(version)
        else:
            data = schema.get_function_with_opset_version(version)
        proto = onnx.FunctionProto.FromString(data)
        if proto.node:
            return proto
    return None


def _node_message(node: Node, inputs: Sequence[Type | None], opset: int) -> bytes:
    known = dict(zip(node.inputs, inputs, strict=False))
    alone = make_graph(
        "node",
        inputs=[Value(name, known.get(name)) for name in dict.fromkeys(node.inputs) if name],
        nodes=[node],
        values=[Value(name, producer=node.name) for name in node.outputs if name],
        outputs=tuple(name for name in node.outputs if name),
        opsets={node.domain: opset},
    )
    return to_onnx(alone, value_info=False).graph.node[0].SerializeToString()


def _type_message(type_: Type | None) -> bytes:
    import onnx

    proto = onnx.TypeProto()
    if type_ is not None:
        write_type(proto, type_)
    return proto.SerializeToString()
