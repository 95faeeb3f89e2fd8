"""Texts as patterns and numbers: every text comes back, whatever it holds."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gexplorer.views.patterns import Patterns, patterns_of, texts_of


def test_texts_of_one_pattern() -> None:
    made = patterns_of([f"node_{n} of {3 * n + 1}" for n in range(16)])
    assert made is not None
    assert made.patterns == ["node_\x7f of \x7f"]
    assert made.which.tolist() == [0] * 16
    assert made.numbers.tolist() == [*range(16), *range(1, 49, 3)]  # all of the first place, then those of the next


def test_patterns_in_turn() -> None:
    texts = [f"{'ab'[n % 2]}{n}" for n in range(16)]
    made = patterns_of(texts)
    assert made is not None
    assert made.patterns == ["a\x7f", "b\x7f"]
    assert made.which.tolist() == [0, 1] * 8
    assert made.numbers.tolist() == [*range(0, 16, 2), *range(1, 16, 2)]


NUMBERS = ("0", "00", "007", "999999999", "1000000000", "12345678901234567890", "-1", "1.05", "1e9", "\u0663", "\u00b2")


@pytest.mark.parametrize("number", NUMBERS)
def test_what_looks_like_a_number_comes_back(number: str) -> None:
    texts = [f"n{number}", number, f"{number} {number}", "", "x"] * 8
    made = patterns_of(texts)
    assert made is not None
    assert texts_of(made) == texts


def test_any_texts_come_back_or_are_left_alone() -> None:
    draw = random.Random(3)
    letters = "a0109_ .-\n\u0663\U0001f701\ud800"
    split = 0
    for _ in range(300):
        some = ["".join(draw.choices(letters, k=draw.randrange(6))) for _ in range(draw.randrange(1, 12))]
        texts = draw.choices(some, k=draw.randrange(40))
        made = patterns_of(texts)
        split += made is not None
        assert made is None or texts_of(made) == texts
    assert split > 100


@pytest.mark.parametrize("sign", ["\x7f", "\x00"])
def test_texts_that_hold_a_sign_are_left_alone(sign: str) -> None:
    assert patterns_of([*(f"n{n}" for n in range(40)), f"a{sign}b"]) is None


def test_few_texts_and_those_that_are_all_different_are_left_alone() -> None:
    assert patterns_of([]) is None
    assert patterns_of([f"n{n}" for n in range(15)]) is None
    assert patterns_of(["x" * n for n in range(40)]) is None


@pytest.mark.parametrize(
    ("which", "numbers"), [([0, 0], [1]), ([0, 0], [1, 2, 3]), ([0, 1], [1, 2]), ([-1, 0], [1, 2])]
)
def test_what_does_not_fit_is_refused(which: list[int], numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="packed part"):
        texts_of(Patterns(["n\x7f"], np.array(which, np.int32), np.array(numbers, np.int32)))
