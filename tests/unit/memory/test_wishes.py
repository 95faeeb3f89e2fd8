"""What may be asked of the memory stage: of any other form it is one clear line; what was given cannot change later."""

from __future__ import annotations

import pytest

from gexplorer.errors import OptionError
from gexplorer.memory.wishes import Wishes


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"mode": None}, "the name of a mode or planner"),
        ({"mode": 3}, "the name of a mode or planner"),
        ({"reuse": "no"}, "true or false"),
        ({"limit_bytes": "8G"}, "a number of bytes"),
        ({"limit_bytes": 1.5}, "a number of bytes"),
        ({"search_nodes": "many"}, "a number from 0"),
        ({"search_nodes": -1}, "a number from 0"),
        ({"never_reuse": "relu"}, "names of tensors or operators"),
        ({"never_reuse": (3,)}, "names of tensors or operators"),
        ({"never_reuse": None}, "names of tensors or operators"),
        ({"pins": ["a"]}, "an offset by the name"),
        ({"pins": {"a": "0"}}, "an offset in bytes"),
        ({"pins": {"a": 512.0}}, "an offset in bytes"),
        ({"pins": {"a": -1}}, "an offset in bytes"),
        ({"pins": {"a": 1 << 70}}, "an offset in bytes"),
        ({"apart": (("a", "b", "c"),)}, "pairs of two"),
        ({"apart": ("a", "b")}, "pairs of two"),
        ({"apart": "a,b"}, "pairs of two"),
        ({"apart": (("a", 1),)}, "pairs of two"),
        ({"apart": None}, "pairs of two"),
    ],
)
def test_another_form_is_one_clear_line(wishes, words):
    with pytest.raises(OptionError, match=r"^.*$") as caught:
        Wishes(**wishes)
    assert words in str(caught.value)


def test_what_was_given_may_change_afterwards_without_harm():
    pins, names = {"a": 0}, ["a"]
    wishes = Wishes(pins=pins, never_reuse=names, apart=[["a", "b"]])
    pins["a"] = 512
    names.append("b")
    assert wishes == Wishes(pins={"a": 0}, never_reuse=("a",), apart=(("a", "b"),))
    with pytest.raises(TypeError):
        wishes.pins["a"] = 1
