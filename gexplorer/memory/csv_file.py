"""Memory problems and plans as CSV, in the form of the field's benchmark files: ``id,lower,upper,size[,offset]``."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from gexplorer.errors import ModelError, OptionError
from gexplorer.memory.problem import FREE, LARGEST_BYTES, Problem, make_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Other spellings of the columns, as in minimalloc's files; an "end" is inclusive, an "upper" is not.
_LOWER = ("lower", "begin", "start")
_UPPER = ("upper", "end")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
# A file that is no table is refused after so many characters of one line.
_LONGEST_LINE = 10_000


def read_problem(path: Path, *, alignment_bytes: int = 1, pinned: bool = True) -> Problem:
    """Reads a problem; an ``offset`` column pins the buffers that have one.

    Args:
        path: the file. Columns that it has besides are left alone, unless a plan that ignores them would be wrong.
        alignment_bytes: sizes are rounded up to it, and every offset is a multiple of it.
        pinned: False for a file that a planner has written, to plan it once more: its offsets are left alone.

    Raises:
        ModelError: the file is no such table, with the line at fault.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _problem(path, file, alignment_bytes, pinned)
    except UnicodeDecodeError:
        raise ModelError(f"{path}: not a text file") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    except OptionError as error:
        raise ModelError(f"{path}: {error}") from None


def problem_csv(problem: Problem, offsets: NDArray[np.int64] | None = None) -> str:
    """A problem as CSV text, with the offsets of a plan where there is one."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "lower", "upper", "size", *(["offset"] if offsets is not None else [])])
    columns = [problem.lower.tolist(), problem.upper.tolist(), problem.size_bytes.tolist()]
    if offsets is not None:
        columns.append(offsets.tolist())
    names = problem.names if len(problem.names) else map(str, range(len(problem)))
    writer.writerows(zip(names, *columns, strict=True))
    return text.getvalue()


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the columns are, and how the file counts.

    Attributes:
        heads: the first line.
        name: index of ``id``; the others likewise, None where there is none.
        inclusive: 1 where a lifetime's last point belongs to it, else 0.
    """

    heads: list[str]
    name: int
    lower: int
    upper: int
    size: int
    inclusive: int
    offset: int | None
    alignment: int | None
    gaps: int | None


def _columns(path: Path, first: list[str]) -> _Columns:
    heads = [cell.strip().lower() for cell in first]
    place = {head: index for index, head in enumerate(heads)}
    lower = next((place[name] for name in _LOWER if name in place), None)
    upper = next((name for name in _UPPER if name in place), None)
    if lower is None or upper is None or "size" not in place or "id" not in place:
        raise ModelError(f"{path}:1: a first line with id,lower,upper,size is wanted")
    twice = next((head for head in heads if head and heads.count(head) > 1), None) if len(place) < len(heads) else None
    if twice is not None:
        raise ModelError(f"{path}:1: column {_short(twice)} is there twice")
    more = (place.get(name) for name in ("offset", "alignment", "gaps"))
    return _Columns(heads, place["id"], lower, place[upper], place["size"], upper == "end", *more)


def _problem(path: Path, file: TextIO, alignment_bytes: int, pinned: bool) -> Problem:
    rows = _rows(path, file)
    columns = _columns(path, next(rows, (1, []))[1])
    if not pinned:
        columns = replace(columns, offset=None)
    lines: dict[str, int] = {}
    values = array("q")  # a million lines as objects would take ten times the memory
    for number, row in rows:
        name, value = _buffer(row, columns, alignment_bytes, f"{path}:{number}")
        if lines.setdefault(name, number) != number:
            raise ModelError(f"{path}:{number}: id {_short(name)} is also on line {lines[name]}")
        values.extend(value)
    table = np.array(values, dtype=np.int64).reshape(-1, 4)
    pins = table[:, 3] if columns.offset is not None else None
    low, high, size = table[:, 0], table[:, 1], table[:, 2]
    return make_problem(low, high, size, tuple(lines), alignment_bytes=alignment_bytes, pinned=pins)


def _rows(path: Path, file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold something, split into cells, each with its number."""

    def lines() -> Iterator[str]:
        number = 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE or "\0" in line:
                raise ModelError(f"{path}:{number}: not a line of a CSV table")
            yield line

    reader = csv.reader(lines(), strict=True)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        raise ModelError(f"{path}:{reader.line_num}: not a CSV table: {error}") from None


def _buffer(
    row: list[str], columns: _Columns, alignment_bytes: int, where: str
) -> tuple[str, tuple[int, int, int, int]]:
    """Name, and first point, end, size and wanted offset, of one line."""
    if len(row) != len(columns.heads):
        raise ModelError(f"{where}: {len(row)} cells, where the first line has {len(columns.heads)}")
    name = row[columns.name].strip()
    if not name:
        raise ModelError(f"{where}: no id")
    first, last, size = (
        _integer(row[index], columns.heads[index], where) for index in (columns.lower, columns.upper, columns.size)
    )
    if first < 0:
        raise ModelError(f"{where}: {_short(name)}: a lifetime from {first} is negative; points count from 0")
    if last + columns.inclusive <= first:
        raise ModelError(f"{where}: {_short(name)}: a lifetime from {first} to {last} is empty")
    if size < 0:
        raise ModelError(f"{where}: {_short(name)}: a size of {size} bytes is negative")
    offset = _optional(row, columns.offset, "offset", where, FREE)
    if offset != FREE and not 0 <= offset <= LARGEST_BYTES - size:
        raise ModelError(f"{where}: {_short(name)}: there is no offset {offset} for {size} bytes")
    wanted = _optional(row, columns.alignment, "alignment", where, 1)
    if wanted > 0 and alignment_bytes % wanted:
        raise ModelError(
            f"{where}: {_short(name)} wants an alignment of {wanted} bytes: plan with --alignment {wanted}"
        )
    if columns.gaps is not None and row[columns.gaps].strip():
        raise ModelError(
            f"{where}: {_short(name)} has gaps: buffers that change their size while they live are not planned"
        )
    return name, (first, last + columns.inclusive, size, offset)


def _optional(row: list[str], index: int | None, column: str, where: str, default: int) -> int:
    """The number in a cell that may be empty, in a column that may be missing."""
    if index is None or not row[index].strip():
        return default
    value = _integer(row[index], column, where)
    if value < 0:
        raise ModelError(f"{where}: {column} {value} is negative")
    return value


def _integer(text: str, column: str, where: str) -> int:
    stripped = text.strip()
    if not _WHOLE.fullmatch(stripped):
        raise ModelError(f"{where}: {column} {_short(stripped)} is no whole number of at most 19 digits")
    value = int(stripped)
    if abs(value) > LARGEST_BYTES:
        raise ModelError(f"{where}: {column} {value} does not fit (the largest is {LARGEST_BYTES})")
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
