"""Graph -> ``onnx.ModelProto``: any graph at any step, fused nodes as model-local functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gexplorer.errors import ModelError
from gexplorer.ir.constant import Constant, FileSource, ProtoSource
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Graph, Graphs, Ints, Node, OpaqueAttribute, Strings, Value
from gexplorer.ir.symbols import Symbol
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type
from gexplorer.output import whole_file

if TYPE_CHECKING:
    import numpy as np
    import onnx
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Nodes = RepeatedCompositeFieldContainer[onnx.NodeProto]

# Domain of the functions that stand for fused nodes.
FUSED_DOMAIN = "gexplorer"
# A protobuf message cannot pass 2 GiB; larger models keep their weights in a file beside.
EMBED_LIMIT_BYTES = 1_500_000_000
_LEAST_IR_VERSION = 10  # functions, overloads and every element type that onnxruntime takes


def to_onnx(graph: Graph, *, value_info: bool = True) -> onnx.ModelProto:
    """The graph as a runnable model.

    Constants whose bytes are not available stay references to their missing file; all others are embedded.

    Args:
        graph: an outermost graph.
        value_info: whether inferred types of inner values are written too.

    Raises:
        ModelError: the constants are too large to embed; ``save_onnx`` can write them.
    """
    total = sum(c.nbytes for c in _constants_deep(graph) if c.available)
    if total > EMBED_LIMIT_BYTES:
        raise ModelError(f"{total} bytes of weights do not fit into one message; save the model to a file instead")
    return _Writer(graph, None, value_info).model


def save_onnx(graph: Graph, path: str | Path) -> None:
    """Writes the graph as a ``.onnx`` file, whole or not at all; large weights go to ``<name>.data`` beside it."""
    path = Path(path)
    total = sum(c.nbytes for c in _constants_deep(graph) if c.available)
    if total <= EMBED_LIMIT_BYTES:
        with whole_file(path) as file:
            file.write(to_onnx(graph).SerializeToString())
        return
    # The data file is in place before the model that names it.
    with whole_file(path) as file, whole_file(path.with_name(path.name + ".data")) as data:
        file.write(_Writer(graph, _DataFile(data, path.name + ".data"), True).model.SerializeToString())


class _DataFile:
    """The file beside a large model that takes the weights; runs of zeros become holes."""

    ALIGNMENT = 4096

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._end = 0
        self.name = name

    def append(self, data: np.ndarray) -> int:
        """Writes bytes (uint8, one dimension, perhaps mapped from a file) at an aligned offset; returns the offset."""
        offset = -(-self._end // self.ALIGNMENT) * self.ALIGNMENT
        step = 1 << 20
        for start in range(0, len(data), step):
            chunk = data[start : start + step]
            if chunk.any():
                self._file.seek(offset + start)
                self._file.write(chunk.tobytes())
        self._end = offset + len(data)
        self._file.truncate(self._end)
        return offset


class _Writer:
    def __init__(self, graph: Graph, data: _DataFile | None, value_info: bool) -> None:
        import onnx

        self._onnx = onnx
        self._root = graph
        self._data = data
        self._value_info = value_info
        self._functions: dict[bytes, str] = {}
        self._function_names: set[str] = set()
        self._opsets = dict(graph.opsets)
        self.model = onnx.ModelProto(producer_name="gexplorer")
        self._write_graph(self.model.graph, graph, {})
        if self.model.functions:
            self._opsets[FUSED_DOMAIN] = 1
        for domain, version in sorted(self._opsets.items()):
            self.model.opset_import.add(domain=domain, version=version)
        self.model.ir_version = max(_LEAST_IR_VERSION, _least_ir_version(onnx, self._opsets))

    def _write_graph(self, proto: onnx.GraphProto, graph: Graph, around: Mapping[str, str]) -> None:
        root = graph is self._root
        names, copies = _result_names(graph)
        scope = {**around, **names} if names else around
        proto.name = graph.name
        for name in graph.inputs:
            value = graph.values[name]
            self._info(proto.input.add(), name, value.type)
            if name in graph.defaults:
                self._constant(proto.initializer.add(), name, graph.defaults[name])
        used = graph.users
        results = set(graph.outputs)
        for value in graph.constants:
            assert value.constant is not None
            if used.get(value.name) or value.name in results:
                self._constant(proto.initializer.add(), scope.get(value.name, value.name), value.constant)
        for node in graph.order:
            self._node(proto.node, node, scope)
        for source, output in copies:
            proto.node.add(op_type="Identity", input=[scope.get(source, source)], output=[output])
        for value, output in zip(graph.outputs, graph.output_names, strict=True):
            found = graph.values.get(value)
            self._info(proto.output.add(), output, _result_type(found, root) if found else None)
        if self._value_info:
            self._inner_types(proto, graph, scope)

    def _inner_types(self, proto: onnx.GraphProto, graph: Graph, scope: Mapping[str, str]) -> None:
        shown = {*graph.inputs, *graph.outputs}
        for node in graph.order:
            for output in node.outputs:
                if output and output not in shown:
                    type_ = graph.values[output].type
                    if isinstance(type_, TensorType):
                        self._info(proto.value_info.add(), scope.get(output, output), type_)

    def _node(self, nodes: Nodes, node: Node, scope: Mapping[str, str], *, located: bool = True) -> None:
        """Appends a node: an operator, or the call of a function for a fused one."""
        if node.body is not None and not self._may_be_function(node.body):
            self._in_place(nodes, node, node.body, scope)
            return
        proto = nodes.add(name=node.name)
        if node.body is not None:
            proto.op_type = self._function(node, node.body)
            proto.domain = FUSED_DOMAIN
        else:
            proto.op_type = node.op
            proto.domain = node.domain
            for name in sorted(node.attributes):
                self._attribute(proto.attribute.add(), name, node.attributes[name], scope)
        proto.input.extend([scope.get(name, name) for name in node.inputs])
        proto.output.extend([scope.get(name, name) for name in node.outputs])
        if located and node.scope:
            proto.metadata_props.add(key="namespace", value=node.scope.replace(".", "/"))
        if located and node.origin != (node.name,):
            proto.metadata_props.add(key="gexplorer.origin", value=json.dumps(node.origin))

    def _may_be_function(self, body: Graph) -> bool:
        """False where a body has an ONNX operator that its opset has not.

        onnxruntime 1.32 runs such nodes (its own LayerNormalization before opset 17), but a function that holds one
        ends the process.
        """
        version = body.opsets.get("", 0)
        return all(
            bool(node.domain) or self._onnx.defs.has(node.op, version, "")
            for node in body.nodes.values()
            if node.body is None
        )

    def _function(self, node: Node, body: Graph) -> str:
        """The name of the model-local function for a body, written once for equal bodies."""
        proto = self._onnx.FunctionProto(domain=FUSED_DOMAIN)
        names, copies = _result_names(body)
        proto.input.extend(body.inputs)
        proto.output.extend(body.output_names)
        self._contents(proto.node, body, names, copies)
        used = {FUSED_DOMAIN if inner.body is not None else inner.domain for inner in body.nodes.values()} | {""}
        for domain in sorted(used):
            proto.opset_import.add(domain=domain, version=1 if domain == FUSED_DOMAIN else body.opsets.get(domain, 1))
        key = proto.SerializeToString(deterministic=True)
        if key not in self._functions:
            name = node.op
            while name in self._function_names:
                name = f"{node.op}_{len(self._function_names)}"
            self._function_names.add(name)
            self._functions[key] = name
            proto.name = name
            self.model.functions.append(proto)
        return self._functions[key]

    def _in_place(self, nodes: Nodes, node: Node, body: Graph, scope: Mapping[str, str]) -> None:
        """Writes what a fused node computes in its place, under names of its own."""
        names = {value: f"{node.name}/{value}" for value in body.values}
        names |= {i: scope.get(name, name) for i, name in zip(body.inputs, node.inputs, strict=True)}
        copies: list[tuple[str, str]] = []
        named: set[str] = set()
        for value, output in zip(body.outputs, node.outputs, strict=True):
            outside = scope.get(output, output)
            if outside and _is_produced(body.values.get(value)) and value not in named:
                names[value] = outside
                named.add(value)
            elif outside:
                copies.append((value, outside))
        self._contents(nodes, body, names, copies, f"{node.name}/")

    def _contents(
        self,
        nodes: Nodes,
        body: Graph,
        names: Mapping[str, str],
        copies: Sequence[tuple[str, str]],
        prefix: str = "",
    ) -> None:
        results = set(body.outputs)
        for value in body.constants:
            assert value.constant is not None
            if body.users.get(value.name) or value.name in results:
                entry = nodes.add(op_type="Constant", output=[names.get(value.name, value.name)])
                attribute = entry.attribute.add(name="value", type=self._onnx.AttributeProto.TENSOR)
                self._constant(attribute.t, "", value.constant)
        for inner in body.order:
            self._node(nodes, replace(inner, name=f"{prefix}{inner.name}"), names, located=False)
        for source, output in copies:
            nodes.add(op_type="Identity", input=[names.get(source, source)], output=[output])

    def _attribute(self, proto: onnx.AttributeProto, name: str, value: object, scope: Mapping[str, str]) -> None:
        kinds = self._onnx.AttributeProto
        proto.name = name
        match value:
            case int():
                proto.type, proto.i = kinds.INT, value
            case float():
                proto.type, proto.f = kinds.FLOAT, value
            case str() | bytes():
                proto.type, proto.s = kinds.STRING, _encoded(value)
            case Ints():
                proto.type = kinds.INTS
                proto.ints.extend(value)
            case Floats():
                proto.type = kinds.FLOATS
                proto.floats.extend(value)
            case Strings():
                proto.type = kinds.STRINGS
                proto.strings.extend(_encoded(item) for item in value)
            case Constant():
                proto.type = kinds.TENSOR
                self._constant(proto.t, "", value)
            case Graph():
                proto.type = kinds.GRAPH
                self._write_graph(proto.g, value, scope)
            case Graphs():
                proto.type = kinds.GRAPHS
                for graph in value:
                    self._write_graph(proto.graphs.add(), graph, scope)
            case OpaqueAttribute():
                proto.ParseFromString(value.proto)
                proto.name = name
            case _:
                raise TypeError(f"attribute {name}: {type(value).__name__} is no attribute")

    def _constant(self, proto: onnx.TensorProto, name: str, data: Constant) -> None:
        source = data.source
        if isinstance(source, ProtoSource):
            proto.CopyFrom(source.proto)
        if name:
            proto.name = name
        if isinstance(source, ProtoSource):
            return
        proto.data_type = int(data.dtype)
        proto.dims.extend(data.shape)
        if isinstance(source, FileSource) and not source.available:
            _refer(proto, source.location, source.offset, source.nbytes)
        elif data.dtype == DType.STRING:
            proto.string_data.extend(_encoded(item) for item in data.array().reshape(-1))
        elif self._data is not None and data.nbytes >= self._data.ALIGNMENT:
            _refer(proto, self._data.name, self._data.append(_packed(data)), data.nbytes)
        else:
            proto.raw_data = _packed(data).tobytes()

    def _info(self, proto: onnx.ValueInfoProto, name: str, type_: Type | None) -> None:
        proto.name = name
        if type_ is not None:
            write_type(proto.type, type_)


def write_type(proto: onnx.TypeProto, type_: Type) -> None:
    """Fills a message with a type."""
    match type_:
        case TensorType():
            proto.tensor_type.elem_type = int(type_.dtype)
            if type_.shape is not None:
                proto.tensor_type.shape.SetInParent()
                for dim in type_.shape:
                    entry = proto.tensor_type.shape.dim.add()
                    if isinstance(dim, int):
                        entry.dim_value = dim
                    elif isinstance(dim, Symbol):
                        entry.dim_param = str(dim)
        case SequenceType():
            write_type(proto.sequence_type.elem_type, type_.element)
        case OptionalType():
            write_type(proto.optional_type.elem_type, type_.element)
        case OpaqueType():
            proto.ParseFromString(type_.proto)


def _result_names(graph: Graph) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Values to rename so that results have their outside names, and the copies that no renaming can save."""
    pairs = list(zip(graph.outputs, graph.output_names, strict=True))
    named = {value for value, output in pairs if value == output and _is_produced(graph.values.get(value))}
    names: dict[str, str] = {}
    copies: list[tuple[str, str]] = []
    for value, output in pairs:
        if value == output and (value in named or value in graph.inputs):
            continue
        occupant = graph.values.get(output)
        free = value not in named and value not in names
        if free and occupant is None and _is_produced(graph.values.get(value)):
            names[value] = output
        else:
            if occupant is not None and output not in graph.inputs:
                names[output] = f"{output}@{graph.serial + len(copies)}"
            copies.append((value, output))
    return names, copies


