"""Keeps an evaluator from merging casts that round between."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx


def isolate_casts(model: onnx.ModelProto) -> None:
    """Puts an Identity before and behind every cast, which changes no value.

    With all optimisation off, onnxruntime still merges casts that follow each other (its own around operators that it
    has in float32 only included): a rounding to float16 between goes, and so does a value that a nested graph captures.
    """
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        _isolate_casts_among(nodes)


def _isolate_casts_among(nodes: MutableSequence[onnx.NodeProto]) -> None:
    from onnx import helper

    isolated: list[onnx.NodeProto] = []
    for node in nodes:
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                _isolate_casts_among(graph.node)
        if node.op_type not in ("Cast", "CastLike") or node.domain or not node.output:
            isolated.append(node)
            continue
        source, result = node.input[0], node.output[0]
        node.input[0], node.output[0] = f"{result}/before cast", f"{result}/behind cast"
        isolated.append(helper.make_node("Identity", [source], [node.input[0]]))
        isolated.append(node)
        isolated.append(helper.make_node("Identity", [node.output[0]], [result]))
    if len(isolated) > len(nodes):
        copies = [type(node).FromString(node.SerializeToString()) for node in isolated]
        del nodes[:]
        nodes.extend(copies)
