"""Many texts that differ in their numbers alone, as the few patterns that they have and the numbers.

The names of a model's nodes and what is said of them are such texts: ``node_Reshape_1049 (Reshape) always gives [1]``.
A pattern has a sign where a number stands. Numbers are those of up to nine digits without a zero before them; other
digits are part of the pattern, so that every text comes back as it was. ``widgets/src/core/patterns.ts`` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Of fewer texts, or of texts that have more than half as many patterns, nothing is won.
_FEWEST = 16
_NUMBER = re.compile("(?<![0-9])(?:0|[1-9][0-9]{0,8})(?![0-9])")
_SIGN, _BETWEEN = "\x7f", "\x00"


@dataclass(frozen=True, slots=True)
class Patterns:
    """Texts by their patterns.

    Attributes:
        patterns: each once, in the order of the texts; U+007F where a number stands.
        which: the pattern of each text.
        numbers: those of the first place of the first pattern in all its texts, then of its next place, then of the
            next pattern.
    """

    patterns: list[str]
    which: NDArray[np.int32]
    numbers: NDArray[np.int32]


def patterns_of(texts: Sequence[str]) -> Patterns | None:
    """The patterns of texts; None where they are too few or too different, or one holds a sign itself."""
    if len(texts) < _FEWEST:
        return None
    whole = _BETWEEN.join(texts)
    if _SIGN in whole or whole.count(_BETWEEN) >= len(texts):
        return None
    found = _NUMBER.sub(_SIGN, whole).split(_BETWEEN)
    number: dict[str, int] = {}
    which = np.fromiter((number.setdefault(pattern, len(number)) for pattern in found), np.int32, len(found))
    if 2 * len(number) > len(texts):
        return None
    numbers = np.fromiter(map(int, _NUMBER.findall(whole)), np.int32)
    return Patterns(list(number), which, numbers[_order(list(number), which)])


def texts_of(made: Patterns) -> list[str]:
    """The texts.

    Raises:
        ValueError: there are more or fewer numbers than places for them, or a pattern is not there.
    """
    pieces = [pattern.split(_SIGN) for pattern in made.patterns]
    if len(made.which) and not 0 <= made.which.min() <= made.which.max() < len(pieces):
        raise ValueError("a packed part has texts of a pattern that is not there")
    order = _order(made.patterns, made.which)
    if len(order) != len(made.numbers):
        raise ValueError("a packed part's texts do not take all of their numbers")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = made.numbers
    words = iter(map(str, numbers.tolist()))
    texts: list[str] = []
    for pattern in made.which.tolist():
        first, *others = pieces[pattern]
        texts.append(first + "".join(next(words) + piece for piece in others))
    return texts


def _order(patterns: Sequence[str], which: NDArray[np.int32]) -> NDArray[np.intp]:
    """Of the numbers in the order of the texts, which comes next in the order of pattern and place."""
    places = np.array([pattern.count(_SIGN) for pattern in patterns], np.int64)[which]
    first = np.cumsum(places) - places
    place = np.arange(places.sum()) - np.repeat(first, places)
    return np.lexsort((place, np.repeat(which, places)))  # stable: in the order of the texts
