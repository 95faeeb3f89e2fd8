"""What a kernel's generator can see of a node: nodes with equal signatures become equal kernels.

Layers of a network repeat the same kernels under other names. A signature leaves the names out: values are numbered
in the order in which they are met. Making one costs a tenth of reading the node, so only what differs is read.
"""

from __future__ import annotations

from collections.abc import Hashable

from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import Type

# Constants up to this size are in the signature by what they hold: scales, exponents, axes, shapes.
_MOST_ELEMENTS = 64


def signature(graph: Graph, node: Node) -> Hashable:
    """The operators of a node with their attributes, how they hang together, and the types of all values. O(body)."""
    body = node.body
    inner, inputs, outputs = (
        (graph, tuple(filter(None, node.inputs)), tuple(filter(None, node.outputs)))
        if body is None
        else (body, body.inputs, tuple(n for n, o in zip(body.outputs, node.outputs, strict=True) if o))
    )
    numbers: dict[str, int] = {"": -1}
    for name in inputs:
        numbers.setdefault(name, len(numbers))
    operators: list[Hashable] = []
    for one in (node,) if body is None else body.order:
        wiring = tuple([numbers.setdefault(name, len(numbers)) for name in (*one.inputs, *one.outputs)])
        operators.append((one.op, one.domain, one.attributes, len(one.inputs), wiring))
    results = tuple([numbers[name] for name in outputs])
    return node.op, tuple(operators), results, tuple([_content(inner, name) for name in numbers if name])


def _content(graph: Graph, name: str) -> tuple[Type | None, Hashable]:
    value = graph.values.get(name)
    if value is None:
        return None, None
    data = value.constant
    if data is None:
        return value.type, None
    if data.available and data.elements <= _MOST_ELEMENTS:
        return value.type, data.array().tobytes()
    return value.type, "data"
