"""Finds the model families: every module in ``models/`` is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

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
    for info in pkgutil.iter_modules(models.__path__, f"{models.__name__}."):
        family = importlib.import_module(info.name)
        for entry in family.ENTRIES:
            if entry.name in found:
                raise ValueError(f"{info.name} defines {entry.name!r}, which another family defines already")
            found[entry.name] = entry
    return MappingProxyType(found)
