"""Where commands put what they made: a file, or standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gexplorer.errors import OptionError

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation


def write_json(data: object, target: str | Path) -> None:
    """Writes plain data as JSON; ``-`` is standard output."""
    write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", target)


def write_text(text: str, target: str | Path) -> None:
    """Writes text as UTF-8, whatever the terminal is; ``-`` is standard output."""
    if str(target) == "-":
        sys.stdout.buffer.write(text.encode())
    else:
        from gexplorer.output import write_file

        write_file(target, text)


def require_file(path: Path) -> None:
    """Says at once what is no file to be read from here and there; a pipe would be waited for without end."""
    if path.exists() and not path.is_file():
        raise OptionError(f"{path}: not a file")


def require_targets(*targets: str | Path | None) -> None:
    """Says before the work starts when its results cannot be written."""
    from gexplorer.output import require_writable

    for target in targets:
        if target is not None and str(target) != "-":
            require_writable(Path(target))


def require_valid(compiled: Compilation) -> None:
    """Ends the command with status 1 where the result has failed its checks."""
    if compiled.validation.status == "failed":
        click.echo(f"gexplorer: validation failed: {compiled.validation.reason}", err=True)
        raise click.exceptions.Exit(1)


def require_one_output(*targets: str | None) -> None:
    """Says before the work starts when two results would be mixed on standard output."""
    if targets.count("-") > 1:
        raise OptionError("only one result fits on standard output (-); name a file for the other")
