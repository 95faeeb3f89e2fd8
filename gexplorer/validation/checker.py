"""What a checker is, and where they are found: every subclass in a module of ``checks`` is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import ClassVar

from gexplorer.discovery import instances_of
from gexplorer.validation import checks
from gexplorer.validation.comparing import LeftOutError, left_out, require_weights
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


class ModelRun(Checker):
    """A check that runs the model: without weights, inputs or time it is skipped, and the reason is said."""

    def run(self, subject: Subject, budget: Budget) -> Outcome:
        """Makes the check where the model can be run."""
        try:
            require_weights(subject)  # first: nothing else helps without them
            return self.run_model(subject, budget)
        except LeftOutError as error:
            return left_out(error)

    @abstractmethod
    def run_model(self, subject: Subject, budget: Budget) -> Outcome:
        """Makes the check of a model that has its weights.

        Raises:
            LeftOutError: it cannot be made.
        """


@cache
def all_checkers() -> tuple[Checker, ...]:
    """All checkers, in order.

    Raises:
        ValueError: two have the same name.
    """
    return tuple(sorted(instances_of(checks, Checker), key=lambda checker: (checker.order, checker.name)))
