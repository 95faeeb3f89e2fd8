"""Constants in the file: aligned and checked one by one, so that a large model is mapped, not read; or references."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.storage import packed, unpacked
from gexplorer.frontends.external_data import WeightFolder
from gexplorer.ir.constant import Constant, FileSource
from gexplorer.ir.dtypes import DType
from gexplorer.offline.container import ALIGNMENT_BYTES, Container, padded

# Whether weights that lie in a file of their own are copied into the offline model, or only named there.
Weights = Literal["inline", "reference"]
DATA = "constant-data"
_LENGTH = struct.Struct("<I")


class ConstantWriter:
    """Lays constants out, one behind the other; equal sources share their bytes.

    Args:
        constants: by tensor name.
        weights: ``reference`` leaves weights of a file where they are. What is not available is a reference anyhow.
    """

    def __init__(self, constants: Mapping[str, Constant], weights: Weights) -> None:
        self._parts: list[tuple[int, Constant]] = []
        self._end = 0
        self.inline_bytes = 0
        self.rows: list[dict[str, object]] = []
        at: dict[object, dict[str, object]] = {}
        for name, constant in constants.items():
            row: dict[str, object] = {"name": name, "dtype": constant.dtype.label, "shape": list(constant.shape)}
            self.rows.append(row)
            source = constant.source
            if isinstance(source, FileSource) and (weights == "reference" or not constant.available):
                row |= {"file": source.location, "offset": source.offset, "bytes": source.nbytes}
                continue
            place = at.get(constant.key)
            if place is None:
                place = at[constant.key] = self._placed(constant)
            row |= place

    def _placed(self, constant: Constant) -> dict[str, object]:
        data = stored(constant)
        digest = hashlib.sha256(data)
        digest.update(bytes(padded(len(data)) - len(data)))
        place: dict[str, object] = {"offset": self._end, "bytes": len(data), "sha256": digest.hexdigest()}
        self._parts.append((self._end, constant))
        self._end += padded(len(data))
        self.inline_bytes += len(data)
        return place

    def pieces(self) -> Iterator[memoryview | bytes]:
        """The bytes of the section, constant by constant."""
        for _, constant in self._parts:
            data = stored(constant)
            yield data
            yield bytes(padded(len(data)) - len(data))


def stored(constant: Constant) -> memoryview:
    """A constant's bytes as the file has them: packed elements, or for each string its length and its text."""
    array = constant.array()
    if constant.dtype is not DType.STRING:
        return packed(array, constant.dtype).data
    items = [item if isinstance(item, bytes) else str(item).encode(errors="surrogateescape") for item in array.flat]
    return memoryview(b"".join(_LENGTH.pack(len(item)) + item for item in items))


@dataclass(frozen=True, eq=False)
class OmSource:
    """A part of an offline model, checked when it is first read.

    Attributes:
        container: the file.
        section: its section of constants.
        offset: in that section.
        nbytes: number of bytes.
        digest: SHA-256 of them and the zeros behind.
        dtype: element type.
        shape: dimensions.
    """

    container: Container
    section: str
    offset: int
    nbytes: int
    digest: bytes
    dtype: DType
    shape: tuple[int, ...]
    available: bool = True

    @property
    def key(self) -> object:
        """The place of the bytes."""
        return ("om", self.container.path, self.section, self.offset, self.nbytes, self.digest)

    def array(self) -> np.ndarray:
        """The elements, mapped from the file. Raises ModelError where they are altered."""
        data = self.container.part(self.section, self.offset, self.nbytes, self.digest)
        if self.dtype is DType.STRING:
            return _texts(data, self.shape, self.container)
        return unpacked(np.frombuffer(data, np.uint8), self.dtype, self.shape)


def read_constants(rows: Any, container: Container, section: str = DATA) -> dict[str, Constant]:
    """The constants that an index lists; references are looked for in the folder of the offline model.

    Raises:
        ModelError: a constant's bytes do not fit its shape, or lie outside of the file or the folder.
        KeyError, TypeError, ValueError: the index has another form.
    """
    folder = WeightFolder(container.path.parent)
    found: dict[str, Constant] = {}
    for row in rows:
        name, dtype, shape = row["name"], DType.parse(row["dtype"]), tuple(row["shape"])
        if not isinstance(name, str) or not all(d.__class__ is int and d >= 0 for d in shape) or name in found:
            raise TypeError
        offset, size = row["offset"], row["bytes"]
        if (
            offset.__class__ is not int
            or size.__class__ is not int
            or offset % (1 if "file" in row else ALIGNMENT_BYTES)
        ):
            raise TypeError
        if "file" in row:
            source = folder.source(_reference(name, row), dtype, shape)
        else:
            if dtype is not DType.STRING and size != dtype.nbytes(prod(shape)):
                raise ModelError(f"constant {name} has {size} bytes, but its shape takes {dtype.nbytes(prod(shape))}")
            if dtype is DType.STRING and prod(shape) * _LENGTH.size > size:
                raise ModelError(f"constant {name} has {size} bytes, too few for its strings")
            source = OmSource(container, section, offset, size, bytes.fromhex(row["sha256"]), dtype, shape)
        found[name] = Constant(dtype, shape, source)
    return found


def _reference(name: str, row: Mapping[str, Any]) -> Any:
    import onnx

    tensor = onnx.TensorProto(name=name)
    for key, value in (("location", row["file"]), ("offset", str(row["offset"])), ("length", str(row["bytes"]))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def _texts(data: memoryview, shape: tuple[int, ...], container: Container) -> np.ndarray:
    items: list[bytes] = []
    at = 0
    for _ in range(prod(shape)):
        if at + _LENGTH.size > len(data):
            raise ModelError(f"{container.path}: a string of a constant is cut off")
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if at + length > len(data):
            raise ModelError(f"{container.path}: a string of a constant is cut off")
        items.append(bytes(data[at : at + length]))
        at += length
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)
