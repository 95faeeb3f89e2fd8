"""Packed parts: what goes in comes out, laid out byte by byte as the front end's decoder expects."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from gexplorer.views.pack import pack, part_hash, unpack


def test_the_layout_byte_by_byte() -> None:
    rows = [{"i": np.array([256, 258])}, None, {"i": np.array([257])}]
    block = pack({"a": np.array([1, 2, 3], np.uint8), "mixed": rows, "c": np.array([0.5])})
    text = (
        b'[["u8",3],["i32",3],["f64",1]]\n'
        b'{"a":{"$":[0,3]},"mixed":[{"i":{"$":[1,2]}},null,{"i":{"$":[1,1]}}],"c":{"$":[2,1]}}'
    )
    head = b"GXP3" + struct.pack("<I", len(text)) + text
    assert block[: len(head)] == head
    start = -(-len(head) // 8) * 8
    assert block[len(head) : start] == bytes(start - len(head))
    differences = b"\0\4\1" + b"\2\0\0" + b"\0\0\0" + b"\0\0\0"  # 256, 2, -1 as 512, 4, 1: byte by byte
    assert block[start:] == b"\1\2\3" + bytes(5) + differences + bytes(4) + struct.pack("<d", 0.5)


def text_of(part: dict[str, object]) -> str:
    block = pack(part)
    return block[8 : 8 + struct.unpack_from("<I", block, 4)[0]].decode().partition("\n")[2]


def test_mappings_with_the_same_keys_are_columns() -> None:
    rows = [{"n": n, "x": n / 2, "name": f"n{n}", "a": np.arange(n), "on": n > 1, "$": None} for n in range(3)]
    text = text_of({"rows": rows, "none": [{}, {}]})
    assert text == (
        '{"rows":{"$rows":[3,{"n":{"$":[0,3]},"x":{"$":[1,3]},"name":["n0","n1","n2"],'
        '"a":{"$each":[{"$":[2,3]},{"$":[3,3]}]},"on":[false,false,true],"$$":[null,null,null]}]},'
        '"none":{"$rows":[2,{}]}}'
    )
    found = unpack(pack({"rows": rows, "none": [{}, {}]}))
    assert found["none"] == [{}, {}]
    assert found["none"][0] is not found["none"][1]
    for row, back in zip(rows, found["rows"], strict=True):
        assert list(row) == list(back)
        assert back.pop("a").tolist() == row.pop("a").tolist()  # type: ignore[attr-defined]
        assert back == row
        assert [type(one) for one in back.values()] == [type(one) for one in row.values()]


@pytest.mark.parametrize(
    "values",
    [
        (1, 2.5),
        (1, None),
        (1, True),
        (2**31, 1),
        (0.0, -0.0),
        (np.int64(4), 5),
        (np.float32(0.5), 0.25),
        (np.array([1]), np.array([1.5])),
        (np.array([1]), None),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": np.array([2, 3])}),
        ([1, 2], [3]),
        ("x", 1),
    ],
)
def test_rows_of_any_values_come_back(values: tuple[object, ...]) -> None:
    found = unpack(pack({"rows": [{"v": value, "$v": value} for value in values]}))
    assert repr([row["v"] for row in found["rows"]]) == repr([plain(value) for value in values])
    assert repr([row["$v"] for row in found["rows"]]) == repr([plain(value) for value in values])


def plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.astype(np.int32) if value.dtype.kind == "i" else value
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused_in_rows_too(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"rows": [{"v": 1.0}, {"v": value}]})


def test_long_arrays_that_are_equal_are_there_once() -> None:
    first, second = np.arange(1000), np.arange(1000) * 7 % 93
    rows = [{"v": first}, {"v": second}, {"v": first.copy()}, {"v": first[:0]}, {"v": first}]
    assert '{"v":{"$each":[{"$":[0,2000]},{"$":[1,3]},{"$":[2,5]}]}}' in text_of({"rows": rows})
    found = [row["v"].tolist() for row in unpack(pack({"rows": rows}))["rows"]]
    assert found == [row["v"].tolist() for row in rows]
    short = [{"v": np.arange(3)} for _ in range(5)]
    assert '{"v":{"$each":[{"$":[0,15]},{"$":[1,5]}]}}' in text_of({"rows": short})


def test_texts_that_differ_in_numbers_are_patterns() -> None:
    texts = [f"node_Add_{n} reads {n * 3}" for n in range(20)]
    text = text_of({"strings": texts})
    pattern = r"node_Add_\u007f reads \u007f"
    assert text == f'{{"strings":{{"$texts":[["{pattern}"],{{"$":[0,20]}},{{"$":[1,40]}}]}}}}'
    assert unpack(pack({"strings": texts})) == {"strings": texts}


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
ROWS = pack({"x": [{"y": 1}, {"y": 2}]})
EACH = pack({"x": [{"y": np.array([1, 2])}, {"y": np.array([1, 2, 3, 4])}]})
TEXTS = pack({"x": [f"n{n}\x09{n}" for n in range(16)]})


@pytest.mark.parametrize(
    "block",
    [
        *(b"", b"GXP", b"GXP2" + bytes(8), b"GXP3\xff\xff\xff\x7f{}", ARRAY[:-8]),
        *(ARRAY.replace(b'"$":[0,3]', b'"$":[0,%d]' % count) for count in (2, 4)),
        ROWS.replace(b'"$rows":[2,', b'"$rows":[3,'),
        EACH.replace(b'"$":[0,6]', b'"$":[0,5]'),
        TEXTS.replace(rb"n\u007f", rb"n\u007e"),
    ],
)
def test_other_bytes_are_no_part(block: bytes) -> None:
    with pytest.raises(ValueError, match="packed part"):
        unpack(block)


def test_equal_parts_have_equal_hashes_and_others_another() -> None:
    one, other = pack({"x": np.array([1, 2])}), pack({"x": np.array([1, 3])})
    assert part_hash(one) == part_hash(pack({"x": np.array([1, 2])})) != part_hash(other)
    assert len(part_hash(one)) == 16
