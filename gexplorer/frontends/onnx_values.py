"""ONNX types, strings and constants -> ours."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError, reason_of
from gexplorer.ir.constant import Constant, SparseSource, constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, parse_dim
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type

if TYPE_CHECKING:
    import onnx


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


def text_of(data: bytes) -> str | bytes:
    """Text where the bytes are UTF-8, else the bytes: custom operators keep all kinds of data in strings."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def string_constant(items: list[bytes], shape: tuple[int, ...]) -> Constant:
    """A constant of strings, held as bytes."""
    import numpy as np

    array = np.empty(len(items), object)
    array[:] = items
    return constant(array.reshape(shape), DType.STRING)


def require_elements(tensor: onnx.TensorProto, data: Constant) -> None:
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


def sparse_constant(sparse: onnx.SparseTensorProto) -> Constant:
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
        raise ModelError(f"sparse initializer {name!r}: {reason_of(error)}") from None
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
