"""Finds the exhibits: every subclass of ``Exhibit`` in a module of ``bugs`` is one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from gexplorer.memory.museum import bugs
from gexplorer.memory.museum.exhibit import Exhibit


@cache
def all_exhibits() -> tuple[Exhibit, ...]:
    """All exhibits, by name.

    Raises:
        ValueError: two have the same name.
    """
    found: dict[str, Exhibit] = {}
    for info in pkgutil.iter_modules(bugs.__path__, f"{bugs.__name__}."):
        module = importlib.import_module(info.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Exhibit) and kind.__module__ == module.__name__:
                if kind.name in found:
                    raise ValueError(f"{info.name} defines {kind.name!r}, which another exhibit is called already")
                found[kind.name] = kind()
    return tuple(found[name] for name in sorted(found))
