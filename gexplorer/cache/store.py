"""Files by key: written whole, found by any process, the oldest thrown away when there are too many bytes.

No locks: a file appears under its name only when it is complete, and a file that somebody throws away stays readable
for whoever has opened it. What is found damaged is removed and counts as not there.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gexplorer.errors import GexplorerError, OptionError

Found = TypeVar("Found")

DEFAULT_MAX_BYTES = 10 << 30
SUFFIX = ".om"
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the cache.

    Attributes:
        key: what it was made of, as SHA-256.
        path: where it is.
        size_bytes: how large it is.
        used: when it was written or last found, in seconds since 1970.
    """

    key: str
    path: Path
    size_bytes: int
    used: float


class Store:
    """A folder of files by key.

    Args:
        folder: made when the first file is written.
        max_bytes: files that were not used for longest go when all together are larger.
    """

    def __init__(self, folder: Path, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        if max_bytes < 0:
            raise OptionError(f"size of the cache: at least 0 bytes are wanted, not {max_bytes}")
        self.folder = folder
        self.max_bytes = max_bytes

    def find(self, key: str, load: Callable[[Path], Found]) -> Found | None:
        """What ``load`` makes of the file of a key; None where there is none, or it is damaged (it is removed then)."""
        path = self._path(key)
        try:
            found = load(path)
            with suppress(OSError):
                os.utime(path)
        except FileNotFoundError:
            return None
        except GexplorerError:
            if path.exists():  # else another process has thrown it away
                with suppress(OSError):
                    path.unlink()
            return None
        return found

    def put(self, key: str, write: Callable[[Path], object]) -> Path:
        """Has a file written for a key, then throws old ones away. Returns its path.

        Args:
            key: what it is made of.
            write: writes the whole file or none, under the name that it is given.

        Raises:
            OptionError: the folder cannot be made or written.
        """
        path = self._path(key)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"{self.folder}: cannot make the cache's folder: {error.strerror}") from None
        write(path)
        self.trim(keep=key)
        return path

    def entries(self) -> list[Entry]:
        """All files, the one used last first."""
        found: list[Entry] = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            if _KEY.fullmatch(path.stem):
                with suppress(OSError):  # gone since
                    status = path.stat()
                    found.append(Entry(path.stem, path, status.st_size, status.st_mtime))
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def trim(self, keep: str = "") -> int:
        """Throws away what was not used for longest until the rest fits; returns how many files went."""
        total = gone = 0
        for entry in self.entries():
            total += entry.size_bytes
            if total > self.max_bytes and entry.key != keep:
                total -= entry.size_bytes
                gone += _remove(entry.path)
        return gone

    def clear(self) -> int:
        """Throws all files away; returns how many."""
        return sum(_remove(entry.path) for entry in self.entries())

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key")
        return self.folder / f"{key}{SUFFIX}"


def default_folder() -> Path:
    """``$GEXPLORER_CACHE``, else ``gexplorer`` in the user's folder for caches."""
    chosen = os.environ.get("GEXPLORER_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gexplorer"


def age_seconds(entry: Entry) -> float:
    """How long ago an entry was used."""
    return max(0.0, time.time() - entry.used)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
