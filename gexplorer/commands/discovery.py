"""Finds the commands: each module of this package adds those that it defines."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import click

import gexplorer.commands


def all_commands() -> Iterator[click.Command]:
    """Every command of the package, in order of modules."""
    for found in iter_modules(gexplorer.commands.__path__):
        module = import_module(f"gexplorer.commands.{found.name}")
        for value in vars(module).values():
            if isinstance(value, click.Command) and getattr(value.callback, "__module__", "") == module.__name__:
                yield value
