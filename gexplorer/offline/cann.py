"""Reads the header and the partitions of a real offline model of CANN; nothing in it is decoded further.

Source of the layout: CANN's public headers (``framework_types_internal.h``: ``ModelFileHeader``,
``ModelPartitionTable``) and its reader (``om_file_helper.cc``).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gexplorer.errors import ModelError

MAGIC = b"IMOD"
_HEADER = struct.Struct("<III64sIBBBB32sI32sII20sB3sQBB62s")
MODEL_TYPES: Mapping[int, str] = {
    0: "IR model", 1: "standard model", 2: "tiny model", 3: "flow model", 4: "lite model", 5: "bundle",
}  # fmt: skip
PARTITION_TYPES: Mapping[int, str] = {
    0: "MODEL_DEF", 1: "WEIGHTS_DATA", 2: "TASK_INFO", 3: "TBE_KERNELS", 4: "CUST_AICPU_KERNELS", 5: "SO_BINS",
    6: "FLOW_MODEL", 7: "FLOW_SUBMODEL", 8: "MODEL_INOUT_INFO", 9: "STATIC_TASK_DESC", 10: "DYNAMIC_TASK_DESC",
    11: "TASK_PARAM", 12: "TILING_DATA", **dict.fromkeys((20, 21, 22, 23), "PRE_*"),
    **dict.fromkeys((24, 25), "BUNDLE_*"), 26: "CUSTOM_OPS",
}  # fmt: skip
_FLOW = 3
# No file has more; a count beyond is no count.
_MOST_MODELS = 4096
_MOST_PARTITIONS = 4096


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of one model.

    Attributes:
        type: its number.
        name: CANN's name of that number, "" for one that is not known.
        offset: first byte, from the end of the partition table.
        size: number of bytes.
    """

    type: int
    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class CannModel:
    """What the header of a real ``.om`` says.

    Attributes:
        name: of the model.
        version: of the format.
        header_bytes: size of the header.
        file_bytes: size of the file.
        model_bytes: size of what follows the header, by the header.
        model_type: what kind of model it is.
        platform: the platform version that it was built for.
        operators: how many, by the header (often 0).
        is_encrypted: whether it is.
        is_dynamic: whether shapes are only known at run time.
        models: the partitions of each model in the file.
    """

    name: str
    version: int
    header_bytes: int
    file_bytes: int
    model_bytes: int
    model_type: str
    platform: str
    operators: int
    is_encrypted: bool
    is_dynamic: bool
    models: tuple[tuple[Partition, ...], ...]


def is_cann(path: Path) -> bool:
    """True for a file that begins as CANN's offline models do. Raises ModelError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_cann(path: Path) -> CannModel:
    """Header and partitions of a real ``.om``.

    Raises:
        ModelError: it is cut off, or its table names bytes that are not there.
    """
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None


def _read(file: IO[bytes], path: Path) -> CannModel:
    size = os.fstat(file.fileno()).st_size
    raw = file.read(_HEADER.size)
    if len(raw) < _HEADER.size or raw[:4] != MAGIC:
        raise ModelError(f"{path}: cut off inside the header of an offline model of CANN")
    (_, head, version, _, length, encrypted, _, kind, _, name, operators, _, _, count, platform, _, _, long, _, dynamic,
     _) = _HEADER.unpack(raw)  # fmt: skip
    if not _HEADER.size <= head <= size or not 0 <= count <= _MOST_MODELS:
        raise ModelError(f"{path}: the header of an offline model of CANN that makes no sense")
    file.seek(head)
    wide = long != 0 or kind == _FLOW
    models = tuple([_partitions(file, size, path, wide=wide) for _ in range(max(count, 1))])
    return CannModel(
        name=_text(name),
        version=version,
        header_bytes=head,
        file_bytes=size,
        model_bytes=long or length,
        model_type=MODEL_TYPES.get(kind, f"type {kind}"),
        platform=_text(platform),
        operators=operators,
        is_encrypted=bool(encrypted),
        is_dynamic=bool(dynamic),
        models=models,
    )


def _partitions(file: IO[bytes], size: int, path: Path, *, wide: bool) -> tuple[Partition, ...]:
    """The table of one model; leaves the file behind the model's data."""
    entry = struct.Struct("<IIQQ" if wide else "<III")
    first = file.read(8 if wide else 4)
    count = int.from_bytes(first[:4], "little")
    if len(first) < (8 if wide else 4) or count > _MOST_PARTITIONS:
        raise ModelError(f"{path}: cut off inside the partition table of an offline model of CANN")
    raw = file.read(count * entry.size)
    if len(raw) < count * entry.size:
        raise ModelError(f"{path}: cut off inside the partition table of an offline model of CANN")
    start, end = file.tell(), 0
    found: list[Partition] = []
    for fields in entry.iter_unpack(raw):
        kind, offset, length = (fields[0], *fields[-2:])
        end = max(end, offset + length)
        found.append(Partition(kind, PARTITION_TYPES.get(kind, ""), offset, length))
    if start + end > size:
        raise ModelError(f"{path}: cut off: a partition ends {start + end - size:,} bytes behind the end of the file")
    file.seek(start + end)
    return tuple(found)


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", errors="replace")
