import json
import random
from html import escape
from pathlib import Path

import pytest

from gexplorer.render.base91 import LETTERS, decoded, encoded

HOSTILE = (b"", b"\x00", b"\xff", b"</script>", b'"&<\\', bytes(range(256)), b"\x00" * 40, b"\xff" * 41)
TEXTS = Path(__file__).parents[3] / "widgets" / "test" / "base91.json"


def test_bytes_come_back_whatever_they_are_and_however_many():
    draw = random.Random(7)
    cases = [*HOSTILE, *(draw.randbytes(length) for length in range(120)), draw.randbytes(40_003)]
    for data in cases:
        assert decoded(encoded(data)) == data


def test_the_text_is_an_eighth_longer_than_nothing_and_escaped_nowhere():
    text = encoded(random.Random(1).randbytes(100_000))
    assert len(text) == pytest.approx(100_000 * 16 / 13, abs=2)
    assert set(text.encode()) == set(LETTERS)  # each is used
    assert len(LETTERS) == 91
    assert json.dumps(text) == f'"{text}"'
    assert not set(text) & set('<&"')
    assert escape(text, quote=False).replace("&gt;", ">") == text


def test_other_bytes_have_another_text():
    texts = {encoded(bytes((a, b))) for a in range(0, 256, 15) for b in range(256)}
    assert len(texts) == 18 * 256


@pytest.mark.parametrize(
    "text", ['a"', "<<", "a\\", "&b", "aé", "a\n", "a\ud800", "~~", "aa~", " !", "  !", "a ", "aad", " ", " " * 6]
)
def test_what_no_bytes_give_is_refused(text):
    with pytest.raises(ValueError, match="a text of bytes"):
        decoded(text)


def test_every_text_has_one_reading():
    """Of all texts of up to three of some letters, those that are read are those that are written."""
    some = "  !A_z~"
    texts = {a + b + c for a in ("", *some) for b in ("", *some) for c in ("", *some)}
    read = 0
    for text in texts:
        try:
            data = decoded(text)
        except ValueError:
            continue
        assert encoded(data) == text
        read += 1
    assert 0 < read < len(texts)


def test_the_front_end_is_tested_with_what_is_written():
    for case in json.loads(TEXTS.read_text()):
        assert encoded(bytes(case["bytes"])) == case["text"]
