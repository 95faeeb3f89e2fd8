"""Columns of a part: texts that are kept once, lists of different lengths, numbers that may be unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float64]

NOTHING = -1


class Texts:
    """The texts of a part, each kept once; columns hold their numbers.

    Attributes:
        strings: by number.
    """

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._number: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """The number of a text."""
        number = self._number.get(text)
        if number is None:
            number = self._number[text] = len(self.strings)
            self.strings.append(text)
        return number

    def maybe(self, text: str | None) -> int:
        """The number of a text, -1 for none."""
        return NOTHING if text is None else self(text)

    def column(self, texts: Iterable[str]) -> Ints:
        """The numbers of texts."""
        return ints(map(self, texts))


def ints(numbers: Iterable[int]) -> Ints:
    """A column of int32; OverflowError where a number does not fit."""
    return np.fromiter(numbers, np.int32)


def floats(numbers: Iterable[float | None]) -> Floats:
    """A column of float64, NaN for what is not known."""
    return np.fromiter((np.nan if number is None else number for number in numbers), np.float64)


def bytes_column(sizes: NDArray[Any]) -> Floats:
    """Bytes as float64: exact up to 8 PiB."""
    return sizes.astype(np.float64)


def ragged(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Lists one behind the other: where each begins (and the last ends), and all their numbers."""
    at = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=at[1:])
    return at, ints(number for row in rows for number in row)
