"""The file itself: a header, a table of sections, and the sections, every byte of which a digest covers.

``docs/om-format.md`` describes it byte by byte.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gexplorer.errors import ModelError
from gexplorer.offline import cann
from gexplorer.output import whole_file

# As in PNG: a byte that text mode cuts off, a name, and line ends that text mode turns into others.
MAGIC = b"\x8bGXOM\r\n\x1a"
MAJOR, MINOR = 1, 0
ALIGNMENT_BYTES = 64
MOST_SECTIONS = 64
_HEADER = struct.Struct("<8sHHIQQ32s")
_ENTRY = struct.Struct("<16sIIQQ32s")
_HEAD_BYTES = _HEADER.size - 32  # of the header, what its digest covers (with the table)
# A section whose entry has this flag is checked part by part: its table entry has no digest, an index has one each.
BY_PARTS = 1


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the table.

    Attributes:
        name: at most 16 ASCII characters.
        flags: ``BY_PARTS`` or 0.
        offset: first byte, a multiple of 64.
        size: number of bytes, without the zeros that fill up to the next multiple of 64.
        digest: SHA-256 over the section with those zeros; zeros for one that is checked by parts.
    """

    name: str
    flags: int
    offset: int
    size: int
    digest: bytes

    @property
    def padded_size(self) -> int:
        """Number of bytes with the zeros behind."""
        return padded(self.size)


# A section to be written: name, flags, and a function that gives its bytes piece by piece.
Source = tuple[str, int, Callable[[], Iterable[bytes | memoryview]]]


def padded(size: int) -> int:
    """The next multiple of 64."""
    return -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def write_container(path: Path, sections: Sequence[Source]) -> None:
    """Writes a file whole or not at all.

    Args:
        path: where; an existing file is replaced in one step, when everything is on the disk.
        sections: in order.

    Raises:
        OptionError: it cannot be written there.
    """
    with whole_file(path) as file:
        start = padded(_HEADER.size + len(sections) * _ENTRY.size)
        file.write(bytes(start))
        table: list[Section] = []
        for name, flags, pieces in sections:
            size, digest = _write(file, pieces())
            table.append(Section(name, flags, start, size, bytes(32) if flags & BY_PARTS else digest))
            start += padded(size)
        entries = b"".join(_ENTRY.pack(s.name.encode("ascii"), s.flags, 0, s.offset, s.size, s.digest) for s in table)
        head = _HEADER.pack(MAGIC, MAJOR, MINOR, len(table), start, 0, bytes(32))[:_HEAD_BYTES]
        file.seek(0)
        file.write(head + hashlib.sha256(head + entries).digest() + entries)


def _write(file: IO[bytes], pieces: Iterable[bytes | memoryview]) -> tuple[int, bytes]:
    size, digest = 0, hashlib.sha256()
    for piece in pieces:
        file.write(piece)
        digest.update(piece)
        size += len(piece)
    rest = bytes(padded(size) - size)
    file.write(rest)
    digest.update(rest)
    return size, digest.digest()


class Container:
    """A file that is open for reading. Opening reads the header and the table only.

    Args:
        path: the file.

    Raises:
        ModelError: it is no such file, or cut off, or altered, or of a newer version; the message says which.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                head = file.read(_HEADER.size)
                self.sections = {section.name: section for section in self._table(file, head, size)}
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None

    def read(self, name: str) -> memoryview:
        """The bytes of a section, mapped from the file; checked unless it is checked by parts.

        Raises:
            ModelError: there is no such section, or it is altered.
        """
        section = self.sections.get(name)
        if section is None:
            raise self._wrong(f"it has no section {name}")
        view = memoryview(self._bytes)[section.offset : section.offset + section.padded_size]
        if not section.flags & BY_PARTS and hashlib.sha256(view).digest() != section.digest:
            raise self._wrong(f"section {name} is altered")
        return view[: section.size]

    def part(self, name: str, offset: int, size: int, digest: bytes) -> memoryview:
        """Some bytes of a section that is checked by parts.

        Args:
            name: the section.
            offset: of the part in the section, a multiple of 64.
            size: its bytes, without the zeros behind.
            digest: SHA-256 of the part with those zeros.

        Raises:
            ModelError: the part is altered, or does not lie in the section.
        """
        section = self.sections.get(name)
        if section is None or not 0 <= offset <= offset + padded(size) <= section.padded_size or size < 0:
            raise self._wrong(f"section {name} has no bytes {offset} to {offset + size}")
        start = section.offset + offset
        view = memoryview(self._bytes)[start : start + padded(size)]
        if hashlib.sha256(view).digest() != digest:
            raise self._wrong(f"section {name} is altered in bytes {offset} to {offset + size}")
        return view[:size]

    def _wrong(self, what: str) -> ModelError:
        return ModelError(f"{self.path}: {what}")

    def _table(self, file: IO[bytes], head: bytes, size: int) -> list[Section]:
        if head.startswith(cann.MAGIC):
            raise self._wrong(
                "an offline model of CANN (IMOD): `gexplorer info` shows what is in it, but only an NPU can run it"
            )
        if not head.startswith(MAGIC):
            cut = len(head) < len(MAGIC) and MAGIC.startswith(head)
            raise self._wrong("cut off" if cut else "not an offline model of gexplorer")
        if len(head) < _HEADER.size:
            raise self._wrong("cut off inside its header")
        _, major, _, count, file_bytes, _, digest = _HEADER.unpack(head)
        if major > MAJOR:
            raise self._wrong(f"written by a newer gexplorer: format {major}, this one reads up to {MAJOR}")
        if size < file_bytes:
            raise self._wrong(f"cut off: {size:,} of {file_bytes:,} bytes are there")
        if count > MOST_SECTIONS or _HEADER.size + count * _ENTRY.size > size:
            raise self._wrong("its header is altered")
        entries = file.read(count * _ENTRY.size)
        if hashlib.sha256(head[:_HEAD_BYTES] + entries).digest() != digest:
            raise self._wrong("its header is altered")
        if size > file_bytes:
            raise self._wrong(f"{size - file_bytes:,} bytes too long")
        table = [Section(_name(e[0]), e[1], *e[3:]) for e in _ENTRY.iter_unpack(entries)]
        gap = file.read(padded(_HEADER.size + len(entries)) - _HEADER.size - len(entries))
        self._require_order(table, size, gap)
        return table

    def _require_order(self, table: Sequence[Section], size: int, gap: bytes) -> None:
        """Sections stand back to back from the table to the end of the file."""
        end = padded(_HEADER.size + len(table) * _ENTRY.size)
        for section in table:
            if section.offset != end or section.size > size:
                raise self._wrong("its table of sections is wrong")
            end += section.padded_size
        if end != size or len({section.name for section in table}) != len(table):
            raise self._wrong("its table of sections is wrong")
        if any(gap):
            raise self._wrong("its header is altered")


def _name(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("ascii", errors="replace")
