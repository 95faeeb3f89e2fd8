"""Measured points: what somebody published about a kernel on real silicon, read from CSV.

The columns are those of ``points.csv``, which ships with the package::

    op,device,M_or_shape,N,K,dtype,tile_MxNxK,time_us,cube_ratio_pct,load_ratio_pct,store_ratio_pct,source
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gexplorer.cost.kernel import Pipe
from gexplorer.errors import OptionError, reason_of
from gexplorer.ir.dtypes import DType

PUBLISHED = Path(__file__).parent / "points.csv"

COLUMNS = (
    *("op", "device", "M_or_shape", "N", "K", "dtype", "tile_MxNxK", "time_us"),
    *("cube_ratio_pct", "load_ratio_pct", "store_ratio_pct", "source"),
)
_NEEDED = ("op", "device", "M_or_shape", "dtype", "time_us")
_RATIOS: Mapping[str, Pipe] = MappingProxyType(
    {"cube_ratio_pct": "cube", "load_ratio_pct": "mte2", "store_ratio_pct": "fixpipe"}
)
_LONGEST_DIMENSION = 1 << 40

_DTYPES: Mapping[str, DType] = MappingProxyType(
    {
        **dict.fromkeys(("fp16", "float16", "half"), DType.FLOAT16),
        **dict.fromkeys(("bf16", "bfloat16"), DType.BFLOAT16),
        **dict.fromkeys(("fp32", "float32", "float"), DType.FLOAT32),
        **dict.fromkeys(("int8", "w8a8"), DType.INT8),
        "int32": DType.INT32,
    }
)


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement.

    Attributes:
        line: its line in the file.
        op: what ran, as the file says it.
        device: where, as the file says it.
        shape: M, N and K of a product; queries, keys and width of attention; otherwise the shape of
            the first input.
        dtype: element type of the inputs.
        out_dtype: element type of the output, None where it is that of the inputs.
        tile: tile_m, tile_n and tile_k, None where they are not known.
        time_us: the measured time.
        ratios: measured shares of that time in which a pipe works (cube, mte2, fixpipe), from 0 to 1.
        source: who published it.
        row: the row as the file has it; numbers where the column holds numbers, None where nothing is.
    """

    line: int
    op: str
    device: str
    shape: tuple[int, ...]
    dtype: DType
    out_dtype: DType | None
    tile: tuple[int, int, int] | None
    time_us: float
    ratios: Mapping[Pipe, float]
    source: str
    row: Mapping[str, str | float | None]


def read_points(path: str | Path = PUBLISHED) -> tuple[Point, ...]:
    """Points from a CSV file.

    Raises:
        OptionError: the file cannot be read, lacks a column, or a cell in it means nothing; naming line and column.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or reason_of(error)}") from None
    except csv.Error as error:
        raise OptionError(f"{path}: not CSV: {reason_of(error)}") from None
    if not rows:
        raise OptionError(f"{path}: is empty; a first line with {', '.join(COLUMNS)} is wanted")
    header = [name.strip() for name in rows[0]]
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise OptionError(f"{path}, line 1: no column {missing[0]}; wanted are {', '.join(COLUMNS)}")
    points: list[Point] = []
    for line, cells in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise OptionError(f"{path}, line {line}: {len(cells)} cells, but {len(header)} columns")
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        try:
            points.append(_point(row, line))
        except ValueError as error:
            raise OptionError(f"{path}, line {line}: {error}") from None
    if not points:
        raise OptionError(f"{path}: holds no points")
    return tuple(points)


def _point(row: Mapping[str, str], line: int) -> Point:
    """One row. Raises ValueError naming the column."""
    for name in ("op", "device"):
        if not row[name]:
            raise ValueError(f"{name}: is empty")
    dtype, out_dtype = _dtypes(row["dtype"])
    time_us = _positive(row["time_us"], "time_us")
    return Point(
        line=line,
        op=row["op"],
        device=row["device"],
        shape=_shape(row),
        dtype=dtype,
        out_dtype=out_dtype,
        tile=_tile(row.get("tile_MxNxK", "")),
        time_us=time_us,
        ratios={pipe: _ratio(row[name], name) for name, pipe in _RATIOS.items() if row.get(name)},
        source=row.get("source", ""),
        row={name: _cell(text, name) for name, text in row.items()},
    )


def _shape(row: Mapping[str, str]) -> tuple[int, ...]:
    """Numbers of M_or_shape (one, or several such as ``136x5120``), then N and K where they are given.

    Of several shapes, ``136,5120;5120``, the first one counts.
    """
    first = row["M_or_shape"].partition(";")[0].strip("()[] ").lower()
    sizes = [_size(text, "M_or_shape") for text in re.split(r"[x×*, ]+", first)]
    return (*sizes, *(_size(row[name], name) for name in ("N", "K") if row.get(name)))


def _size(text: str, column: str) -> int:
    if not re.fullmatch(r"[0-9]{1,13}", text.strip()) or not 0 < int(text) <= _LONGEST_DIMENSION:
        raise ValueError(f"{column}: a size from 1 is wanted, not {text!r}")
    return int(text)


def _tile(text: str) -> tuple[int, int, int] | None:
    if not text:
        return None
    match = re.fullmatch(r"([0-9]{1,6})x([0-9]{1,6})x([0-9]{1,6})", text)
    if match is None or not all(int(size) for size in match.groups()):
        raise ValueError(f"tile_MxNxK: three sizes such as 128x256x64 are wanted, not {text!r}")
    return int(match[1]), int(match[2]), int(match[3])


def _dtypes(text: str) -> tuple[DType, DType | None]:
    """Element types of ``fp16->fp32`` or ``bf16 (NZ weight)``."""
    found = [[_DTYPES[word] for word in re.findall(r"[a-z0-9]+", part.lower()) if word in _DTYPES]
             for part in text.split("->")]  # fmt: skip
    if len(found) > 2 or not all(found):
        raise ValueError(f"dtype: one of {', '.join(_DTYPES)}, or in->out, is wanted, not {text!r}")
    return found[0][0], found[1][0] if len(found) == 2 else None


def _positive(text: str, column: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 < number < math.inf):
        raise ValueError(f"{column}: a number above 0 is wanted, not {text!r}")
    return number


def _ratio(text: str, column: str) -> float:
    number = _positive(text, column)
    if number > 100:
        raise ValueError(f"{column}: at most 100 per cent is possible, not {text!r}")
    return number / 100


def _cell(text: str, column: str) -> str | float | None:
    if not text:
        return None
    if column in ("N", "K", "M_or_shape") and text.isdecimal():
        return int(text)
    return float(text) if column == "time_us" or column in _RATIOS else text
