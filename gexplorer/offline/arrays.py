"""Arrays in ``.npz`` files: inputs of a run, and its results."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.ir.dtypes import DType
from gexplorer.output import whole_file

if TYPE_CHECKING:
    from gexplorer.execution.program import Program

# Of a zip archive, one without an entry, and a single array. What begins otherwise numpy takes for a pickle, and says
# how to load that.
_MAGICS = (b"PK\x03\x04", b"PK\x05\x06", b"\x93NUM")


def read_arrays(path: Path, program: Program) -> dict[str, Any]:
    """The arrays of a file by name. Nothing is unpickled.

    Element types that numpy has no name for (bfloat16, float8) may be there as plain bytes of the same width.

    Raises:
        ModelError: it is no such file.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic not in _MAGICS:
            raise ModelError(f"{path}: a .npz file is wanted, with an array for each input")
        loaded = np.load(path, allow_pickle=False)
        arrays = dict(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(f"{path}: cannot be read: {reason}") from None
    if arrays is None:
        raise ModelError(f"{path}: a .npz file is wanted, with an array for each input")
    return {name: _as_wanted(array, name, program) for name, array in arrays.items()}


def write_arrays(path: Path, outputs: Mapping[str, Any]) -> list[str]:
    """Writes results, whole or not at all; returns what is no array and was left out.

    The elements of a sequence are called ``NAME.0``, ``NAME.1`` and so on; strings are written as text.
    """
    arrays: dict[str, np.ndarray] = {}
    left: list[str] = []
    for name, value in outputs.items():
        parts = {f"{name}.{i}": item for i, item in enumerate(value)} if isinstance(value, list) else {name: value}
        for part, item in parts.items():
            if isinstance(item, np.ndarray):
                arrays[part] = item.astype(str) if item.dtype == object else item
            else:
                left.append(part)
    with whole_file(path) as file:
        np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    return left


def _as_wanted(array: np.ndarray, name: str, program: Program) -> np.ndarray:
    tensor = program.tensors.get(name)
    if tensor is None or tensor.dtype is None or array.dtype.kind not in "VU":
        return array
    if tensor.dtype is DType.STRING:
        return array.astype(object)
    wanted = tensor.dtype.numpy()
    return array.view(wanted) if array.dtype.itemsize == wanted.itemsize else array
