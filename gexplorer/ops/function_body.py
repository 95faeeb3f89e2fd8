"""``onnx.FunctionProto`` -> Graph, for one call of the function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.ir.constant import Constant, ProtoSource, constant
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Graph, Graphs, Ints, Node, OpaqueAttribute, Strings, Value, make_graph
from gexplorer.ir.types import TensorType, Type

if TYPE_CHECKING:
    import onnx
    from onnx.defs import OpSchema


def read_function(proto: onnx.FunctionProto, call: Node, inputs: Sequence[Type | None], schema: OpSchema) -> Graph:
    """The function's body with the attributes of one call filled in.

    Args:
        proto: the function.
        call: the node that calls it; inputs and outputs that it leaves out are left out of the graph.
        inputs: types of the call's inputs.
        schema: gives the defaults of attributes that the call leaves out.
    """
    return _Reader(proto, call, schema).read(inputs)


class _Reader:
    """Reads one body. Names that nested graphs define again get a number, as a graph's names are unique."""

    def __init__(self, proto: onnx.FunctionProto, call: Node, schema: OpSchema) -> None:
        self._proto = proto
        self._call = call
        self._schema = schema
        self._taken: set[str] = set()
        self._serial = 0

    def read(self, types: Sequence[Type | None]) -> Graph:
        formals = zip(self._proto.input, _padded(self._call.inputs, len(self._proto.input)), strict=False)
        scope: dict[str, str] = {}
        inputs: list[Value] = []
        for index, (formal, actual) in enumerate(formals):
            if actual:
                type_ = types[index] if index < len(types) else None
                inputs.append(Value(self._define(formal, scope), type_))
            else:
                scope[formal] = ""
        nodes, values = self._nodes(self._proto.node, scope)
        outputs = tuple(
            scope.get(formal, formal)
            for formal, actual in zip(self._proto.output, self._call.outputs, strict=False)
            if actual
        )
        return make_graph(
            self._call.op,
            inputs=inputs,
            nodes=nodes,
            values=values,
            outputs=outputs,
            opsets={entry.domain: entry.version for entry in self._proto.opset_import},
            serial=self._serial,
        )

    def _graph(self, proto: onnx.GraphProto, around: Mapping[str, str]) -> Graph:
        scope = dict(around)
        inputs = [Value(self._define(entry.name, scope)) for entry in proto.input]
        constants = [_value(self._define(entry.name, scope), _tensor(entry)) for entry in proto.initializer]
        nodes, values = self._nodes(proto.node, scope)
        return make_graph(
            proto.name,
            inputs=inputs,
            nodes=nodes,
            values=[*constants, *values],
            outputs=tuple(scope.get(entry.name, entry.name) for entry in proto.output),
            output_names=tuple(entry.name for entry in proto.output),
            opsets={},
        )

    def _nodes(self, protos: Iterable[onnx.NodeProto], scope: dict[str, str]) -> tuple[list[Node], list[Value]]:
        nodes: list[Node] = []
        values: list[Value] = []
        for proto in protos:
            attributes = self._attributes(proto, scope)
            lifted = _lifted(attributes) if proto.op_type == "Constant" else None
            if lifted is not None:
                values.append(_value(self._define(proto.output[0], scope), lifted))
                continue
            inputs = tuple(scope.get(name, name) for name in proto.input)
            outputs = tuple(self._define(name, scope) if name else "" for name in proto.output)
            name = self._fresh(f"{self._call.name}/{proto.op_type}")
            values.extend(Value(output, producer=name) for output in outputs if output)
            nodes.append(
                Node(
                    name=name,
                    op=proto.op_type,
                    inputs=inputs,
                    outputs=outputs,
                    attributes=Map(attributes),
                    domain="" if proto.domain == "ai.onnx" else proto.domain,
                    origin=self._call.origin or (self._call.name,),
                    position=len(nodes) * POSITION_STEP,
                    scope=self._call.scope,
                )
            )
        return nodes, values

    def _attributes(self, proto: onnx.NodeProto, scope: Mapping[str, str]) -> dict[str, object]:
        """The node's attributes; one that refers to the call's is the call's, or its default, or absent."""
        found: dict[str, object] = {}
        for entry in proto.attribute:
            if not entry.ref_attr_name:
                found[entry.name] = self._attribute(entry, scope)
            elif entry.ref_attr_name in self._call.attributes:
                found[entry.name] = self._call.attributes[entry.ref_attr_name]
            elif entry.ref_attr_name in self._schema.attributes:
                default = self._schema.attributes[entry.ref_attr_name].default_value
                if default.type:
                    found[entry.name] = self._attribute(default, scope)
        return found

    def _attribute(self, proto: onnx.AttributeProto, scope: Mapping[str, str]) -> object:
        match proto.AttributeType.Name(proto.type):
            case "INT":
                return proto.i
            case "FLOAT":
                return proto.f
            case "STRING":
                return _text(proto.s)
            case "INTS":
                return Ints(proto.ints)
            case "FLOATS":
                return Floats(proto.floats)
            case "STRINGS":
                return Strings(map(_text, proto.strings))
            case "TENSOR":
                return _tensor(proto.t)
            case "GRAPH":
                return self._graph(proto.g, scope)
            case "GRAPHS":
                return Graphs(self._graph(graph, scope) for graph in proto.graphs)
            case _:
                return OpaqueAttribute(proto.SerializeToString())

    def _define(self, name: str, scope: dict[str, str]) -> str:
        scope[name] = name if name not in self._taken else self._fresh(name)
        self._taken.add(scope[name])
        return scope[name]

    def _fresh(self, base: str) -> str:
        self._serial += 1
        return f"{base}@{self._serial - 1}"


def _padded(names: tuple[str, ...], length: int) -> tuple[str, ...]:
    return names + ("",) * (length - len(names))


def _value(name: str, data: Constant) -> Value:
    return Value(name, TensorType(data.dtype, data.shape), constant=data)


def _tensor(proto: onnx.TensorProto) -> Constant:
    return Constant(DType(proto.data_type), tuple(proto.dims), ProtoSource(proto))


def _lifted(attributes: Mapping[str, object]) -> Constant | None:
    """What a Constant node holds; None for the kinds that stay nodes (sparse tensors, strings)."""
    import numpy as np

    match attributes:
        case {"value": Constant() as data}:
            return data
        case {"value_int": int() as number}:
            return constant(np.array(number, np.int64))
        case {"value_float": float() as number}:
            return constant(np.array(number, np.float32))
        case {"value_ints": Ints() as numbers}:
            return constant(np.array(numbers, np.int64))
        case {"value_floats": Floats() as numbers}:
            return constant(np.array(numbers, np.float32))
        case _:
            return None


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
