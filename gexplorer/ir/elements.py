"""Elements of constants as words, exact both ways: the shortest number that gives the bits, else the bits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    import numpy as np

_COMPLEX = (DType.COMPLEX64, DType.COMPLEX128)
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_BITS = re.compile(r"0x[0-9a-f]{1,32}")
_MOST_DIGITS = 17  # enough to tell any two float64 apart


def words_of(dtype: DType, array: np.ndarray) -> list[str]:
    """The words of all elements in row-major order. Not for strings."""
    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1)
    with np.errstate(all="ignore"):
        return [_word(dtype, flat[i : i + 1]) for i in range(flat.size)]


def elements_of(dtype: DType, words: Sequence[str]) -> np.ndarray:
    """The elements that some words mean, one-dimensional. Raises ValueError naming the word at fault."""
    import numpy as np

    if not dtype.bits:
        raise ValueError(f"{dtype.label} has no elements")
    with np.errstate(all="ignore"):
        data = b"".join([_bytes(dtype, word) for word in words])
    return np.frombuffer(data, dtype.numpy())


def _word(dtype: DType, element: np.ndarray) -> str:
    data = element.tobytes()
    for word in _numbers(dtype, element):
        if _bytes(dtype, word) == data:
            return word
    return f"0x{int.from_bytes(data, 'little'):0{2 * len(data)}x}"


def _numbers(dtype: DType, element: np.ndarray) -> Iterator[str]:
    """Numbers that may stand for an element, the shortest first."""
    if dtype == DType.BOOL:
        yield "true" if element[0] else "false"
    elif dtype.is_integer:
        yield str(int(element[0]))
    elif dtype in _COMPLEX:
        number = complex(element[0])
        for digits in range(1, _MOST_DIGITS + 1):
            yield f"{number.real:.{digits}g}{number.imag:+.{digits}g}j"
    else:
        number = float(element[0])
        if number.is_integer() and abs(number) < 1e6:
            yield repr(number)
        for digits in range(1, _MOST_DIGITS + 1):
            yield f"{number:.{digits}g}"


def _bytes(dtype: DType, word: str) -> bytes:
    import numpy as np

    target = dtype.numpy()
    if _BITS.fullmatch(word):
        if len(word) != 2 + 2 * target.itemsize:
            raise ValueError(f"{word} is not {target.itemsize} bytes wide")
        return int(word, 16).to_bytes(target.itemsize, "little")
    if dtype == DType.BOOL:
        if word not in ("true", "false"):
            raise ValueError(f"{word} is neither true nor false")
        return np.array([word == "true"]).tobytes()
    if dtype.is_integer:
        if not _INTEGER.fullmatch(word):
            raise ValueError(f"{word} is not an integer")
        signed = dtype.name.startswith("INT")
        low = -(1 << (dtype.bits - 1)) if signed else 0
        if not low <= int(word) < low + (1 << dtype.bits):
            raise ValueError(f"{word} does not fit into {dtype.label}")
        return np.array([int(word)], np.int64 if signed else np.uint64).astype(target).tobytes()
    if dtype in _COMPLEX:
        return np.array([complex(word)]).astype(target).tobytes()
    return np.array([float(word)]).astype(target).tobytes()
