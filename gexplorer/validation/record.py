"""What validation says: checks with a status each, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gexplorer.display import Displayed
from gexplorer.validation.messages import MESSAGES

Status = Literal["passed", "failed", "skipped"]
Level = Literal["quick", "full", "off"]


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that a check has to say.

    Attributes:
        code: key into ``MESSAGES``.
        parameters: values for the sentence.
        node: the node or tensor that it is about, "" for none.
    """

    code: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    node: str = ""

    @property
    def sentence(self) -> str:
        """The note, for people."""
        return MESSAGES[self.code].reason.format_map({"node": self.node, **self.parameters})


@dataclass(frozen=True, slots=True)
class OutputError:
    """How far one output of the compiled program is from that of the original.

    Attributes:
        output: its name.
        seed: of the inputs.
        sizes: sizes that free dimensions had.
        absolute: greatest absolute difference.
        relative: the same, relative to the greatest magnitude of the original's output.
        cosine: one minus the cosine of the angle between them.
        fault: what is wrong; "" where the difference is rounding.
    """

    output: str
    seed: int
    sizes: Mapping[str, int]
    absolute: float
    relative: float
    cosine: float
    fault: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a checker found.

    Attributes:
        status: ``passed``, ``failed`` or ``skipped``.
        notes: why; at least one.
        errors: one an output and run, of a check that compares numbers.
    """

    status: Status
    notes: tuple[Note, ...]
    errors: tuple[OutputError, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One check that was made, or left out.

    Attributes:
        name: of the check.
        status: ``passed``, ``failed`` or ``skipped``.
        notes: what it says.
        seconds: wall-clock time.
        errors: one an output and run, of a check that compares numbers.
        summary: what the check is for, in a sentence.
        ge_name: what the real GE calls it, None where it has no such thing.
    """

    name: str
    status: Status
    notes: tuple[Note, ...]
    seconds: float
    errors: tuple[OutputError, ...] = ()
    summary: str = ""
    ge_name: str | None = None

    @property
    def detail(self) -> str:
        """All that the check says, in a line."""
        return "; ".join(note.sentence for note in self.notes)


@dataclass(frozen=True, slots=True)
class Validation(Displayed):
    """What all checks come to.

    Attributes:
        status: ``failed`` if any check failed; ``passed`` if all that compare numbers passed; else ``skipped``.
        reason: why it failed or was skipped, "" where it passed.
        checks: one a check, in order.
        level: how much was asked for.
    """

    status: Status
    reason: str
    checks: tuple[Check, ...]
    level: Level

    def __repr__(self) -> str:
        told = ", ".join(f"{check.name} {check.status}" for check in self.checks)
        return f"Validation({self.status}{f': {self.reason}' if self.reason else ''}; {told})"

    @property
    def errors(self) -> tuple[OutputError, ...]:
        """How far every output was off, of every run."""
        return tuple([error for check in self.checks for error in check.errors])

    @property
    def max_abs_error(self) -> float | None:
        """The greatest absolute error of any output, None where no numbers were compared."""
        return max((error.absolute for error in self.errors), key=_worst, default=None)

    @property
    def seconds(self) -> float:
        """Wall-clock time of all checks."""
        return sum(check.seconds for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        """The check of that name; raises KeyError where there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"no check {name!r}; there are: {', '.join(check.name for check in self.checks)}")


def _worst(error: float) -> float:
    return float("inf") if error != error else error  # what is no number is worse than any number
