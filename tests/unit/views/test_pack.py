"""Packed parts: what goes in comes out, laid out byte by byte as the front end's decoder expects."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from gexplorer.views.pack import pack, part_hash, unpack


def test_the_layout_byte_by_byte() -> None:
    block = pack({"a": np.array([1, 2, 3], np.uint8), "b": np.array([-1], np.int32), "c": np.array([0.5])})
    text = b'{"a":{"$":["u8",0,3]},"b":{"$":["i32",8,1]},"c":{"$":["f64",16,1]}}'
    head = b"GXP1" + struct.pack("<I", len(text)) + text
    assert block[: len(head)] == head
    start = -(-len(head) // 8) * 8
    assert block[len(head) : start] == bytes(start - len(head))
    assert block[start:] == b"\1\2\3" + bytes(5) + struct.pack("<i", -1) + bytes(4) + struct.pack("<d", 0.5)


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.array([True, False]), "u8"),
        (np.array([1, 255], np.uint8), "u8"),
        (np.array([-(2**31), 2**31 - 1]), "i32"),
        (np.array([7], np.int16), "i32"),
        (np.array([2**32 - 1], np.uint32), "u32"),
        (np.array([1.5], np.float32), "f32"),
        (np.array([np.nan, np.inf, 2.0**53]), "f64"),
        (np.array([1, 2], ">i4"), "i32"),
        (np.array([1.0, 2.0], ">f8"), "f64"),
        (np.zeros(0), "f64"),
        (np.arange(10)[::3], "i32"),
    ],
)
def test_arrays_come_back(array: np.ndarray, name: str) -> None:
    block = pack({"x": array, "y": np.array([9])})
    (length,) = struct.unpack_from("<I", block, 4)
    assert json.loads(block[8 : 8 + length])["x"]["$"][0] == name
    found = unpack(block)
    np.testing.assert_array_equal(found["x"], array)
    assert found["y"].tolist() == [9]


HOSTILE = ["</script>", '"', "\\", "x" * 10_000, "\u202eabc", "🙂", "a\nb\u2028", "\ud800", "\x00", ""]


def test_texts_come_back_whatever_they_hold() -> None:
    part = {"strings": HOSTILE, "by": {text: text for text in HOSTILE}}
    assert unpack(pack(part)) == part


def test_a_key_like_that_of_an_array_stays_a_key() -> None:
    part = {"options": {"$": ["f64", 0, 99], "$$": 1, "$x": {"$": None}}, "deep": [[{"$": 1}]]}
    assert unpack(pack(part)) == part


def test_small_values_and_nesting() -> None:
    part = {
        "none": None,
        "yes": True,
        "n": 3,
        "big": 2**60,
        "f": 0.1,
        "rows": ({"v": np.array([1])}, []),
        "i": np.int64(4),
    }
    found = unpack(pack(part))
    assert found["rows"][0]["v"].tolist() == [1]
    del found["rows"]
    assert found == {"none": None, "yes": True, "n": 3, "big": 2**60, "f": 0.1, "i": 4}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (np.array([2**31]), OverflowError),
        (np.array([2**40]), OverflowError),
        (np.zeros((2, 2)), ValueError),
        (np.array(["a"]), TypeError),
        (np.array([1j]), TypeError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (b"abc", TypeError),
        ({1, 2}, TypeError),
    ],
)
def test_what_cannot_be_packed_is_refused(value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        pack({"x": value})


@pytest.mark.parametrize("block", [b"", b"GXP", b"GXP2" + bytes(8), b"GXP1\xff\xff\xff\x7f{}"])
def test_other_bytes_are_no_part(block: bytes) -> None:
    with pytest.raises(ValueError, match="packed part"):
        unpack(block)


def test_equal_parts_have_equal_hashes_and_others_another() -> None:
    one, other = pack({"x": np.array([1, 2])}), pack({"x": np.array([1, 3])})
    assert part_hash(one) == part_hash(pack({"x": np.array([1, 2])})) != part_hash(other)
    assert len(part_hash(one)) == 16
