"""Finds what one new file adds: passes, planners, generators, checks, exhibits, rows, commands, models."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """Every module of a package and of the packages within it, imported, in alphabetical order."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def instances_of(package: ModuleType, base: type[T]) -> tuple[T, ...]:
    """One object of every class that ``classes_of`` finds, which takes no arguments.

    Raises:
        ValueError: two classes have the same name.
    """
    return tuple(kind() for kind in classes_of(package, base))


def classes_of(package: ModuleType, base: type[T], *, key: str = "name", group: str = "") -> tuple[type[T], ...]:
    """Every subclass with a name that a package's modules define, in order of modules; then installed ones.

    Args:
        package: where they are looked for.
        base: what they derive from.
        key: the class attribute that names one. A subclass without it is a base of others.
        group: the entry point group in which other packages offer theirs; none if empty.

    Raises:
        ValueError: two of the package's own have the same name.
    """
    found: dict[object, type[T]] = {}
    for module in modules_of(package):
        for item in vars(module).values():
            if not (isinstance(item, type) and issubclass(item, base) and item.__module__ == module.__name__):
                continue
            name = getattr(item, key, None)
            if name is None:
                continue
            if name in found:
                raise ValueError(f"{module.__name__} defines {name!r}, which {found[name].__module__} defines already")
            found[name] = item
    return (*found.values(), *(entry.load() for entry in (entry_points(group=group) if group else ())))
