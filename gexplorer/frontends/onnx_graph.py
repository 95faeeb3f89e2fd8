"""ONNX graph messages -> Graph: scopes, names, constants, nested graphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.errors import ModelError
from gexplorer.frontends.external_data import WeightFolder
from gexplorer.frontends.onnx_values import read_type, require_elements, sparse_constant, string_constant, text_of
from gexplorer.ir.constant import Constant, ProtoSource, constant
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
from gexplorer.ir.types import TensorType

if TYPE_CHECKING:
    import onnx


# onnxruntime's operators: it takes models that use them without importing their opset, and writes such models.
ASSUMED_DOMAIN = "com.microsoft"


class GraphReader:
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
            3: lambda a, _: text_of(a.s),
            4: lambda a, _: self._constant(a.t),
            5: lambda a, scope: self.read_graph(a.g, scope),
            6: lambda a, _: Floats(a.floats),
            7: lambda a, _: Ints(a.ints),
            8: lambda a, _: Strings(text_of(s) for s in a.strings),
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
            yield sparse.values.name, sparse_constant(sparse)

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
        if message.domain == ASSUMED_DOMAIN and ASSUMED_DOMAIN not in self.opsets:
            self.opsets = self.opsets.set(ASSUMED_DOMAIN, 1)
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
        require_elements(tensor, data)
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
                return string_constant([attribute.s], ())
            case "value_strings":
                return string_constant(list(attribute.strings), (len(attribute.strings),))
            case _:
                return None


def _in_order(graph: Graph) -> Graph:
    """The graph with positions in execution order, should the file not list its nodes so."""
    order = graph.order
    if all(a.position < b.position for a, b in pairwise(order)):
        return graph
    nodes = {node.name: replace(node, position=index * POSITION_STEP) for index, node in enumerate(order)}
    return replace(graph, nodes=Map(nodes))


_LAST_SCOPE = re.compile(r"'([^']*)', '[^']*'\]$")


def _scope(message: onnx.NodeProto) -> str:
    """The module of a node: from the exporter's metadata, else the folder part of its name."""
    for entry in message.metadata_props:
        if entry.key == "pkg.torch.onnx.name_scopes":
            found = _LAST_SCOPE.search(entry.value)
            return found.group(1) if found else ""
    folder, slash, _ = message.name.rpartition("/")
    return folder.strip("/").replace("/", ".") if slash else ""


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
