"""An offline model as plain data: ours by its manifest and sections, CANN's by its header and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gexplorer.offline.cann import CannModel, is_cann, read_cann
from gexplorer.offline.container import BY_PARTS, MAJOR, MINOR
from gexplorer.offline.model import OfflineModel


def om_info(path: Path, *, check: bool = False) -> dict[str, object]:
    """What a ``.om`` file holds; of one of ours only header, table and manifest are read.

    Args:
        path: the file.
        check: reads and checks every byte.

    Raises:
        ModelError: it is neither ours nor CANN's, or damaged.
    """
    if is_cann(path):
        return cann_info(path, read_cann(path))
    model = OfflineModel(path)
    if check:
        model.check()
    sections = [
        {
            "name": section.name,
            "offset": section.offset,
            "bytes": section.size,
            "sha256": None if section.flags & BY_PARTS else section.digest.hex(),
        }
        for section in model.container.sections.values()
    ]
    size = sum(section.padded_size for section in model.container.sections.values())
    first = min(section.offset for section in model.container.sections.values())
    return {
        "file": str(path),
        "format": "gexplorer",
        "version": f"{MAJOR}.{MINOR}",
        "file_bytes": first + size,
        "checked": check,
        **model.manifest,
        "sections": sections,
    }


def cann_info(path: Path, model: CannModel) -> dict[str, object]:
    """The header and partitions of a real offline model of CANN."""
    header: dict[str, Any] = asdict(model)
    models = header.pop("models")
    return {"file": str(path), "format": "cann", **header, "models": [{"partitions": list(one)} for one in models]}


def is_cann_info(info: Mapping[str, object]) -> bool:
    """True for what ``cann_info`` made."""
    return info["format"] == "cann"
