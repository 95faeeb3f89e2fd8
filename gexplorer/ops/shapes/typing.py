"""Writing inferred types into a graph."""

from __future__ import annotations

from dataclasses import replace

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Graph, Node, Value
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.shapes.inference import BODY, Facts


def with_types(graph: Graph, facts: Facts) -> Graph:
    """The graph with the type of every value as inferred, nested graphs too; the same object if none differs.

    A tensor keeps its storage format as long as its rank stays.
    """
    draft = Draft(graph)
    for name, fact in facts.items():
        value = graph.values.get(name)
        if value is None or value.type is fact.type:
            continue
        type_ = _formatted(value.type, fact.type)
        if type_ != value.type:
            draft.put_value(Value(name, type_, value.producer, value.constant, value.declared))
    changed: dict[str, Node] = {}
    for (name, label), inner in facts.nested.items():
        node = changed.get(name) or graph.nodes.get(name)
        if node is not None:
            changed[name] = _with_nested(node, label, inner)
    for name, node in changed.items():
        if node is not graph.nodes[name]:
            draft.put_node(node)
    return draft.finish()


def _formatted(old: Type | None, new: Type | None) -> Type | None:
    if isinstance(old, TensorType) and isinstance(new, TensorType) and old.format != new.format:
        return replace(new, format=old.format) if old.rank == new.rank else new
    return new


def _with_nested(node: Node, label: str, facts: Facts) -> Node:
    """The node with types written into one of its graphs."""
    graph = node.body if label == BODY else node.attribute(label)
    if not isinstance(graph, Graph):
        return node
    new = with_types(graph, facts)
    if new is graph:
        return node
    return replace(node, body=new) if label == BODY else replace(node, attributes=node.attributes.set(label, new))
