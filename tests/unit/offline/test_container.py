"""The file: every byte is covered, sections are read one by one, and what is wrong is told in one line."""

from __future__ import annotations

import hashlib
import struct

import pytest

from gexplorer.errors import ModelError, OptionError
from gexplorer.offline.container import BY_PARTS, MAGIC, MAJOR, Container, padded, write_container

PART = b"part" * 20
DIGEST = hashlib.sha256(PART + bytes(padded(len(PART)) - len(PART))).digest()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.om"
    write_container(
        path,
        [
            ("first", 0, lambda: [b"one", b"", memoryview(b"two")]),
            ("empty", 0, lambda: []),
            ("parts", BY_PARTS, lambda: [PART, bytes(padded(len(PART)) - len(PART))]),
        ],
    )
    return path


def read_all(path) -> None:
    found = Container(path)
    found.read("first")
    found.read("empty")
    found.part("parts", 0, len(PART), DIGEST)


def test_sections_come_back(path):
    found = Container(path)
    assert list(found.sections) == ["first", "empty", "parts"]
    assert bytes(found.read("first")) == b"onetwo"
    assert bytes(found.read("empty")) == b""
    assert bytes(found.part("parts", 0, len(PART), DIGEST)) == PART
    assert all(section.offset % 64 == 0 for section in found.sections.values())


def test_a_section_that_is_not_there(path):
    with pytest.raises(ModelError, match="no section third"):
        Container(path).read("third")


@pytest.mark.parametrize(("offset", "size"), [(0, 200), (64, 80), (-64, 10), (1 << 60, 1), (0, -1)])
def test_parts_that_do_not_lie_in_the_section(path, offset, size):
    with pytest.raises(ModelError, match="has no bytes"):
        Container(path).part("parts", offset, size, DIGEST)


def test_no_bit_can_change_unseen(path):
    """Every single byte of a small file, changed: opening it, or reading what is in it, says so."""
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ModelError) as error:
            read_all(path)
        assert str(error.value).startswith(str(path))


def test_every_length_but_the_right_one_is_refused(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"cut off|not an offline model"):
            Container(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ModelError, match="1 bytes too long"):
        Container(path)


def test_a_newer_format_is_told_apart_from_a_damaged_file(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + struct.pack("<H", MAJOR + 1) + whole[10:])
    with pytest.raises(
        ModelError, match=f"written by a newer gexplorer: format {MAJOR + 1}, this one reads up to {MAJOR}"
    ):
        Container(path)


def test_a_newer_minor_format_with_sections_that_nobody_knows_is_read(path):
    whole = path.read_bytes()
    head = whole[:10] + struct.pack("<H", 99) + whole[12:32]
    table = whole[64 : 64 + 3 * 72]
    path.write_bytes(head + hashlib.sha256(head + table).digest() + whole[64:])
    assert bytes(Container(path).read("first")) == b"onetwo"


@pytest.mark.parametrize(
    "data", [b"", b"\x08\x0a", b"PK\x03\x04" * 40, b"\x93NUMPY" * 30, MAGIC.replace(b"\r\n", b"\n") * 20]
)
def test_foreign_files(tmp_path, data):
    path = tmp_path / "b.om"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"cut off|not an offline model of gexplorer"):
        Container(path)


def test_paths_that_cannot_be_opened(tmp_path):
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        Container(tmp_path / "none.om")
    with pytest.raises(ModelError, match="cannot be read: Is a directory"):
        Container(tmp_path)


def test_what_fails_halfway_leaves_what_was_there(path):
    whole = path.read_bytes()

    def failing():
        yield b"some"
        raise OptionError("no")

    with pytest.raises(OptionError):
        write_container(path, [("first", 0, failing)])
    assert path.read_bytes() == whole
    assert [entry.name for entry in path.parent.iterdir()] == ["a.om"]


def test_equal_content_gives_equal_bytes(path, tmp_path):
    other = tmp_path / "b.om"
    write_container(
        other,
        [
            ("first", 0, lambda: [b"onetwo"]),
            ("empty", 0, lambda: [b""]),
            ("parts", BY_PARTS, lambda: [PART, bytes(padded(len(PART)) - len(PART))]),
        ],
    )
    assert other.read_bytes() == path.read_bytes()
