"""Operators without a shape function of ours: ONNX's own inference of one node, given all that we know."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gexplorer.ir.constant import Constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Ints, OpaqueAttribute, Strings
from gexplorer.ir.symbols import Dim, Symbol
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type
from gexplorer.ops.shapes.fact import UNKNOWN, Fact

if TYPE_CHECKING:
    import onnx

    from gexplorer.ops.shapes.registry import Call


# Types of the tensors whose elements ONNX's inference functions look at.
READ_BY_ONNX = frozenset({DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64, DType.BOOL})


def infer_by_schema(call: Call) -> tuple[Fact, ...]:
    """What ``onnx.shape_inference.infer_node_outputs`` says; nothing for operators that ONNX does not define.

    Raises VerifyError where ONNX finds that the node's inputs cannot be: onnxruntime refuses the model too.
    But shapes that are not known in full ONNX may take for wrong, so then (and after any other failure inside
    of it) nothing is known.
    """
    import onnx

    node = call.node
    nothing = (UNKNOWN,) * len(node.outputs)
    schema = _schema(node.op, node.domain, call.version)
    if schema is None or any(fact is not None and fact.type is None for fact in call.inputs):
        return nothing
    symbols: dict[str, Symbol] = {}
    proto = _node_proto(call)
    if proto is None:
        return nothing
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for index, fact in enumerate(call.inputs):
        if fact is None or fact.type is None:
            continue
        types[f"i{index}"] = type_proto(fact.type, symbols)
        tensor = _data(call, index, fact)
        if tensor is not None:
            data[f"i{index}"] = tensor
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in call.opsets.items()]
    try:
        found = onnx.shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=imports)
    except onnx.shape_inference.InferenceError as error:
        if not all(_is_fixed(fact.type) for fact in call.inputs if fact is not None):
            return nothing
        raise call.error(_first_line(error)) from None
    except Exception:  # what else comes out of onnx's C++ is its own affair, and says nothing about the model
        return nothing
    facts = (found.get(f"o{index}") for index in range(len(node.outputs)))
    return tuple(Fact(None if proto is None else _type(proto, symbols)) for proto in facts)


@cache
def has_schema_rule(op: str, domain: str) -> bool:
    """Whether ONNX defines an operator, and with it how its results' types follow, in any version."""
    import onnx

    try:
        schema = onnx.defs.get_schema(op, domain=domain)
    except onnx.defs.SchemaError:
        return False
    return schema.has_type_and_shape_inference_function


def _is_fixed(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and type_.elements is not None


@cache
def _schema(op: str, domain: str, version: int) -> onnx.defs.OpSchema | None:
    import onnx

    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def _node_proto(call: Call) -> onnx.NodeProto | None:
    import onnx

    node = call.node
    proto = onnx.NodeProto(op_type=node.op, domain=node.domain, name=node.name)
    proto.input.extend("" if fact is None else f"i{index}" for index, fact in enumerate(call.inputs))
    proto.output.extend(f"o{index}" if name else "" for index, name in enumerate(node.outputs))
    for name, value in node.attributes.items():
        attribute = _attribute(name, value)
        if attribute is None:
            return None
        proto.attribute.append(attribute)
    return proto


def _attribute(name: str, value: object) -> onnx.AttributeProto | None:
    """The attribute as a proto; None for nested graphs, which our own functions deal with."""
    import onnx

    kind = onnx.AttributeProto
    if isinstance(value, OpaqueAttribute):
        return onnx.AttributeProto.FromString(value.proto)
    if isinstance(value, int):
        return kind(name=name, type=kind.INT, i=value)
    if isinstance(value, float):
        return kind(name=name, type=kind.FLOAT, f=value)
    if isinstance(value, (str, bytes)):
        return kind(name=name, type=kind.STRING, s=value.encode() if isinstance(value, str) else value)
    if isinstance(value, Ints):
        return kind(name=name, type=kind.INTS, ints=value)
    if isinstance(value, Floats):
        return kind(name=name, type=kind.FLOATS, floats=value)
    if isinstance(value, Strings):
        encoded = [text.encode() if isinstance(text, str) else text for text in value]
        return kind(name=name, type=kind.STRINGS, strings=encoded)
    if isinstance(value, Constant):
        # Inference looks at the elements of no tensor attribute but a Constant's, which is not for here.
        return kind(name=name, type=kind.TENSOR, t=onnx.TensorProto(data_type=int(value.dtype), dims=value.shape))
    return None


def _data(call: Call, index: int, fact: Fact) -> onnx.TensorProto | None:
    """The elements of an input that are all known."""
    import numpy as np
    import onnx.numpy_helper

    known = call.constant(index)
    if known is not None and known.is_small and known.dtype in READ_BY_ONNX:
        return onnx.numpy_helper.from_array(known.array())
    if fact.content is None or not isinstance(fact.type, TensorType):
        return None
    numbers = [element for element in fact.content if isinstance(element, int)]
    if len(numbers) < len(fact.content):
        return None
    if fact.type.dtype not in READ_BY_ONNX:
        return None
    array = np.array(numbers, fact.type.dtype.numpy())
    return onnx.numpy_helper.from_array(array.reshape([dim for dim in fact.type.shape or () if isinstance(dim, int)]))


def type_proto(type_: Type, symbols: dict[str, Symbol]) -> onnx.TypeProto:
    """The type as ONNX writes it; symbols are named by their text, and noted."""
    import onnx

    if isinstance(type_, OpaqueType):
        return onnx.TypeProto.FromString(type_.proto)
    proto = onnx.TypeProto()
    if isinstance(type_, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_proto(type_.element, symbols))
    elif isinstance(type_, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_proto(type_.element, symbols))
    else:
        proto.tensor_type.elem_type = int(type_.dtype)
        if type_.shape is not None:
            proto.tensor_type.shape.SetInParent()
            for dim in type_.shape:
                entry = proto.tensor_type.shape.dim.add()
                if isinstance(dim, int):
                    entry.dim_value = dim
                elif dim is not None:
                    entry.dim_param = str(dim)
                    symbols[str(dim)] = dim
    return proto


def _type(proto: onnx.TypeProto, symbols: dict[str, Symbol]) -> Type | None:
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        shape = None
        if proto.tensor_type.HasField("shape"):
            shape = tuple(_dim(entry, symbols) for entry in proto.tensor_type.shape.dim)
        if not proto.tensor_type.elem_type:
            return None
        try:
            return TensorType(DType(proto.tensor_type.elem_type), shape)
        except ValueError:
            return None
    if kind in ("sequence_type", "optional_type"):
        element = _type(getattr(proto, kind).elem_type, symbols)
        if element is None:
            return None
        return SequenceType(element) if kind == "sequence_type" else OptionalType(element)
    return OpaqueType(proto.SerializeToString()) if kind is not None else None


def _dim(entry: onnx.TensorShapeProto.Dimension, symbols: dict[str, Symbol]) -> Dim:
    kind = entry.WhichOneof("value")
    if kind == "dim_value":
        return entry.dim_value if entry.dim_value >= 0 else None
    # Only names that we passed in mean anything to us.
    return symbols.get(entry.dim_param) if kind == "dim_param" else None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
