"""Finds the exhibits: every subclass of ``Exhibit`` in a module of ``bugs`` is one."""

from __future__ import annotations

from functools import cache

from gexplorer.discovery import instances_of
from gexplorer.memory.museum import bugs
from gexplorer.memory.museum.exhibit import Exhibit


@cache
def all_exhibits() -> tuple[Exhibit, ...]:
    """All exhibits, by name.

    Raises:
        ValueError: two have the same name.
    """
    return tuple(sorted(instances_of(bugs, Exhibit), key=lambda exhibit: exhibit.name))
