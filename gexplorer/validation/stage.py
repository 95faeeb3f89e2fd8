"""The validation stage: every check that was asked for, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, get_args

from gexplorer.errors import OptionError
from gexplorer.trace.records import Step
from gexplorer.validation.checker import Checker, all_checkers
from gexplorer.validation.effort import QUICK_SECONDS, Budget
from gexplorer.validation.record import Check, Level, Status, Validation
from gexplorer.validation.subject import Subject

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory
    from gexplorer.schedule.stage import Schedule
    from gexplorer.validation.subject import Original


def validate(
    steps: Sequence[Step],
    memory: Memory,
    schedule: Schedule | None = None,
    *,
    level: str = "quick",
    original: Original = None,
    budget_seconds: float = QUICK_SECONDS,
) -> Validation:
    """Checks a compilation: the graph, the plan, the streams, and that it computes what the original computes.

    Args:
        steps: of the compilation, the first one holding the graph as read.
        memory: the plan of the graph after the last of them.
        schedule: its streams; None where there is none.
        level: ``quick`` compares numbers once, within a time budget; ``full`` with several seeds and sizes, kernel by
            kernel, however long it takes; ``off`` checks nothing.
        original: the model's file or message, which the compiled program is compared with; without it the graph as
            read stands for it, so that what reading got wrong is not found.
        budget_seconds: what comparing numbers may take for ``quick``; what does not fit is left out, and said.

    Raises:
        OptionError: no such level.
    """
    chosen = parse_level(level)
    if chosen == "off":
        return Validation("skipped", "switched off by --validate off", (), chosen)
    subject = Subject(steps, memory, schedule, original)
    budget = Budget(budget_seconds if chosen == "quick" else float("inf"))
    made = [(checker, _made(checker, subject, budget)) for checker in all_checkers()]
    status, reason = _verdict(made)
    return Validation(status, reason, tuple([check for _, check in made]), chosen)


def parse_level(text: object) -> Level:
    """The level that a text names. Raises OptionError where it names none."""
    if text not in get_args(Level):
        raise OptionError(f"validate: one of {', '.join(get_args(Level))} is wanted, not {text!r}")
    return text  # pyright: ignore[reportReturnType]


def _made(checker: Checker, subject: Subject, budget: Budget) -> Check:
    start = perf_counter()
    outcome = checker.run(subject, budget)
    seconds = perf_counter() - start
    return Check(
        checker.name, outcome.status, outcome.notes, seconds, outcome.errors, checker.summary(), checker.ge_name
    )


def _verdict(made: Sequence[tuple[Checker, Check]]) -> tuple[Status, str]:
    """What the checks come to: the first that failed, else the first numerical one that did not pass."""
    for _, check in made:
        if check.status == "failed":
            return "failed", f"{check.name}: {check.detail}"
    for checker, check in made:
        if checker.is_numerical and check.status == "skipped":
            return "skipped", check.detail
    return "passed", ""
