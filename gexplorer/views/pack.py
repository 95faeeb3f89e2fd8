"""One part of a document as one block of bytes: JSON for what is small, columns of numbers for what is large.

The block is the four letters ``GXP3``, the length of the text in bytes (u32), the text, zero bytes up to a multiple of
8, then the columns, each followed by zero bytes up to a multiple of 8. Numbers are little-endian. The text is two lines
of JSON without spaces, all beyond ASCII escaped, so that half a surrogate pair survives too:

- The columns: ``[["i32", 12], ["u8", 3]]``, each one's type (``u8``, ``i32``, ``u32``, ``f32``, ``f64``) and how many
  numbers it has.
- The part, in which an object of one key that begins with a single ``$`` stands for something else:
  - ``{"$": [column, count]}`` an array: the next so many numbers of that column, in the order of the text;
  - ``{"$each": [array, counts]}`` arrays one behind the other; with a third array, which of them comes next (equal ones
    are there once);
  - ``{"$rows": [count, {key: values}]}`` mappings with the same keys, by their values; integers are an array of i32,
    numbers one of f64;
  - ``{"$texts": [patterns, which, numbers]}`` texts (``patterns.py``).
  A key that begins with ``$`` itself has one more ``$`` before it.

Arrays under the same key and of the same type share a column. A column of ``i32`` or ``u32`` holds differences, each
number less the one before it (modulo 2^32, the first less 0), written as 0, 1, 2, 3 for 0, -1, 1, -2, as four planes:
the lowest byte of every number, then the next byte of every number, and so on. Other columns hold their numbers as they
are. All of this is for what travels deflated: nothing in the text depends on how long what stands before it is, and
numbers that rise steadily, or that are all greater by the same amount after a change, give equal bytes.

NaN and infinity are only allowed inside arrays. Equal parts give equal bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gexplorer.views.patterns import Patterns, patterns_of, texts_of

MAGIC = b"GXP3"
_ALIGNMENT = 8
_ARRAY, _EACH, _ROWS, _TEXTS = "$", "$each", "$rows", "$texts"
# Equal arrays are there once where this spares so many numbers for each.
_SPARED = 16
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
    columns = _Columns()
    lines = _text(columns.stand_in(part, ""))
    held = [np.concatenate(arrays) for arrays in columns.arrays]
    text = _text([[_NAMES[column.dtype], len(column)] for column in held]) + b"\n" + lines
    chunks = [MAGIC + struct.pack("<I", len(text)) + text, *map(_written, held)]
    return b"".join(chunk + _padding(len(chunk)) for chunk in chunks)


def unpack(block: bytes) -> dict[str, Any]:
    """What was packed, arrays as read-only numpy arrays.

    Raises:
        ValueError: the bytes are no packed part.
    """
    if block[:4] != MAGIC or len(block) < 8:
        raise ValueError("not a packed part: it does not begin with GXP3")
    (length,) = struct.unpack_from("<I", block, 4)
    end = 8 + length
    if len(block) < end:
        raise ValueError(f"a packed part of {len(block)} bytes cannot hold {length} bytes of text")
    first, _, text = block[8:end].partition(b"\n")
    columns: list[NDArray[Any]] = []
    at = end + len(_padding(end))
    for name, count in json.loads(first):
        size = _TYPES[name].itemsize * count
        if len(block) < at + size:
            raise ValueError(f"a packed part of {len(block)} bytes is cut off in its columns")
        columns.append(_read(block[at : at + size], _TYPES[name]))
        at += size + len(_padding(size))
    taken = [0] * len(columns)

    def read(pairs: list[tuple[str, Any]]) -> Any:
        if len(pairs) == 1 and pairs[0][0] == _ARRAY:
            column, count = pairs[0][1]
            start, taken[column] = taken[column], taken[column] + count
            return columns[column][start : taken[column]]
        if len(pairs) == 1 and pairs[0][0] in _READERS:
            return _READERS[pairs[0][0]](*pairs[0][1])
        return {key[1:] if key.startswith(_ARRAY) else key: value for key, value in pairs}

    part = json.loads(text, object_pairs_hook=read)  # called in the order of the text
    if taken != [len(column) for column in columns]:
        raise ValueError("a packed part's text does not take all of its columns")
    return part


def part_hash(block: bytes) -> str:
    """Sixteen hexadecimal digits that tell packed parts apart."""
    return blake2b(block, digest_size=8).hexdigest()


class _Columns:
    """The arrays of a part.

    Attributes:
        arrays: by column, in the order of the text.
    """

    def __init__(self) -> None:
        self.arrays: list[list[NDArray[Any]]] = []
        self._of: dict[tuple[str, np.dtype[Any]], int] = {}

    def stand_in(self, value: object, key: str) -> object:
        """A value as JSON can say it; arrays are put aside."""
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, np.ndarray):
            return {_ARRAY: self._put(_plain(cast("NDArray[Any]", value)), key)}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Mapping):
            return {
                _escaped(key): self.stand_in(held, key) for key, held in cast("Mapping[str, object]", value).items()
            }
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return self._list(cast("Sequence[object]", value), key)
        raise TypeError(f"a part of a document cannot hold {type(value).__name__}")

    def _list(self, values: Sequence[object], key: str) -> object:
        kinds = set(map(type, values))
        if kinds == {str}:
            texts = cast("Sequence[str]", values)
            made = patterns_of(texts)
            if made is None:
                return list(texts)
            which, numbers = (f"{key} {name}" for name in ("which", "numbers"))
            return {_TEXTS: [made.patterns, self.stand_in(made.which, which), self.stand_in(made.numbers, numbers)]}
        if len(values) > 1 and kinds == {dict}:
            rows = cast("Sequence[dict[str, object]]", values)
            keys = list(rows[0])
            if all(list(row) == keys for row in rows):
                columns = {_escaped(key): self._values([row[key] for row in rows], key) for key in keys}
                return {_ROWS: [len(rows), columns]}
        return [self.stand_in(one, key) for one in values]

    def _values(self, values: list[object], key: str) -> object:
        """The values of one key in rows."""
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        kinds = set(map(type, values))
        if kinds == {np.ndarray}:
            arrays = [_plain(array) for array in cast("list[NDArray[Any]]", values)]
            if len({array.dtype for array in arrays}) == 1:
                return self._each(arrays, key)
        elif kinds == {int} and all(_INT32.min <= value <= _INT32.max for value in cast("list[int]", values)):
            return {_ARRAY: self._put(np.array(values, "<i4"), key)}
        elif kinds == {float} and np.isfinite(column := np.array(values, "<f8")).all():
            return {_ARRAY: self._put(column, key)}
        return self._list(values, key)

    def _each(self, arrays: list[NDArray[Any]], key: str) -> object:
        number: dict[bytes, int] = {}
        once: list[NDArray[Any]] = []
        which: list[int] = []
        for array in arrays:
            place = number.setdefault(array.tobytes(), len(once))
            if place == len(once):
                once.append(array)
            which.append(place)
        shared = sum(map(len, arrays)) - sum(map(len, once)) > _SPARED * len(arrays)
        told = once if shared else arrays
        each = [
            {_ARRAY: self._put(np.concatenate(told), key)},
            {_ARRAY: self._put(np.array([len(one) for one in told], "<i4"), f"{key} counts")},
        ]
        if shared:
            each.append({_ARRAY: self._put(np.array(which, "<i4"), f"{key} which")})
        return {_EACH: each}

    def _put(self, array: NDArray[Any], key: str) -> list[int]:
        column = self._of.setdefault((key, array.dtype), len(self.arrays))
        if column == len(self.arrays):
            self.arrays.append([])
        self.arrays[column].append(array)
        return [column, len(array)]


def _escaped(key: str) -> str:
    return _ARRAY + key if key.startswith(_ARRAY) else key


def _each(array: NDArray[Any], counts: NDArray[Any], which: NDArray[Any] | None = None) -> list[NDArray[Any]]:
    ends = np.cumsum(counts)
    if len(array) != (ends[-1] if len(ends) else 0):
        raise ValueError("a packed part's arrays do not take all of their column")
    arrays = [array[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
    return arrays if which is None else [arrays[one] for one in which.tolist()]


def _rows(count: int, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    values = [held.tolist() if isinstance(held, np.ndarray) else held for held in columns.values()]
    if any(len(held) != count for held in values):
        raise ValueError("a packed part's rows have more values than there are rows, or fewer")
    return (
        [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
        if values
        else [{} for _ in range(count)]
    )


def _texts(patterns: list[str], which: NDArray[Any], numbers: NDArray[Any]) -> list[str]:
    return texts_of(Patterns(patterns, which, numbers))


_READERS: dict[str, Callable[..., Any]] = {_EACH: _each, _ROWS: _rows, _TEXTS: _texts}


def _text(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _written(column: NDArray[Any]) -> bytes:
    """A column as the block holds it."""
    if column.dtype.kind == "f" or column.dtype.itemsize == 1:
        return column.tobytes()
    differences = np.diff(column.view("<u4"), prepend=np.zeros(1, "<u4")).view("<i4")
    written = differences << 1 ^ differences >> 31
    return np.ascontiguousarray(written.view(np.uint8).reshape(-1, 4).T).tobytes()


def _read(data: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A column from what the block holds."""
    if dtype.kind == "f" or dtype.itemsize == 1:
        return np.frombuffer(data, dtype)
    written = np.ascontiguousarray(np.frombuffer(data, np.uint8).reshape(4, -1).T).view("<u4").reshape(-1)
    differences = written >> 1 ^ -(written & 1).astype("<u4")
    column = np.cumsum(differences, dtype="<u4").view(dtype)
    column.flags.writeable = False
    return column


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
