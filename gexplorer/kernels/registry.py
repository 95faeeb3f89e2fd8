"""Finds the generators: every file of ``generators/``, and those that a notebook registers."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

import gexplorer.kernels.generators
from gexplorer.discovery import instances_of
from gexplorer.kernels.generator import AnyGenerator, Generator

_registered: dict[str, AnyGenerator] = {}


def register_generator(generator: type[AnyGenerator]) -> type[AnyGenerator]:
    """Adds a generator that is not a file of that package; also usable as a decorator."""
    _registered[generator.name] = generator()
    return generator


def all_generators() -> tuple[AnyGenerator, ...]:
    """Every known generator, in the order in which they are asked."""
    found = {generator.name: generator for generator in _discovered()} | _registered
    return tuple(sorted(found.values(), key=lambda generator: (generator.order, generator.name)))


def generator_of(kernel: Hashable) -> AnyGenerator:
    """The generator of a description. Raises KeyError where there is none."""
    for generator in all_generators():
        if type(kernel) is generator.kernel:
            return generator
    raise KeyError(type(kernel).__name__)


@cache
def _discovered() -> tuple[AnyGenerator, ...]:
    return instances_of(gexplorer.kernels.generators, Generator)
