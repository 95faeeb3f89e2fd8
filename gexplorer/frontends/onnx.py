"""ONNX files, protobuf messages and ``onnx_ir`` models -> Graph.

Nothing is executed, no weight is read, and no file is opened but the model and, when a weight is asked for later,
the data files that it names inside its own folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.errors import ModelError
from gexplorer.frontends.external_data import WeightFolder
from gexplorer.frontends.functions import inline
from gexplorer.ir.constant import Constant, ProtoSource, SparseSource, constant
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import (
    NO_ATTRIBUTES,
    Floats,
    Graph,
    Graphs,
    Ints,
    Node,
    OpaqueAttribute,
    Strings,
    Value,
    make_graph,
    serial_of,
)
from gexplorer.ir.symbols import Dim, parse_dim
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type
from gexplorer.ops.signature import check_signatures

if TYPE_CHECKING:
    import onnx
    import onnx_ir

TEXT_FORMATS = {
    ".pbtxt": "textproto",
    ".textproto": "textproto",
    ".prototxt": "textproto",
    ".json": "json",
    ".onnxjson": "json",
    ".onnxtxt": "onnxtxt",
}


@dataclass(frozen=True, slots=True)
class SourceModel:
    """A model as read.

    Attributes:
        name: file name without folder, or the graph's name.
        sha256: of the file's bytes (of the serialised message where there is no file).
        graph: what it computes.
        nodes: nodes that the file has (Constant nodes included; nested graphs not).
        weight_bytes: bytes of all constants, nested graphs included.
        missing: data files that are named but do not exist.
        seconds: wall-clock time that reading took.
    """

    name: str
    sha256: str
    graph: Graph
    nodes: int
    weight_bytes: int
    missing: tuple[str, ...]
    seconds: float


def read(source: str | Path | onnx.ModelProto | onnx_ir.Model) -> SourceModel:
    """Reads a model; every fault of the file is a ModelError of one line.

    Args:
        source: path of a ``.onnx`` file (or ``.onnx.pbtxt``, ``.onnx.json``, ``.onnxtxt``), or a model in memory.
    """
    import onnx

    start = perf_counter()
    if isinstance(source, str | Path):
        path = Path(source)
        proto, sha256 = _load(path)
        return _convert(proto, path.name.encode(errors="replace").decode(), sha256, path.parent, start)
    if not isinstance(source, onnx.ModelProto):
        import onnx_ir

        source = onnx_ir.to_proto(source)
    data = source.SerializeToString(deterministic=True)
    return _convert(source, source.graph.name or "model", hashlib.sha256(data).hexdigest(), None, start)


def _load(path: Path) -> tuple[onnx.ModelProto, str]:
    import onnx
    from google.protobuf.message import DecodeError
    from google.protobuf.text_format import ParseError as TextError

    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelError(f"{path}: not a file")
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {getattr(error, 'strerror', error)}") from None
    if not data:
        raise ModelError(f"{path}: the file is empty")
    text_format = TEXT_FORMATS.get(path.suffix.lower())
    try:
        if text_format is None:
            proto = onnx.ModelProto.FromString(data)
        elif text_format == "onnxtxt":
            proto = onnx.parser.parse_model(data.decode())
        else:
            proto = onnx.load_model_from_string(data, text_format)
    except DecodeError:
        raise ModelError(f"{path}: not an ONNX model, or a truncated one") from None
    except (TextError, json.JSONDecodeError, ValueError, onnx.parser.ParseError) as error:
        raise ModelError(f"{path}: not an ONNX model in {text_format} form: {_one_line(error)}") from None
    except Exception as error:
        if type(error).__module__.startswith("google.protobuf"):
            raise ModelError(f"{path}: not an ONNX model in {text_format} form: {_one_line(error)}") from None
        raise
    return proto, hashlib.sha256(data).hexdigest()


def _convert(proto: onnx.ModelProto, name: str, sha256: str, folder: Path | None, start: float) -> SourceModel:
    if not proto.HasField("graph"):
        raise ModelError(f"{name}: the file holds no graph; it is not an ONNX model")
    opsets = _opsets(proto, name)
    _require_text(proto)
    if proto.functions:
        proto = inline(proto, name)
        opsets = _opsets(proto, name)
    reader = _Reader(opsets, WeightFolder(folder), proto.ir_version)
    graph = reader.read_graph(proto.graph, {}, root=True)
    _require_opsets(graph, opsets, name)
    check_signatures(graph)
    return SourceModel(
        name, sha256, graph, len(proto.graph.node), reader.weight_bytes, reader.folder.missing, perf_counter() - start
    )


def _opsets(proto: onnx.ModelProto, name: str) -> dict[str, int]:
    import onnx

    newest = onnx.defs.onnx_opset_version()
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise ModelError(f"{name}: operator domain {domain or 'ai.onnx'} is imported in two versions")
    if not opsets and proto.ir_version < 3:
        opsets[""] = 1
    version = opsets.get("", 1)
    if not 1 <= version <= newest:
        raise ModelError(f"{name}: unknown opset {version} of ai.onnx (this onnx knows 1 to {newest})")
    return opsets


def _require_opsets(graph: Graph, opsets: Mapping[str, int], name: str) -> None:
    """Every domain in use must be imported, as the specification of ONNX demands."""
    for node in graph.nodes.values():
        if node.domain not in opsets:
            raise ModelError(
                f"{name}: node {node.name} uses domain {node.domain or 'ai.onnx'}, of which the model imports no opset"
            )
        for nested in node.graphs:
            _require_opsets(nested, opsets, name)


class _Reader:
    """Converts the messages of one model; holds what must be unique in all its graphs."""

    def __init__(self, opsets: Mapping[str, int], folder: WeightFolder, ir_version: int) -> None:
        self.opsets = Map(opsets)
        self.folder = folder
        self.weight_bytes = 0
        self._initializers_are_constants = ir_version < 4
        self._value_names: set[str] = set()
        self._serial = 0
        self._parse_attribute: dict[int, Callable[[onnx.AttributeProto, Mapping[str, str]], object]] = {
            1: lambda a, _: a.f,
            2: lambda a, _: a.i,
            3: lambda a, _: _text(a.s),
            4: lambda a, _: self._constant(a.t),
            5: lambda a, scope: self.read_graph(a.g, scope),
            6: lambda a, _: Floats(a.floats),
            7: lambda a, _: Ints(a.ints),
            8: lambda a, _: Strings(_text(s) for s in a.strings),
            10: lambda a, scope: Graphs(self.read_graph(g, scope) for g in a.graphs),
        }

    def read_graph(self, proto: onnx.GraphProto, around: Mapping[str, str], *, root: bool = False) -> Graph:
        """One graph; ``around`` maps the names that it sees from outside to ours."""
        made = [tuple(node.output) for node in proto.node]
        if root:
            self._reserve(proto, made)
        declared = {info.name: info.type for info in proto.value_info}
        declared.update((info.name, info.type) for info in proto.output)
        local: dict[str, str] = {}
        inputs = self._inputs(proto, local, root)
        values: list[Value] = []
        defaults: dict[str, Constant] = {}
        input_names = {value.name for value in inputs}
        for data in self._initializers(proto):
            if not data[0]:
                raise ModelError(f"graph {proto.name}: an initializer has no name")
            name = local.get(data[0])
            if name in input_names:
                defaults[name] = data[1]
                continue
            if name is not None:
                raise ModelError(f"initializer {data[0]}: the name is defined twice")
            values.append(self._constant_value(self._define(data[0], local, root), data[1]))
        produced = self._declare_outputs(proto, made, local, root)
        scope = {**around, **local} if around else local
        nodes: list[Node] = []
        taken: set[str] = set()
        for index, message in enumerate(proto.node):
            outputs = produced[index]
            lifted = self._lifted_constant(message)
            if lifted is not None:
                values.append(self._constant_value(outputs[0], lifted))
                continue
            node = self._node(message, index, outputs, scope, taken)
            nodes.append(node)
            for original, output in zip(made[index], outputs, strict=True):
                if output:
                    hint = declared.get(original)
                    values.append(Value(output, None, node.name, None, read_type(hint) if hint is not None else None))
        results = self._results(proto, scope)
        output_names = tuple(info.name for info in proto.output)
        if not root:
            output_names = tuple(self._inner_result(name, local, proto) for name in output_names)
        graph = make_graph(
            proto.name or "graph",
            inputs=inputs,
            nodes=nodes,
            values=values,
            outputs=results,
            output_names=output_names,
            opsets=self.opsets,
            defaults=defaults,
            serial=self._serial if root else 0,
        )
        return _in_order(graph)

    def _reserve(self, proto: onnx.GraphProto, made: Iterable[tuple[str, ...]]) -> None:
        """Takes the names of the outermost graph first, so that only nested ones are ever renamed."""
        names = [info.name for info in proto.input]
        names += [tensor.name for tensor in proto.initializer]
        self._value_names.update(names, *made)
        self._serial = 1 + max((serial_of(name) for name in _names_with_serial(proto)), default=-1)

    def _define(self, name: str, local: dict[str, str], root: bool) -> str:
        unique = name
        if not root:
            while unique in self._value_names:
                unique = f"{name}@{self._serial}"
                self._serial += 1
            self._value_names.add(unique)
        local[name] = unique
        return unique

    def _inner_result(self, name: str, local: Mapping[str, str], proto: onnx.GraphProto) -> str:
        """An outside name for a result of a nested graph: positions count there, so only clashes matter."""
        if name in local and all(name != info.name for info in proto.input):
            return local[name]
        return self._define(f"{name}@{self._serial}", {}, root=False)

    def _inputs(self, proto: onnx.GraphProto, local: dict[str, str], root: bool) -> list[Value]:
        constants: set[str] = set()
        if self._initializers_are_constants:
            constants = {tensor.name for tensor in proto.initializer}
        inputs: list[Value] = []
        for info in proto.input:
            if info.name in constants:
                continue
            if not info.name or info.name in local:
                raise ModelError(f"graph {proto.name}: input {info.name!r} is empty or listed twice")
            name = self._define(info.name, local, root)
            inputs.append(Value(name, read_type(info.type)))
        return inputs

    def _initializers(self, proto: onnx.GraphProto) -> Iterable[tuple[str, Constant]]:
        seen: set[str] = set()
        for tensor in proto.initializer:
            if tensor.name in seen:
                raise ModelError(f"initializer {tensor.name}: the name is defined twice")
            seen.add(tensor.name)
            yield tensor.name, self._constant(tensor)
        for sparse in proto.sparse_initializer:
            yield sparse.values.name, _sparse(sparse)

    def _declare_outputs(
        self, proto: onnx.GraphProto, made: Iterable[tuple[str, ...]], local: dict[str, str], root: bool
    ) -> list[tuple[str, ...]]:
        produced: list[tuple[str, ...]] = []
        for node, outputs in zip(proto.node, made, strict=True):
            names: list[str] = []
            for output in outputs:
                if output and output in local:
                    raise ModelError(f"node {node.name or node.op_type}: its output {output} is defined twice")
                names.append(self._define(output, local, root) if output else "")
            produced.append(tuple(names))
        return produced

    def _node(
        self,
        message: onnx.NodeProto,
        index: int,
        outputs: tuple[str, ...],
        scope: Mapping[str, str],
        taken: set[str],
    ) -> Node:
        name = message.name or f"{message.op_type}_{index}"
        if name in taken:
            name = next(f"{name}_{k}" for k in range(index, index + len(taken) + 2) if f"{name}_{k}" not in taken)
        taken.add(name)
        inputs = message.input
        try:
            names = tuple([scope[i] if i else "" for i in inputs])
        except KeyError as error:
            raise ModelError(f"node {name} ({message.op_type}): its input {error.args[0]} is not defined") from None
        return Node(
            name=name,
            op=message.op_type,
            inputs=names,
            outputs=outputs,
            attributes=self._attributes(message, scope) if message.attribute else NO_ATTRIBUTES,
            domain="" if message.domain == "ai.onnx" else message.domain,
            origin=(name,),
            position=index * POSITION_STEP,
            scope=_scope(message),
        )

    def _attributes(self, message: onnx.NodeProto, scope: Mapping[str, str]) -> Map[str, object]:
        found: dict[str, object] = {}
        for attribute in message.attribute:
            if attribute.ref_attr_name:
                why = f"its attribute {attribute.name} refers to {attribute.ref_attr_name} of a function"
                raise ModelError(f"node {message.name or message.op_type}: {why}, but is in none")
            parse = self._parse_attribute.get(attribute.type)
            value = parse(attribute, scope) if parse else OpaqueAttribute(attribute.SerializeToString())
            if isinstance(value, Constant):
                self.weight_bytes += value.nbytes
            found[attribute.name] = value
        return Map(found)

    def _results(self, proto: onnx.GraphProto, scope: Mapping[str, str]) -> tuple[str, ...]:
        names = [info.name for info in proto.output]
        for name in names:
            if name not in scope:
                raise ModelError(f"graph {proto.name}: its output {name!r} is not produced by any node")
        if len(set(names)) < len(names):
            raise ModelError(f"graph {proto.name}: an output is listed twice")
        return tuple(scope[name] for name in names)

    def _constant_value(self, name: str, data: Constant) -> Value:
        self.weight_bytes += data.nbytes
        return Value(name, TensorType(data.dtype, data.shape), constant=data)

    def _constant(self, tensor: onnx.TensorProto) -> Constant:
        shape = tuple(tensor.dims)
        try:
            dtype = DType(tensor.data_type)
        except ValueError:
            raise ModelError(f"constant {tensor.name!r}: unknown element type {tensor.data_type}") from None
        if dtype == DType.UNDEFINED or any(dim < 0 for dim in shape):
            raise ModelError(f"constant {tensor.name!r}: it has no element type, or a negative dimension")
        if tensor.data_location == tensor.EXTERNAL:
            return Constant(dtype, shape, self.folder.source(tensor, dtype, shape))
        data = Constant(dtype, shape, ProtoSource(tensor))
        _require_elements(tensor, data)
        return data

    def _lifted_constant(self, message: onnx.NodeProto) -> Constant | None:
        """The data of a Constant node (sparse ones stay nodes)."""
        if message.op_type != "Constant" or message.domain not in ("", "ai.onnx") or len(message.attribute) != 1:
            return None
        if len(message.output) != 1 or not message.output[0]:
            return None
        import numpy as np

        attribute = message.attribute[0]
        match attribute.name:
            case "value" if attribute.type == 4:
                return self._constant(attribute.t)
            case "value_int":
                return constant(np.array(attribute.i, np.int64))
            case "value_ints":
                return constant(np.array(attribute.ints, np.int64))
            case "value_float":
                return constant(np.array(attribute.f, np.float32))
            case "value_floats":
                return constant(np.array(attribute.floats, np.float32))
            case "value_string":
                return _strings([attribute.s], ())
            case "value_strings":
                return _strings(list(attribute.strings), (len(attribute.strings),))
            case _:
                return None


def read_type(proto: onnx.TypeProto) -> Type | None:
    """The type of a message; None where it says nothing."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        tensor = proto.tensor_type
        try:
            dtype = DType(tensor.elem_type)
        except ValueError:
            raise ModelError(f"unknown element type {tensor.elem_type}") from None
        if dtype == DType.UNDEFINED:
            return None
        if not tensor.HasField("shape"):
            return TensorType(dtype)
        return TensorType(dtype, tuple([_dim(d) for d in tensor.shape.dim]))
    if kind == "sequence_type" or kind == "optional_type":
        inner = read_type(getattr(proto, kind).elem_type)
        if inner is None:
            return None
        return SequenceType(inner) if kind == "sequence_type" else OptionalType(inner)
    return OpaqueType(proto.SerializeToString(deterministic=True)) if kind else None


