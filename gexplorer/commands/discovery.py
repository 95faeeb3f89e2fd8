"""Finds the commands: each module of this package adds those that it defines."""

from __future__ import annotations

from collections.abc import Iterator

import click

import gexplorer.commands
from gexplorer.discovery import modules_of


def all_commands() -> Iterator[click.Command]:
    """Every command of the package, in order of modules."""
    for module in modules_of(gexplorer.commands):
        for value in vars(module).values():
            if isinstance(value, click.Command) and getattr(value.callback, "__module__", "") == module.__name__:
                yield value
