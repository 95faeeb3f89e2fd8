"""Grouping nodes into one kernel: a node that keeps what it replaced as its body."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import NO_ATTRIBUTES, Graph, Node, Value, make_graph, program_key
from gexplorer.ir.types import TensorType, Type

# Domain of fused nodes in the graph.
KERNEL_DOMAIN = "ge"
# Constants of int64 up to this size (shapes, axes, indices) go into the body; all others are data.
_INSIDE_ELEMENTS = 64


def group(
    draft: Draft,
    nodes: Sequence[Node],
    op: str,
    *,
    anchor: Node,
    attributes: Map[str, object] = NO_ATTRIBUTES,
    copied: Collection[str] = (),
    first: Sequence[str] = (),
) -> Node:
    """Replaces nodes by one kernel that computes what they computed.

    Inputs are the values that come from outside, in the order of first use; scalars and small integer constants
    (exponents, epsilons, axes, shapes) move into the body. Outputs are the values that are used outside, the anchor's
    first. A kernel among the nodes gives the new one its body, so that bodies are flat.

    Args:
        draft: the graph.
        nodes: what to group; no path may leave the group and come back.
        op: operator of the kernel.
        anchor: the node whose name and place the kernel takes.
        attributes: what the cost model and people want to know of it.
        copied: names of nodes that others use too: they stay, and the kernel computes for itself what they do.
        first: values that are the first inputs, in this order, where they are inputs at all.

    Returns:
        The kernel.
    """
    ordered = sorted({node.name: draft.node(node.name) for node in nodes}.values(), key=program_key)
    moved = [node for node in ordered if node.name not in copied]
    inside = {node.name for node in moved}
    outputs = tuple(
        output
        for node in sorted(moved, key=lambda node: node.name != anchor.name)
        for output in node.outputs
        if output and (draft.is_result(output) or any(user.name not in inside for user in draft.users(output)))
    )
    leading = (*first, *(name for node in ordered for name in node.inputs))  # a kernel's inputs keep their order
    body, inputs = _body(draft, _flat(draft, ordered), outputs, op, leading)
    origin = tuple(dict.fromkeys(name for node in ordered for name in node.origin))
    scope = _common_scope([node.scope for node in ordered])
    kernel = Node(
        name=anchor.name,
        op=op,
        inputs=inputs,
        outputs=outputs,
        attributes=attributes,
        domain=KERNEL_DOMAIN,
        origin=origin,
        position=anchor.position,
        scope=scope,
        partition=anchor.partition,
        body=body,
    )
    for node in moved:
        if node.name != anchor.name:
            draft.drop_node(node.name)
    draft.put_node(kernel)
    for name in sorted(output for node in moved for output in node.outputs if output):
        value = draft.own_value(name)
        assert value is not None
        if name in outputs:
            draft.put_value(replace(value, producer=kernel.name))
        else:
            draft.drop_value(name)
    return kernel


@dataclass(slots=True)
class _Parts:
    """ONNX operators, kernels taken apart, with what is known of the values between them."""

    nodes: list[Node] = field(default_factory=list[Node])
    constants: dict[str, Constant] = field(default_factory=dict[str, Constant])
    types: dict[str, Type | None] = field(default_factory=dict[str, "Type | None"])


def _flat(draft: Draft, nodes: Sequence[Node]) -> _Parts:
    parts = _Parts()
    for node in nodes:
        if node.body is None:
            parts.nodes.append(node)
            parts.types |= {output: _type(draft, output) for output in node.outputs if output}
            continue
        names = {name: f"{node.name}/{name}" for name in node.body.values}
        names |= zip(node.body.inputs, node.inputs, strict=True)
        names |= {inner: outer for inner, outer in zip(node.body.outputs, node.outputs, strict=True) if outer}
        names[""] = ""
        for value in node.body.values.values():
            parts.types[names[value.name]] = value.type
            if value.constant is not None:
                parts.constants[names[value.name]] = value.constant
        for inner in node.body.order:
            inputs, outputs = (tuple(names[name] for name in side) for side in (inner.inputs, inner.outputs))
            parts.nodes.append(replace(inner, inputs=inputs, outputs=outputs))
    return parts


def _belongs_inside(data: Constant) -> bool:
    return data.elements == 1 or (data.dtype == DType.INT64 and data.elements <= _INSIDE_ELEMENTS)


def _body(
    draft: Draft, parts: _Parts, outputs: tuple[str, ...], name: str, first: Sequence[str]
) -> tuple[Graph, tuple[str, ...]]:
    """The parts as a graph of their own, with names by position, so that equal kernels have equal bodies.

    Returns:
        The graph, and its inputs by their names outside.
    """
    made = [output for node in parts.nodes for output in node.outputs if output]
    inputs, constants = _outside(draft, parts, frozenset(made))
    inputs = tuple(name for name in dict.fromkeys((*first, *inputs)) if name in inputs)
    names = {value: f"in{i}" for i, value in enumerate(inputs)}
    names |= {value: f"c{i}" for i, value in enumerate(constants)}
    names |= {value: f"v{i}" for i, value in enumerate(made)}
    names[""] = ""
    nodes: list[Node] = []
    values: list[Value] = [
        Value(names[value], TensorType(data.dtype, data.shape), constant=data) for value, data in constants.items()
    ]
    for index, node in enumerate(parts.nodes):
        own = replace(
            node,
            name=f"n{index}",
            inputs=tuple(names[i] for i in node.inputs),
            outputs=tuple(names[o] for o in node.outputs),
            position=index,
            partition="",
        )
        nodes.append(own)
        values += [Value(names[o], parts.types[o], producer=own.name) for o in node.outputs if o]
    body = make_graph(
        name,
        inputs=[Value(names[value], _type(draft, value)) for value in inputs],
        nodes=nodes,
        values=values,
        outputs=tuple(names[value] for value in outputs),
        opsets=draft.opsets,
    )
    return body, inputs


def _outside(draft: Draft, parts: _Parts, made: frozenset[str]) -> tuple[tuple[str, ...], dict[str, Constant]]:
    """What the parts read and do not make: inputs, and constants that belong into the body."""
    inputs: dict[str, None] = {}
    constants: dict[str, Constant] = {}
    for name in dict.fromkeys(name for node in parts.nodes for name in node.inputs if name and name not in made):
        data = parts.constants.get(name) or draft.constant_of(name)
        if name in parts.constants or (data is not None and data.is_small and _belongs_inside(data)):
            assert data is not None
            constants[name] = data
        else:
            inputs[name] = None
    return tuple(inputs), constants


def _type(draft: Draft, name: str) -> Type | None:
    value = draft.value(name)
    return value.type if value is not None else None


def _common_scope(scopes: Sequence[str]) -> str:
    """The innermost module that all the nodes belong to."""
    common = scopes[0].split(".") if scopes else []
    for scope in scopes[1:]:
        parts = scope.split(".")
        length = next(
            (i for i, (a, b) in enumerate(zip(common, parts, strict=False)) if a != b), min(len(common), len(parts))
        )
        common = common[:length]
    return ".".join(common)
