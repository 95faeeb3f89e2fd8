"""Every text of a model must be UTF-8: protobuf hands out bytes where it is not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError

if TYPE_CHECKING:
    import onnx


def require_text(proto: onnx.ModelProto) -> None:
    """Protobuf hands out bytes in place of a text that is not UTF-8; no name may be such."""
    texts: list[object] = [entry.domain for entry in proto.opset_import]
    for function in proto.functions:
        texts += (function.name, function.domain, *function.input, *function.output, *function.attribute)
        texts += (entry.domain for entry in function.opset_import)
        texts += _texts(function.node)
    texts += _graph_texts(proto.graph)
    if {*map(type, texts)} - {str}:
        wrong = next(text for text in texts if not isinstance(text, str))
        raise ModelError(f"the name {wrong!r} is not UTF-8 text")


def _graph_texts(graph: onnx.GraphProto) -> Iterable[object]:
    yield graph.name
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        yield from _tensor_texts(tensor)
    for info in (*graph.input, *graph.output, *graph.value_info):
        yield info.name
        yield from _type_texts(info.type)
    yield from _texts(graph.node)


def _texts(nodes: Iterable[onnx.NodeProto]) -> list[object]:
    texts: list[object] = []
    for node in nodes:
        texts += (node.name, node.op_type, node.domain, *node.input, *node.output)
        for entry in node.metadata_props:
            texts += (entry.key, entry.value)
        for attribute in node.attribute:
            texts += (attribute.name, attribute.ref_attr_name)
            if attribute.type == attribute.TENSOR:
                texts += _tensor_texts(attribute.t)
            elif attribute.type == attribute.GRAPH:
                texts += _graph_texts(attribute.g)
            for graph in attribute.graphs:
                texts += _graph_texts(graph)
    return texts


def _tensor_texts(tensor: onnx.TensorProto) -> Iterable[object]:
    yield tensor.name
    for entry in tensor.external_data:
        yield from (entry.key, entry.value)


def _type_texts(type_: onnx.TypeProto) -> Iterable[object]:
    kind = type_.WhichOneof("value")
    if kind == "tensor_type":
        for dim in type_.tensor_type.shape.dim:
            yield dim.dim_param
    elif kind in ("sequence_type", "optional_type"):
        yield from _type_texts(getattr(type_, kind).elem_type)
