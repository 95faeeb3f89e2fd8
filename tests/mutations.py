"""Damage to models, drawn by hypothesis: to their bytes, and to what their messages say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import onnx
from hypothesis import strategies as st
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

Draw = Callable[[st.SearchStrategy[Any]], Any]

INTEGERS = st.one_of(
    st.sampled_from((0, 1, -1, 2, -2, 3, 7, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), -(1 << 31))),
    st.integers(-4, 12),
)
FLOATS = st.sampled_from((0.0, 1.0, -1.0, 0.5, 1e30, float("inf"), float("nan")))
OPERATORS = tuple(sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}))


def damaged_bytes(draw: Draw, data: bytes) -> bytes:
    """Bytes flipped, taken out, put in or cut off."""
    broken = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(broken) - 1, 0)))
        match draw(st.sampled_from(("flip", "set", "delete", "insert", "cut", "copy"))):
            case "flip" if broken:
                broken[at] ^= 1 << draw(st.integers(0, 7))
            case "set" if broken:
                broken[at] = draw(st.integers(0, 255))
            case "delete":
                del broken[at : at + draw(st.integers(1, 8))]
            case "insert":
                broken[at:at] = draw(st.binary(min_size=1, max_size=8))
            case "copy":
                length = draw(st.integers(1, 64))
                broken[at:at] = broken[at : at + length]
            case "cut":
                del broken[at:]
    return bytes(broken)


def damaged_model(draw: Draw, original: ModelProto) -> ModelProto:
    """One to three things in the messages changed."""
    model = ModelProto()
    model.CopyFrom(original)
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
        graphs = list(_graphs(model))
        draw(st.sampled_from(_CHANGES))(draw, model, draw(st.sampled_from(graphs)))
    return model


def _graphs(model: ModelProto) -> Iterator[Any]:
    """Everything that holds nodes: graphs, nested ones, functions."""
    waiting: list[Any] = [model.graph, *model.functions]
    for graph in waiting:
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                waiting.extend([*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs])


def _node(draw: Draw, graph: Any) -> NodeProto | None:
    return draw(st.sampled_from(list(graph.node))) if graph.node else None


def _names(graph: Any) -> list[str]:
    names = [name for node in graph.node for name in (*node.input, *node.output)]
    if isinstance(graph, GraphProto):
        names += [named.name for named in (*graph.input, *graph.initializer, *graph.output)]
    return [*dict.fromkeys(names), "", "nowhere"]


def _rename_value(draw: Draw, model: ModelProto, graph: Any) -> None:
    node = _node(draw, graph)
    if node is not None:
        names = draw(st.sampled_from([names for names in (node.input, node.output) if names] or [[""]]))
        names[draw(st.integers(0, len(names) - 1))] = draw(st.sampled_from(_names(graph)))


def _change_arity(draw: Draw, model: ModelProto, graph: Any) -> None:
    node = _node(draw, graph)
    if node is not None:
        names = draw(st.sampled_from((node.input, node.output)))
        if names and draw(st.booleans()):
            del names[draw(st.integers(0, len(names) - 1))]
        else:
            names.append(draw(st.sampled_from(_names(graph))))


def _swap_inputs(draw: Draw, model: ModelProto, graph: Any) -> None:
    node = _node(draw, graph)
    if node is not None:
        names = draw(st.permutations(list(node.input)))
        del node.input[:]
        node.input.extend(names)


def _change_nodes(draw: Draw, model: ModelProto, graph: Any) -> None:
    node = _node(draw, graph)
    if node is None:
        return
    copy = NodeProto()
    copy.CopyFrom(node)
    match draw(st.sampled_from(("drop", "double", "double under other names", "move"))):
        case "drop":
            graph.node.remove(node)
        case "double":
            graph.node.append(copy)
        case "double under other names":
            copy.output[:] = [f"{name}_again" for name in copy.output]
            graph.node.append(copy)
        case "move":
            graph.node.remove(node)
            graph.node.insert(draw(st.integers(0, len(graph.node))), copy)


def _change_operator(draw: Draw, model: ModelProto, graph: Any) -> None:
    node = _node(draw, graph)
    if node is not None:
        if draw(st.booleans()):
            node.op_type = draw(st.sampled_from(OPERATORS))
        else:
            node.domain = draw(st.sampled_from(("ai.onnx", "ai.onnx.ml", "com.example", "nowhere", "local")))


def _change_attribute(draw: Draw, model: ModelProto, graph: Any) -> None:
    nodes = [node for node in graph.node if node.attribute]
    if not nodes:
        return
    node = draw(st.sampled_from(nodes))
    attribute = draw(st.sampled_from(list(node.attribute)))
    match draw(st.sampled_from(("value", "value", "value", "type", "name", "drop", "double", "refer"))):
        case "value":
            _change_attribute_value(draw, attribute)
        case "type":
            attribute.type = draw(st.integers(0, 14))
        case "name":
            attribute.name = draw(st.sampled_from(("axis", "axes", "perm", "to", "value", "pads", "body", "")))
        case "drop":
            node.attribute.remove(attribute)
        case "double":
            node.attribute.append(attribute)
        case "refer":
            attribute.ref_attr_name = "alpha"


def _change_attribute_value(draw: Draw, attribute: AttributeProto) -> None:
    match attribute.type:
        case AttributeProto.FLOAT:
            attribute.f = draw(FLOATS)
        case AttributeProto.INT:
            attribute.i = draw(INTEGERS)
        case AttributeProto.STRING:
            attribute.s = draw(st.sampled_from((b"", b"NOTSET", b"SAME_LOWER", b"VALID", b"linear", b"\xff")))
        case AttributeProto.TENSOR:
            _change_tensor(draw, attribute.t)
        case AttributeProto.INTS:
            attribute.ints[:] = draw(st.lists(INTEGERS, max_size=5))
        case AttributeProto.GRAPH:
            attribute.ClearField("g")
        case _:
            attribute.type = draw(st.integers(0, 14))


def _add_attribute(draw: Draw, model: ModelProto, graph: Any) -> None:
    node = _node(draw, graph)
    if node is not None:
        name = draw(st.sampled_from(("axis", "axes", "perm", "keepdims", "allowzero", "to", "start", "noop", "k")))
        value = draw(st.one_of(INTEGERS, st.lists(st.integers(-3, 3), min_size=1, max_size=3), FLOATS))
        node.attribute.append(onnx.helper.make_attribute(name, value))


def _change_tensor(draw: Draw, tensor: TensorProto) -> None:
    match draw(st.sampled_from(("elements", "elements", "dims", "dtype", "payload", "location"))):
        case "elements":
            _change_elements(draw, tensor)
        case "dims":
            dims = list(tensor.dims)
            if dims and draw(st.booleans()):
                dims[draw(st.integers(0, len(dims) - 1))] = draw(INTEGERS)
            else:
                dims.insert(draw(st.integers(0, len(dims))), draw(INTEGERS))
            tensor.dims[:] = dims
        case "dtype":
            tensor.data_type = draw(st.integers(0, 30))
        case "payload":
            tensor.raw_data = draw(st.sampled_from((b"", tensor.raw_data[:-1], tensor.raw_data * 2, b"\x01" * 8)))
        case "location":
            _change_location(draw, tensor)


def _change_elements(draw: Draw, tensor: TensorProto) -> None:
    """Other elements, as many as before, so that only their meaning is new."""
    for field, values in (("int64_data", INTEGERS), ("float_data", FLOATS)):
        held = getattr(tensor, field)
        if held:
            held[draw(st.integers(0, len(held) - 1))] = draw(values)
    if tensor.raw_data and tensor.data_type == TensorProto.INT64:
        count = len(tensor.raw_data) // 8
        numbers = draw(st.lists(INTEGERS, min_size=count, max_size=count))
        tensor.raw_data = b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


def _change_location(draw: Draw, tensor: TensorProto) -> None:
    tensor.data_location = TensorProto.EXTERNAL
    if not tensor.external_data:
        tensor.external_data.add(key="location", value="weights.bin")
    entry = draw(st.sampled_from(list(tensor.external_data)))
    entry.value = draw(st.sampled_from(("weights.bin", "../x", "", "-1", "1e9", "9" * 30, "4", ".", "missing.bin")))


def _change_constant(draw: Draw, model: ModelProto, graph: Any) -> None:
    tensors = [a.t for node in graph.node for a in node.attribute if a.HasField("t")]
    if isinstance(graph, GraphProto):
        tensors += [*graph.initializer]
        for sparse in graph.sparse_initializer:
            tensors += [sparse.values, sparse.indices]
            if draw(st.booleans()):
                sparse.dims[0] = draw(INTEGERS)
    if tensors:
        _change_tensor(draw, draw(st.sampled_from(tensors)))


def _change_initializers(draw: Draw, model: ModelProto, graph: Any) -> None:
    if isinstance(graph, GraphProto) and graph.initializer:
        chosen = draw(st.sampled_from(list(graph.initializer)))
        match draw(st.sampled_from(("drop", "double", "input", "rename"))):
            case "drop":
                graph.initializer.remove(chosen)
            case "double":
                graph.initializer.append(chosen)
            case "input":
                graph.input.add(name=chosen.name).type.tensor_type.elem_type = chosen.data_type
            case "rename":
                chosen.name = draw(st.sampled_from(_names(graph)))


def _change_declared(draw: Draw, model: ModelProto, graph: Any) -> None:
    """Another type for an input or a result, or another list of them."""
    if not isinstance(graph, GraphProto):
        return
    infos = draw(st.sampled_from((graph.input, graph.output)))
    if not infos:
        return
    info = draw(st.sampled_from(list(infos)))
    tensor = info.type.tensor_type
    match draw(st.sampled_from(("dim", "dim", "dims", "dtype", "no shape", "no type", "drop", "double", "rename"))):
        case "dim" if tensor.shape.dim:
            dim = draw(st.sampled_from(list(tensor.shape.dim)))
            if draw(st.booleans()):
                dim.dim_value = draw(INTEGERS)
            else:
                dim.dim_param = draw(st.sampled_from(("n", "k", "n + 1", "floor(n/2)", "-1", "?", "")))
        case "dims":
            tensor.shape.dim.add().dim_value = draw(INTEGERS)
        case "dtype":
            tensor.elem_type = draw(st.integers(0, 30))
        case "no shape":
            tensor.ClearField("shape")
        case "no type":
            info.ClearField("type")
        case "drop":
            infos.remove(info)
        case "double":
            infos.append(info)
        case _:
            info.name = draw(st.sampled_from(_names(graph)))


def _change_opset(draw: Draw, model: ModelProto, graph: Any) -> None:
    imports = model.opset_import if isinstance(graph, GraphProto) else graph.opset_import
    match draw(st.sampled_from(("version", "version", "drop", "add", "ir"))):
        case "version" if imports:
            draw(st.sampled_from(list(imports))).version = draw(st.one_of(st.integers(6, 27), INTEGERS))
        case "drop" if imports:
            imports.pop()
        case "add":
            imports.add(domain=draw(st.sampled_from(("", "ai.onnx", "x"))), version=draw(st.integers(-1, 30)))
        case _:
            model.ir_version = draw(st.integers(0, 14))


_CHANGES = (
    _rename_value,
    _rename_value,
    _change_arity,
    _swap_inputs,
    _change_nodes,
    _change_operator,
    _change_attribute,
    _change_attribute,
    _add_attribute,
    _change_constant,
    _change_constant,
    _change_initializers,
    _change_declared,
    _change_opset,
)
