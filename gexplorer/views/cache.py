"""The cache as plain data."""

from __future__ import annotations

from gexplorer.cache.store import Store, age_seconds
from gexplorer.errors import GexplorerError
from gexplorer.offline.model import OfflineModel


def entry_rows(store: Store) -> list[dict[str, object]]:
    """One row an entry, the one used last first; the model's name is None where the file is damaged."""
    rows: list[dict[str, object]] = []
    for entry in store.entries():
        model: object = None
        soc: object = None
        try:
            manifest = OfflineModel(entry.path).manifest
            model, soc = manifest["model"]["name"], manifest["options"]["soc"]
        except (GexplorerError, OSError, KeyError, TypeError):
            pass
        rows.append(
            {
                "key": entry.key,
                "model": model,
                "soc": soc,
                "size_bytes": entry.size_bytes,
                "age_seconds": age_seconds(entry),
                "path": str(entry.path),
            }
        )
    return rows