def _dim(proto: onnx.TensorShapeProto.Dimension) -> Dim:
    if proto.HasField("dim_value"):
        return proto.dim_value if proto.dim_value >= 0 else None
    text = proto.dim_param
    return parse_dim(text) if text and text != "?" else None


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _strings(items: list[bytes], shape: tuple[int, ...]) -> Constant:
    import numpy as np

    array = np.empty(len(items), object)
    array[:] = items
    return constant(array.reshape(shape), DType.STRING)


def _in_order(graph: Graph) -> Graph:
    """The graph with positions in execution order, should the file not list its nodes so."""
    order = graph.order
    if all(a.position < b.position for a, b in pairwise(order)):
        return graph
    nodes = {node.name: replace(node, position=index * POSITION_STEP) for index, node in enumerate(order)}
    return replace(graph, nodes=Map(nodes))


def _require_elements(tensor: onnx.TensorProto, data: Constant) -> None:
    """The message must hold as many elements as its shape says: nothing later looks at both."""
    import onnx

    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != data.nbytes or data.dtype == DType.STRING:
            raise ModelError(
                f"constant {tensor.name!r}: {len(tensor.raw_data)} bytes, but {data!r} takes {data.nbytes}"
            )
        return
    if data.dtype.bits == 6:  # how these are packed into integers is onnx's to say, when they are read
        return
    held = len(getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type)))
    wanted = data.elements
    if data.dtype in (DType.COMPLEX64, DType.COMPLEX128):
        wanted *= 2
    elif 0 < data.dtype.bits < 8:
        wanted = data.nbytes
    if held != wanted:
        raise ModelError(f"constant {tensor.name!r}: {held} elements, but {data!r} takes {wanted}")


