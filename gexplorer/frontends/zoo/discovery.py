"""Finds the model families: every module in ``models/`` is one."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from gexplorer.discovery import modules_of
from gexplorer.frontends.zoo import models

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gexplorer.frontends.zoo.entry import ZooEntry


@cache
def entries() -> Mapping[str, ZooEntry]:
    """All entries of all families, by name.

    Raises:
        ValueError: two families define the same name.
    """
    found: dict[str, ZooEntry] = {}
    for family in modules_of(models):
        for entry in family.ENTRIES:
            if entry.name in found:
                raise ValueError(f"{family.__name__} defines {entry.name!r}, which another family defines already")
            found[entry.name] = entry
    return MappingProxyType(found)