def _result_type(value: Value, root: bool) -> Type | None:
    """What was inferred, in nested graphs filled up with what the file declares.

    onnxruntime goes by the declared shape of a body's result where Scan allocates, and where a Loop never turns.
    """
    inferred, declared = value.type, value.declared
    if root or not isinstance(inferred, TensorType) or not isinstance(declared, TensorType):
        return inferred or declared
    if declared.dtype != inferred.dtype or declared.shape is None:
        return inferred
    if inferred.shape is None:
        return declared
    if len(inferred.shape) != len(declared.shape):
        return inferred
    pairs = zip(inferred.shape, declared.shape, strict=True)
    return inferred.with_shape(
        tuple(ours if isinstance(ours, int) or theirs is None else theirs for ours, theirs in pairs)
    )


def _is_produced(value: Value | None) -> bool:
    return value is not None and bool(value.producer)


def _constants_deep(graph: Graph) -> list[Constant]:
    found = [value.constant for value in graph.values.values() if value.constant is not None]
    for node in graph.nodes.values():
        for nested in node.graphs:
            found += _constants_deep(nested)
        if node.body is not None:
            found += _constants_deep(node.body)
    return found


def _refer(proto: onnx.TensorProto, location: str, offset: int, length: int) -> None:
    proto.data_location = proto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        proto.external_data.add(key=key, value=value)


def _packed(data: Constant) -> np.ndarray:
    """The bytes of a constant as ONNX stores them; those of a file are mapped, not read."""
    import numpy as np
    import onnx.numpy_helper

    if isinstance(data.source, FileSource) and data.source.nbytes:
        return np.memmap(data.source.path, np.uint8, "r", data.source.offset, (data.source.nbytes,))
    return np.frombuffer(onnx.numpy_helper.from_array(data.array()).raw_data, np.uint8)


def _encoded(item: str | bytes) -> bytes:
    return item.encode() if isinstance(item, str) else item


def _least_ir_version(onnx: object, opsets: Mapping[str, int]) -> int:
    """The IR version that the operator sets call for."""
    from onnx import helper

    known = [helper.make_opsetid(d, v) for d, v in opsets.items() if d in ("", "ai.onnx.ml") and v > 0]
    return helper.find_min_ir_version_for(known, ignore_unknown=True)
