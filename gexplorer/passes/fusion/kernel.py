"""Grouping nodes into one kernel: a node that keeps what it replaced as its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES, Graph, Node, Value, make_graph, program_key
from gexplorer.ir.types import Type

# Domain of fused nodes in the graph.
KERNEL_DOMAIN = "ge"
# Integer constants up to this size (shapes, axes, indices) go into the body; larger ones are data.
_INSIDE_ELEMENTS = 64


def group(
    draft: Draft,
    nodes: Sequence[Node],
    op: str,
    *,
    anchor: Node,
    attributes: Map[str, object] = NO_ATTRIBUTES,
) -> Node:
    """Replaces nodes by one kernel that computes what they computed.

    Inputs are the values that come from outside, in the order of first use; scalars and small integer constants
    (exponents, epsilons, axes, shapes) move into the body. Outputs are the values that are used outside.

    Args:
        draft: the graph.
        nodes: what to group; no path may leave the group and come back.
        op: operator of the kernel.
        anchor: the node whose name and place the kernel takes.
        attributes: what the cost model and people want to know of it.

    Returns:
        The kernel.
    """
    ordered = sorted({node.name: draft.node(node.name) for node in nodes}.values(), key=program_key)
    inside = {node.name for node in ordered}
    made = {output for node in ordered for output in node.outputs if output}
    outputs = tuple(
        output
        for node in ordered
        for output in node.outputs
        if output and (draft.is_result(output) or any(user.name not in inside for user in draft.users(output)))
    )
    inputs, constants = _outside(draft, ordered, made)
    body = _body(draft, ordered, inputs, constants, outputs, op)
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
    for node in ordered:
        if node.name != anchor.name:
            draft.drop_node(node.name)
    draft.put_node(kernel)
    for name in sorted(made):
        value = draft.own_value(name)
        assert value is not None
        if name in outputs:
            draft.put_value(replace(value, producer=kernel.name))
        else:
            draft.drop_value(name)
    return kernel


def _outside(draft: Draft, nodes: Sequence[Node], made: set[str]) -> tuple[tuple[str, ...], dict[str, Constant]]:
    inputs: dict[str, None] = {}
    constants: dict[str, Constant] = {}
    for node in nodes:
        for name in node.inputs:
            if not name or name in made:
                continue
            data = draft.constant_of(name)
            if data is not None and data.is_small and _belongs_inside(data):
                constants[name] = data
            else:
                inputs[name] = None
    return tuple(inputs), constants


def _belongs_inside(data: Constant) -> bool:
    return data.elements == 1 or (data.dtype.is_integer and data.elements <= _INSIDE_ELEMENTS)


def _body(
    draft: Draft,
    nodes: Sequence[Node],
    inputs: tuple[str, ...],
    constants: dict[str, Constant],
    outputs: tuple[str, ...],
    name: str,
) -> Graph:
    """The nodes as a graph of their own, with names by position, so that equal kernels have equal bodies."""
    names = {value: f"in{i}" for i, value in enumerate(inputs)}
    names |= {value: f"c{i}" for i, value in enumerate(constants)}
    made = [output for node in nodes for output in node.outputs if output]
    names |= {value: f"v{i}" for i, value in enumerate(made)}
    names[""] = ""
    inner: list[Node] = []
    values: list[Value] = [Value(names[value], _type(draft, value), constant=data) for value, data in constants.items()]
    for index, node in enumerate(nodes):
        own = replace(
            node,
            name=f"n{index}",
            inputs=tuple(names[i] for i in node.inputs),
            outputs=tuple(names[o] for o in node.outputs),
            position=index,
            partition="",
        )
        inner.append(own)
        values += [Value(names[o], _type(draft, o), producer=own.name) for o in node.outputs if o]
    return make_graph(
        name,
        inputs=[Value(names[value], _type(draft, value)) for value in inputs],
        nodes=inner,
        values=values,
        outputs=tuple(names[value] for value in outputs),
        opsets=draft.opsets,
    )


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
