"""One part of a document as one block of bytes: JSON for what is small, raw arrays for what is large.

The block is the four letters ``GXP1``, the length of the JSON in bytes (u32), the JSON (no spaces, all beyond ASCII
escaped, so that half a surrogate pair survives too), zero bytes up to a multiple of 8, then the arrays, each beginning
at a multiple of 8 from the start of the area that they are in. All numbers are little-endian. In the JSON an array
stands as ``{"$": [type, offset, count]}``: the type is ``u8``, ``i32``, ``u32``, ``f32`` or ``f64``, the offset counts
bytes from the start of the area. A key that begins with ``$`` itself has one more ``$`` before it. NaN and infinity
are only allowed inside arrays. Equal parts give equal bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

MAGIC = b"GXP1"
_ALIGNMENT = 8
_ARRAY = "$"
_TYPES = {
    "u8": np.dtype("<u1"),
    "i32": np.dtype("<i4"),
    "u32": np.dtype("<u4"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_INT32 = np.iinfo(np.int32)


def pack(part: Mapping[str, object]) -> bytes:
    """A part as bytes.

    Args:
        part: mappings, sequences, strings, numbers, None, and numpy arrays of one dimension. Arrays of truth values
            become ``u8``, of other integers ``i32``.

    Raises:
        OverflowError: an integer of an array does not fit 32 bits; make it float64.
        TypeError: something is of no such type.
        ValueError: a number outside of arrays is not finite, or an array has another number of dimensions.
    """
    area = _Area()
    text = json.dumps(area.stand_in(part), allow_nan=False, separators=(",", ":")).encode()
    head = MAGIC + struct.pack("<I", len(text)) + text
    return b"".join((head, _padding(len(head)), *area.chunks))


def unpack(block: bytes) -> dict[str, Any]:
    """What was packed, arrays as read-only numpy arrays.

    Raises:
        ValueError: the bytes are no packed part.
    """
    if block[:4] != MAGIC or len(block) < 8:
        raise ValueError("not a packed part: it does not begin with GXP1")
    (length,) = struct.unpack_from("<I", block, 4)
    end = 8 + length
    start = end + len(_padding(end))
    if len(block) < end:
        raise ValueError(f"a packed part of {len(block)} bytes cannot hold {length} bytes of JSON")

    def read(pairs: list[tuple[str, Any]]) -> Any:
        if len(pairs) == 1 and pairs[0][0] == _ARRAY:
            name, offset, count = pairs[0][1]
            return np.frombuffer(block, _TYPES[name], count, start + offset)
        return {key[1:] if key.startswith(_ARRAY) else key: value for key, value in pairs}

    return json.loads(block[8:end], object_pairs_hook=read)


def part_hash(block: bytes) -> str:
    """Sixteen hexadecimal digits that tell packed parts apart."""
    return blake2b(block, digest_size=8).hexdigest()


class _Area:
    """The arrays of a block.

    Attributes:
        chunks: what is written one after the other.
    """

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self._length = 0

    def stand_in(self, value: object) -> object:
        """A value as JSON can say it; arrays are put aside."""
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, np.ndarray):
            return {_ARRAY: self._put(cast("NDArray[Any]", value))}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Mapping):
            items = cast("Mapping[str, object]", value).items()
            return {_ARRAY + key if key.startswith(_ARRAY) else key: self.stand_in(held) for key, held in items}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            held = cast("Sequence[object]", value)
            return list(held) if all(type(one) is str for one in held) else [self.stand_in(one) for one in held]
        raise TypeError(f"a part of a document cannot hold {type(value).__name__}")

    def _put(self, array: NDArray[Any]) -> list[object]:
        column = _plain(array)
        place: list[object] = [_NAMES[column.dtype], self._length, len(column)]
        data = column.tobytes()
        data += _padding(len(data))
        self.chunks.append(data)
        self._length += len(data)
        return place


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """The array in one of the types that a block can hold."""
    if array.ndim != 1:
        raise ValueError(f"arrays of a part have one dimension, not {array.ndim}")
    dtype = array.dtype.newbyteorder("<")
    if dtype in _NAMES:
        return array.astype(dtype, copy=False)
    if dtype.kind == "b":
        return array.astype(np.uint8)
    if dtype.kind not in "iu":
        raise TypeError(f"a part of a document cannot hold an array of {array.dtype}")
    if array.size and not (_INT32.min <= int(array.min()) and int(array.max()) <= _INT32.max):
        raise OverflowError(f"an array from {array.min()} to {array.max()} does not fit 32 bits; make it float64")
    return array.astype("<i4")


def _padding(length: int) -> bytes:
    return bytes(-length % _ALIGNMENT)
