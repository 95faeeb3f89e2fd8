"""Holds every node to what ONNX says of its operator: how many inputs and outputs, which attributes of which kind.

What comes later (shape functions, passes, the operator table) may then take these for granted. Operators that ONNX
does not know are let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gexplorer.errors import VerifyError
from gexplorer.ir.constant import Constant
from gexplorer.ir.graph import Floats, Graph, Graphs, Ints, Node, OpaqueAttribute, Strings

_Kinds = tuple[type, ...]


@dataclass(frozen=True, slots=True)
class _Signature:
    """What ONNX says of an operator in one opset."""

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    needed: int  # so many first inputs must be present
    kinds: Mapping[str, tuple[str, _Kinds]]
    required: tuple[str, ...]


def check_signatures(graph: Graph) -> None:
    """Raises VerifyError for the first node, nested graphs included, that its operator's definition forbids."""
    for node in graph.nodes.values():
        _check(node, graph.opsets.get(node.domain, 0))
        for nested in node.graphs:
            check_signatures(nested)


def _check(node: Node, version: int) -> None:
    signature = _signature(node.op, node.domain, version)
    if signature is None:
        return
    if isinstance(signature, str):
        raise VerifyError(node.name, signature)
    for what, names, (least, most) in (
        ("inputs", node.inputs, signature.inputs),
        ("outputs", node.outputs, signature.outputs),
    ):
        if not least <= len(names) <= most:
            wanted = str(least) if least == most else f"at least {least}" if len(names) < least else f"at most {most}"
            raise VerifyError(node.name, f"{node.op} takes {wanted} {what}, not {len(names)}")
    if "" in node.inputs[: signature.needed]:
        raise VerifyError(node.name, f"{node.op}: input {node.inputs.index('')} is missing")
    for name, value in node.attributes.items():
        label, kinds = signature.kinds.get(name, ("", ()))
        if kinds and not isinstance(value, kinds):
            raise VerifyError(node.name, f"{node.op}: attribute {name} must be {label}")
    for name in signature.required:
        if name not in node.attributes:
            raise VerifyError(node.name, f"{node.op}: attribute {name} is missing")
    if node.op == "Constant" and len(node.attributes) != 1:
        raise VerifyError(node.name, "Constant: exactly one attribute is wanted, its value")


# onnxruntime had these among ONNX's operators before ONNX did, and models written then name them so.
_OLDER_THAN_ONNX = {("", "LayerNormalization")}


@cache
def _signature(op: str, domain: str, version: int) -> _Signature | str | None:
    """The signature; None where ONNX says nothing, a sentence where the operator is of another opset."""
    import onnx

    if not onnx.defs.has(op, domain):
        return None
    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except (onnx.defs.SchemaError, TypeError):  # TypeError: a number that C++ cannot hold
        if (domain, op) in _OLDER_THAN_ONNX:
            return None
        return f"there is no operator {op} in opset {version} of {domain or 'ai.onnx'}"
    if schema.deprecated:
        return None
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    needed = 0
    for formal in schema.inputs:
        if formal.option != single or needed == schema.min_input:
            break
        needed += 1
    return _Signature(
        inputs=(schema.min_input, schema.max_input),
        outputs=(schema.min_output, schema.max_output),
        needed=needed,
        kinds={
            name: _KINDS.get(str(formal.type).rpartition(".")[2], ("", ()))
            for name, formal in schema.attributes.items()
        },
        required=tuple(sorted(name for name, formal in schema.attributes.items() if formal.required)),
    )


_KINDS: dict[str, tuple[str, _Kinds]] = {
    "INT": ("an integer", (int,)),
    "FLOAT": ("a float", (float,)),
    "STRING": ("a string", (str, bytes)),
    "TENSOR": ("a tensor", (Constant,)),
    "GRAPH": ("a graph", (Graph,)),
    "INTS": ("a list of integers", (Ints,)),
    "FLOATS": ("a list of floats", (Floats,)),
    "STRINGS": ("a list of strings", (Strings,)),
    "GRAPHS": ("a list of graphs", (Graphs,)),
    "SPARSE_TENSOR": ("a sparse tensor", (OpaqueAttribute,)),
    "TYPE_PROTO": ("a type", (OpaqueAttribute,)),
    "TENSORS": ("a list of tensors", (OpaqueAttribute,)),
}
