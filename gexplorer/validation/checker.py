"""What a checker is, and where they are found: every subclass in a module of ``checks`` is one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from functools import cache
from typing import ClassVar

from gexplorer.validation import checks
from gexplorer.validation.effort import Budget
from gexplorer.validation.record import Outcome
from gexplorer.validation.subject import Subject


class Checker(ABC):
    """One check of a compilation. A subclass in a file of ``checks`` is found by itself.

    Attributes:
        name: snake_case, unique.
        order: checks are made by ascending order.
        ge_name: what the real GE calls it, None where it has no such thing.
        is_numerical: whether a validation passes only if this one does: it compares numbers of a real run.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    ge_name: ClassVar[str | None] = None
    is_numerical: ClassVar[bool] = False

    @abstractmethod
    def run(self, subject: Subject, budget: Budget) -> Outcome:
        """Makes the check; what cannot be checked is skipped, with the reason."""

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what is checked."""
        return (cls.__doc__ or "").strip().partition("\n")[0]


@cache
def all_checkers() -> tuple[Checker, ...]:
    """All checkers, in order.

    Raises:
        ValueError: two have the same name.
    """
    found: dict[str, Checker] = {}
    for info in pkgutil.iter_modules(checks.__path__, f"{checks.__name__}."):
        module = importlib.import_module(info.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Checker) and kind.__module__ == module.__name__:
                if kind.name in found:
                    raise ValueError(f"{info.name} defines {kind.name!r}, which another check is called already")
                found[kind.name] = kind()
    return tuple(sorted(found.values(), key=lambda checker: (checker.order, checker.name)))
