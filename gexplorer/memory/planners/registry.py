"""Finds the planners: this package's files, installed entry points, registered ones."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

import gexplorer.memory.planners
from gexplorer.discovery import classes_of
from gexplorer.errors import OptionError
from gexplorer.memory.planners.base import Planner

_registered: dict[str, type[Planner]] = {}


def register_planner(planner: type[Planner]) -> type[Planner]:
    """Adds a planner that is not a file of this package (from a notebook); also usable as a decorator."""
    _registered[planner.name] = planner
    return planner


def all_planners() -> tuple[type[Planner], ...]:
    """Every known planner, in the order of lists."""
    found = {p.name: p for p in _discovered()} | _registered
    return tuple(sorted(found.values(), key=lambda p: (p.order, p.name)))


def find_planner(name: str) -> type[Planner]:
    """A planner by our name or GE's. Raises OptionError with the nearest names."""
    for planner in all_planners():
        if name in (planner.name, planner.ge_name):
            return planner
    names = [planner.name for planner in all_planners()]
    near = get_close_matches(name, names, 1)
    raise OptionError(
        f"no planner {name!r}; {f'did you mean {near[0]}?' if near else 'there are: ' + ', '.join(names)}"
    )


@cache
def _discovered() -> tuple[type[Planner], ...]:
    return classes_of(gexplorer.memory.planners, Planner, group="gexplorer.planners")
