"""Prints tile programs: lines of code that are folded where a terminal is too narrow for them."""

from __future__ import annotations

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gexplorer.errors import printable
from gexplorer.render.terminal import console

# How much further in the rest of a folded line begins; deeper than any block of a program is indented.
_HANGING = 8


def print_program(text: str) -> None:
    """Prints lines of code, each whole: what does not fit goes on below, further in."""
    out = console()
    for line in text.splitlines():
        for part in _folded(printable(line), out):
            click.echo(part)


def _folded(line: str, out: Console) -> list[str]:
    if cell_len(line) <= out.width:
        return [line]
    code = line.lstrip(" ")
    indent = " " * min(len(line) - len(code), out.width // 2)
    width = max(1, out.width - len(indent))
    first, *_ = Text(code).wrap(out, width)
    rest = code[len(first.plain) :].lstrip(" ")
    begin = "#" if code.startswith("#") else ""  # the rest of a comment is one, too
    hanging = indent + begin + " " * (min(_HANGING, width // 2) - len(begin))
    more = Text(rest).wrap(out, max(1, out.width - len(hanging))) if rest else []
    return [indent + first.plain.rstrip(" "), *(hanging + part.plain.rstrip(" ") for part in more)]
