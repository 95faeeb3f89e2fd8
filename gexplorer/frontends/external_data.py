"""Weight files beside a model: where a tensor's bytes are, and whether the model may name that place."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError
from gexplorer.ir.constant import FileSource
from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    import onnx

_NOWHERE = Path("/dev/null/no-folder")


class WeightFolder:
    """The folder of a model; it hands out places inside it and refuses all others.

    Args:
        folder: the model's folder, None for a model in memory: then no data file is available.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._sizes: dict[str, int | None] = {}

    @property
    def missing(self) -> tuple[str, ...]:
        """Data files that are named but do not exist."""
        return tuple(location for location, size in self._sizes.items() if size is None)

    def source(self, tensor: onnx.TensorProto, dtype: DType, shape: tuple[int, ...]) -> FileSource:
        """Where the bytes of an external tensor are. Raises ModelError for a place that it may not name."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        needed = dtype.nbytes(_count(shape))
        try:
            offset = int(entries.get("offset") or 0)
            length = int(entries["length"]) if entries.get("length") else needed
        except ValueError:
            raise ModelError(f"constant {tensor.name!r}: offset or length of its data is not a number") from None
        if dtype == DType.STRING:
            raise ModelError(f"constant {tensor.name!r}: strings cannot be external data")
        if location not in self._sizes:
            self._sizes[location] = self._size(location, tensor.name)
        size = self._sizes[location]
        if offset < 0 or length < 0:
            raise ModelError(f"constant {tensor.name!r}: negative offset or length in {location}")
        if length != needed:
            raise ModelError(f"constant {tensor.name!r}: {length} bytes in {location}, but its shape takes {needed}")
        if size is not None and offset + length > size:
            raise ModelError(
                f"constant {tensor.name!r}: bytes {offset} to {offset + length} are past the end of {location}"
                f" ({size} bytes)"
            )
        path = (self._folder or _NOWHERE) / location
        return FileSource(path, location, offset, length, dtype, shape, size is not None)

    def _size(self, location: str, tensor: str) -> int | None:
        """Size of a data file in bytes, None where it does not exist."""
        parts = Path(location).parts
        if not location or "\0" in location or Path(location).is_absolute() or ".." in parts or "\\" in location:
            raise ModelError(f"constant {tensor!r}: external data {location!r} leaves the model's folder")
        if self._folder is None:
            return None
        path = self._folder / location
        try:
            inside = path.resolve().is_relative_to(self._folder.resolve())
            if not inside:
                raise ModelError(f"constant {tensor!r}: external data {location!r} is a link out of the model's folder")
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, RuntimeError) as error:
            raise ModelError(f"constant {tensor!r}: external data {location!r}: {error}") from None
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"constant {tensor!r}: external data {location!r} is not a regular file")
        return status.st_size


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count
