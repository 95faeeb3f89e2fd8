"""Tensors as the bytes that a plan counts: elements of less than a byte lie packed."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

# Blocks of memory begin at a multiple of this: what the widest vector instruction of a CPU wants.
BLOCK_ALIGNMENT_BYTES = 64


def block(size_bytes: int, what: str) -> Bytes:
    """Fresh memory of a size, at an address that suits any element; its content means nothing.

    Args:
        size_bytes: how much.
        what: what it is for.

    Raises:
        ModelError: this machine has no such room. (It is asked how much it has: a promise of more than that would
            only be found out when the memory is written to.)
    """
    too_large = ModelError(f"{what} takes {size_bytes:,} bytes, more than this machine has")
    if size_bytes > _machine_bytes():
        raise too_large
    try:
        raw = np.empty(size_bytes + BLOCK_ALIGNMENT_BYTES, np.uint8)
    except MemoryError:
        raise too_large from None
    start = -raw.ctypes.data % BLOCK_ALIGNMENT_BYTES
    return raw[start : start + size_bytes]


@cache
def _machine_bytes() -> int:
    """The memory of this machine; as good as endless where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def packed(array: np.ndarray, dtype: DType) -> Bytes:
    """An array's bytes as stored, [nbytes]; no copy where the elements lie one after the other already."""
    if dtype.bits < 8:
        import onnx.numpy_helper

        return np.frombuffer(onnx.numpy_helper.from_array(np.ascontiguousarray(array)).raw_data, np.uint8)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def unpacked(data: Bytes, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The elements in some bytes; a view of them unless elements are packed.

    Args:
        data: [nbytes], as ``packed`` gives them.
        dtype: element type.
        shape: dimensions.
    """
    if dtype.bits < 8:
        import onnx
        import onnx.numpy_helper

        return onnx.numpy_helper.to_array(onnx.TensorProto(data_type=int(dtype), dims=shape, raw_data=data.tobytes()))
    return data.view(dtype.numpy()).reshape(shape)


def texts(array: np.ndarray) -> np.ndarray:
    """Strings as evaluators want them: text, not the bytes that a model file holds."""
    found = np.empty(array.size, object)
    found[:] = [item.decode(errors="surrogateescape") if isinstance(item, bytes) else item for item in array.flat]
    return found.reshape(array.shape)
