"""Output files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gexplorer.errors import OptionError

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None

_PREFIX, _SUFFIX = ".gexplorer-", ".part"


def require_writable(path: Path) -> None:
    """Raises OptionError where a file of this name could not be written: worth knowing before long work."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise OptionError(f"{path}: is a directory")
        if not target.parent.is_dir():
            raise OptionError(f"{path}: there is no folder {target.parent}")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise OptionError(f"{path}: cannot write: {os.strerror(errno.EACCES)}")
    except (OSError, ValueError) as error:
        raise _cannot_write(path, error) from None


@contextmanager
def whole_file(path: Path) -> Generator[IO[bytes]]:
    """A binary file that appears under ``path`` only when the block ends without an error.

    A link is followed, an existing file keeps its mode. What is no regular file (``/dev/stdout``) is written directly.

    Raises:
        OptionError: the folder does not exist, or nothing may be written there.
    """
    require_writable(path)
    target = Path(os.path.realpath(path))
    temporary = ""
    try:
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG | 0o666 & ~_umask()
        if not stat.S_ISREG(mode):
            with target.open("wb") as file:
                yield file
            return
        _sweep(target.parent)
        handle, temporary = _temporary(target.parent)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, stat.S_IMODE(mode))
            if fcntl is not None:  # as long as it is open it is locked, and nobody takes it for a leftover
                os.replace(temporary, target)
        if fcntl is None:  # where there are no locks, an open file cannot be renamed either
            os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        raise _cannot_write(path, error) from None
    except BaseException:
        _remove(temporary)
        raise


def write_file(path: str | Path, data: bytes | str) -> None:
    """Writes a file whole or not at all. Raises OptionError where it cannot be written."""
    with whole_file(Path(path)) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def _temporary(folder: Path) -> tuple[int, str]:
    """A new file, locked as long as it is open, so that others can tell it from what a killed process left."""
    while True:
        handle, path = tempfile.mkstemp(dir=folder, prefix=_PREFIX, suffix=_SUFFIX)
        if fcntl is None:
            return handle, path
        with suppress(OSError):  # a file system without locks: nobody can sweep there either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # else somebody took it for a leftover before it was locked
            return handle, path
        os.close(handle)


def _sweep(folder: Path) -> None:
    """Removes what processes that were killed while they wrote have left in a folder: files that nobody has locked."""
    if fcntl is None:
        return
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(handle)


def _cannot_write(path: Path, error: Exception) -> OptionError:
    return OptionError(f"{path}: cannot write: {getattr(error, 'strerror', None) or error}")


def _remove(path: str) -> None:
    if path:
        with suppress(OSError):
            os.unlink(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
