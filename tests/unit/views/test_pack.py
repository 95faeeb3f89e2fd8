"""Packed parts: what goes in comes out, laid out byte by byte as the front end's decoder expects."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from gexplorer.views.pack import pack, part_hash, unpack


def test_the_layout_byte_by_byte() -> None:
    rows = [{"i": np.array([256, 258])}, {"i": np.array([257])}]
    block = pack({"a": np.array([1, 2, 3], np.uint8), "rows": rows, "c": np.array([0.5])})
    text = (
        b'[["u8",3],["i32",3],["f64",1]]\n'
        b'{"a":{"$":[0,3]},"rows":[{"i":{"$":[1,2]}},{"i":{"$":[1,1]}}],"c":{"$":[2,1]}}'
    )
    head = b"GXP2" + struct.pack("<I", len(text)) + text
    assert block[: len(head)] == head
    start = -(-len(head) // 8) * 8
    assert block[len(head) : start] == bytes(start - len(head))
    differences = b"\0\2\xff" + b"\1\0\xff" + b"\0\0\xff" + b"\0\0\xff"  # 256, 2, -1: byte by byte
    assert block[start:] == b"\1\2\3" + bytes(5) + differences + bytes(4) + struct.pack("<d", 0.5)


def test_numbers_that_are_all_greater_by_as_much_differ_in_one_place() -> None:
    one, other = (pack({"x": np.arange(1000) % 77 + more}) for more in (5, 9))
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1


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
    assert json.loads(block[8:].partition(b"\n")[0])[0] == [name, len(array)]
    found = unpack(block)
    np.testing.assert_array_equal(found["x"], array)
    assert found["x"].dtype.str[1:] == {"u8": "u1", "i32": "i4", "u32": "u4", "f32": "f4", "f64": "f8"}[name]
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


ARRAY = pack({"x": np.array([1, 2, 3])})


@pytest.mark.parametrize(
    "block",
    [
        *(b"", b"GXP", b"GXP1" + bytes(8), b"GXP2\xff\xff\xff\x7f{}", ARRAY[:-8]),
        *(ARRAY.replace(b'"$":[0,3]', b'"$":[0,%d]' % count) for count in (2, 4)),
    ],
)
def test_other_bytes_are_no_part(block: bytes) -> None:
    with pytest.raises(ValueError, match="packed part"):
        unpack(block)


def test_equal_parts_have_equal_hashes_and_others_another() -> None:
    one, other = pack({"x": np.array([1, 2])}), pack({"x": np.array([1, 3])})
    assert part_hash(one) == part_hash(pack({"x": np.array([1, 2])})) != part_hash(other)
    assert len(part_hash(one)) == 16