def _sparse(sparse: onnx.SparseTensorProto) -> Constant:
    """A sparse initializer as the dense constant that it stands for; the zeros are made when it is read."""
    import numpy as np
    import onnx
    import onnx.numpy_helper

    name = sparse.values.name
    if onnx.TensorProto.EXTERNAL in (sparse.values.data_location, sparse.indices.data_location):
        raise ModelError(f"sparse initializer {name!r}: it cannot be external data")
    try:
        values = onnx.numpy_helper.to_array(sparse.values)
        indices = onnx.numpy_helper.to_array(sparse.indices)
    except (ValueError, TypeError, KeyError) as error:
        raise ModelError(f"sparse initializer {name!r}: {_one_line(error)}") from None
    shape = tuple(sparse.dims)
    wanted = ((values.size,), (values.size, len(shape)))
    if DType(sparse.values.data_type) == DType.STRING:
        raise ModelError(f"sparse initializer {name!r}: strings cannot be sparse")
    if not shape or min(shape) < 0 or values.ndim != 1 or indices.dtype != np.int64 or indices.shape not in wanted:
        raise ModelError(f"sparse initializer {name!r}: values, indices and dimensions do not fit each other")
    limits = (prod(shape),) if indices.ndim == 1 else shape
    if prod(shape) >= 1 << 63 or (indices < 0).any() or (indices >= np.array(limits, np.int64)).any():
        raise ModelError(f"sparse initializer {name!r}: an index is outside of {list(shape)}")
    return Constant(DType(sparse.values.data_type), shape, SparseSource(shape, indices, values))


_LAST_SCOPE = re.compile(r"'([^']*)', '[^']*'\]$")


def _scope(message: onnx.NodeProto) -> str:
    """The module of a node: from the exporter's metadata, else the folder part of its name."""
    for entry in message.metadata_props:
        if entry.key == "pkg.torch.onnx.name_scopes":
            found = _LAST_SCOPE.search(entry.value)
            return found.group(1) if found else ""
    folder, slash, _ = message.name.rpartition("/")
    return folder.strip("/").replace("/", ".") if slash else ""


def _require_text(proto: onnx.ModelProto) -> None:
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


def _names_with_serial(proto: onnx.GraphProto) -> Iterable[str]:
    """Names that could collide with a draft's fresh ones, nested graphs included."""
    for node in proto.node:
        if "@" in node.name:
            yield node.name
        for output in node.output:
            if "@" in output:
                yield output
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _names_with_serial(attribute.g)
            for graph in attribute.graphs:
                yield from _names_with_serial(graph)
    for named in (*proto.input, *proto.initializer):
        if "@" in named.name:
            yield named.name


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
