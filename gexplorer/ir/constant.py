"""Constants held as references to bytes: nothing is read until somebody asks for the array."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gexplorer.errors import ModelError
from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    import numpy as np
    import onnx

# Up to this size two constants are compared by their bytes, above it by where their bytes come from.
SMALL_BYTES = 4096


class Source(Protocol):
    """Where a constant's bytes come from."""

    @property
    def available(self) -> bool:
        """False when the bytes do not exist (a weight file that is missing)."""
        ...

    @property
    def key(self) -> object:
        """Equal keys mean equal bytes; hashable, and cheap (no bytes are read)."""
        ...

    def array(self) -> np.ndarray:
        """The elements, in the numpy type of the constant's dtype and in its shape."""
        ...


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant tensor: type and size are known at once, the elements on demand.

    Attributes:
        dtype: element type.
        shape: dimensions, all integers.
        source: where the bytes come from.
    """

    dtype: DType
    shape: tuple[int, ...]
    source: Source

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed elements (strings count 0: their width is not fixed)."""
        return self.dtype.nbytes(self.elements)

    @property
    def available(self) -> bool:
        """False when the bytes do not exist."""
        return self.source.available

    @property
    def is_small(self) -> bool:
        """True when the bytes exist and reading them costs next to nothing."""
        return self.nbytes <= SMALL_BYTES and self.elements <= SMALL_BYTES and self.source.available

    def array(self) -> np.ndarray:
        """The elements. Raises ModelError where the weights are not available."""
        if not self.source.available:
            raise ModelError("weights not available")
        return self.source.array()

    @cached_property
    def key(self) -> object:
        """Equal keys mean equal constants (bit for bit); large ones are compared by the place of their bytes."""
        if not self.is_small:
            return (self.dtype, self.shape, self.source.key)
        array = self.array()
        content = tuple(array.reshape(-1)) if self.dtype == DType.STRING else array.tobytes()
        return (self.dtype, self.shape, content)

    def fingerprint(self) -> str:
        """The first 16 hexadecimal digits of SHA-256 over the elements; reads them."""
        return hashlib.sha256(self.array().tobytes()).hexdigest()[:16]

    def __repr__(self) -> str:
        dims = ",".join(map(str, self.shape))
        return f"Constant({self.dtype.label}[{dims}])"


class ArraySource:
    """Bytes in memory."""

    available = True

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @property
    def key(self) -> object:
        """Identity: two arrays in memory are taken as different unless they are the same object."""
        return ("array", id(self._array))

    def array(self) -> np.ndarray:
        """The array itself; it must not be written to."""
        return self._array


class ProtoSource:
    """Bytes inside a loaded ONNX file."""

    available = True

    def __init__(self, proto: onnx.TensorProto) -> None:
        self.proto = proto

    @property
    def key(self) -> object:
        """Identity of the protobuf message."""
        return ("proto", id(self.proto))

    def array(self) -> np.ndarray:
        """Decoded elements. Raises ModelError where the bytes do not fit the declared shape."""
        return decode(self.proto)


@dataclass(frozen=True, eq=False)
class SparseSource:
    """The few elements that are not zero, from a sparse initializer.

    Attributes:
        shape: dimensions of the whole tensor.
        indices: places of the elements: flat (n) or by axis (n, rank), all inside the shape.
        values: the elements (n).
    """

    shape: tuple[int, ...]
    indices: np.ndarray
    values: np.ndarray
    available: bool = True

    @property
    def key(self) -> object:
        """Identity of the elements."""
        return ("sparse", id(self.values))

    def array(self) -> np.ndarray:
        """The whole tensor, made anew."""
        import numpy as np

        dense = np.zeros(self.shape, self.values.dtype)
        if self.indices.ndim == 1:
            dense.reshape(-1)[self.indices] = self.values
        else:
            dense[tuple(self.indices.T)] = self.values
        return dense


@dataclass(frozen=True)
class FileSource:
    """A range of a weight file beside the model, memory-mapped when read.

    Attributes:
        path: the file.
        location: its name as the model writes it, relative to the model's folder.
        offset: first byte.
        nbytes: number of bytes.
        dtype: element type of the tensor.
        shape: dimensions of the tensor.
        available: whether the file exists.
    """

    path: Path
    location: str
    offset: int
    nbytes: int
    dtype: DType
    shape: tuple[int, ...]
    available: bool

    @property
    def key(self) -> object:
        """The place of the bytes; where there are none, places still tell tensors apart."""
        return ("file", self.path, self.offset, self.nbytes)

    def array(self) -> np.ndarray:
        """Elements mapped from the file. Raises ModelError where the file cannot be read."""
        import numpy as np

        needed = self.dtype.nbytes(prod(self.shape))
        if self.nbytes != needed:
            raise ModelError(f"{self.location}: {self.nbytes} bytes at {self.offset}, but {needed} needed")
        if not needed:
            return np.empty(self.shape, self.dtype.numpy())
        try:
            raw = np.memmap(self.path, np.uint8, "r", self.offset, (self.nbytes,))
        except (OSError, ValueError) as error:
            raise ModelError(f"{self.location}: cannot read {self.nbytes} bytes at {self.offset}: {error}") from None
        if self.dtype.bits >= 8:
            return raw.view(self.dtype.numpy()).reshape(self.shape)
        import onnx

        packed = onnx.TensorProto(data_type=int(self.dtype), dims=self.shape, raw_data=raw.tobytes())
        return decode(packed)


def constant(array: np.ndarray, dtype: DType | None = None) -> Constant:
    """A constant of an array in memory; ``dtype`` is found from the array unless given."""
    if dtype is None:
        import onnx.helper

        is_text = array.dtype == object
        dtype = DType.STRING if is_text else DType(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
    return Constant(dtype, tuple(int(d) for d in array.shape), ArraySource(array))


def decode(proto: onnx.TensorProto) -> np.ndarray:
    """Elements of a TensorProto that holds its own bytes; strings as an object array of ``bytes``."""
    import numpy as np
    import onnx.numpy_helper

    shape = tuple(proto.dims)
    try:
        if proto.data_type == DType.STRING:
            array = np.empty(len(proto.string_data), object)
            array[:] = list(proto.string_data)
            return array.reshape(shape)
        return onnx.numpy_helper.to_array(proto)
    except (ValueError, TypeError) as error:
        raise ModelError(f"constant {proto.name!r}: {error}") from None
