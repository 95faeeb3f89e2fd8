"""Differences of bytes: exact for any two, small where they are alike, refused where they are damaged."""

from __future__ import annotations

import json
import random
import time
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.views.delta import applied, difference

PIECES = st.lists(st.sampled_from([b"abcdefgh" * 3, bytes(40), b"0123456789abcdef", b"x", b"\xff" * 17, b""]))


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_become_any_others(source: bytes, target: bytes) -> None:
    assert applied(source, difference(source, target)) == target


@given(PIECES, PIECES, st.integers(0, 40))
def test_what_repeats_itself_is_exact_too(source: list[bytes], target: list[bytes], cut: int) -> None:
    one, other = b"".join(source), b"".join(target)[cut:]
    assert applied(one, difference(one, other)) == other


def noise(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)


def test_an_edit_costs_what_is_new_and_a_few_bytes() -> None:
    source = noise(100_000)
    for target in (
        source[:5_000] + b"new" + source[5_000:],
        source[:5_000] + source[5_100:],
        source[:5_000] + b"!!!!" + source[5_004:],
        source[60_000:] + source[:60_000],
    ):
        made = difference(source, target)
        assert applied(source, made) == target
        assert len(made) < 45


def test_equal_bytes_are_one_copy_and_foreign_ones_are_new() -> None:
    source = noise(3_000)
    assert len(difference(source, source)) < 30
    assert len(difference(source, noise(3_000, 2))) == 3_020
    assert applied(source, difference(source, b"")) == b""


def test_the_layout_byte_by_byte() -> None:
    source = bytes(range(64))
    target = b"new" + source[10:40] + b"!"
    # Three new bytes, thirty copied from 10, which is 7 ahead of 3; one more.
    lengths = b"".join(count.to_bytes(4, "little") for count in (64, 34, 2, 1))
    assert difference(source, target) == b"GXD1" + lengths + bytes([3, 30, 14]) + b"new!"


def test_two_million_bytes_take_less_than_a_second() -> None:
    source = noise(2_000_000)
    target = b"".join(source[at : at + 990] + b"changed" for at in range(0, len(source), 1_000))
    start = time.process_time()
    made = difference(source, target)
    assert time.process_time() - start < 1
    assert applied(source, made) == target
    assert len(made) < 40_000


MADE = difference(noise(500), noise(500)[100:] + b"more")


@pytest.mark.parametrize(
    ("delta", "why"),
    [
        (b"", "not a difference"),
        (b"GXP2" + MADE[4:], "not a difference"),
        (MADE[:-1], "makes"),
        (difference(noise(499), b"x"), "is to 499 bytes"),
        (MADE[:20] + b"\0\xff\x7f" + MADE[23:], "not there"),
        (MADE[:12] + b"\0" + MADE[13:], "zip"),
    ],
)
def test_what_is_damaged_is_refused(delta: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        applied(noise(500), delta)


def test_the_front_end_is_tested_with_what_is_written_today() -> None:
    """The cases of ``widgets/test/delta.test.ts``; after a change of the format: write ``cases()`` there as JSON."""
    path = Path(__file__).parents[3] / "widgets" / "test" / "deltas.json"
    assert json.loads(path.read_text(encoding="utf-8")) == cases()


def cases() -> list[dict[str, str]]:
    source = noise(2_000)
    targets = {
        "the same": source,
        "nothing": b"",
        "something in the middle": source[:700] + b"new" + source[700:],
        "a piece gone": source[:300] + source[900:],
        "pieces turned round": source[1_500:] + source[400:800] + source[:500],
        "all else": noise(100, 2),
    }
    return [
        {
            "name": name,
            **{
                key: b64encode(data).decode()
                for key, data in (("source", source), ("target", target), ("delta", difference(source, target)))
            },
        }
        for name, target in targets.items()
    ]
