"""Output files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gexplorer.errors import OptionError


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears under ``path`` only when the block ends without an error.

    Raises:
        OptionError: the folder does not exist, or nothing may be written there.
    """
    if path.is_dir():
        raise OptionError(f"{path}: is a directory")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise OptionError(f"{path}: cannot write: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(name)
        raise OptionError(f"{path}: cannot write: {error.strerror or error}") from None
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def write_file(path: str | Path, data: bytes | str) -> None:
    """Writes a file whole or not at all. Raises OptionError where it cannot be written."""
    with whole_file(Path(path)) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
