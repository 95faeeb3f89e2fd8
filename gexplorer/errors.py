"""Every failure that is the model's or an option's fault, each with one clear line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

LONGEST_MESSAGE = 1000


class GexplorerError(Exception):
    """The root of all errors that a user can cause; ``str(error)`` is one line, whatever a model's names hold."""

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


class ModelError(GexplorerError):
    """The model file cannot be read, or what it says is not a valid model."""


class OptionError(GexplorerError):
    """An option has a value that cannot be used."""


class VerifyError(GexplorerError):
    """A graph breaks an invariant.

    Args:
        node: name of the node (or value) at fault.
        why: what is wrong there, as a sentence without a full stop.
    """

    def __init__(self, node: str, why: str) -> None:
        super().__init__(f"{node}: {why}")
        self.node = node
        self.why = why


class PassError(GexplorerError):
    """A pass failed or left an invalid graph.

    Args:
        pass_name: the pass at fault.
        earlier_passes: names of the passes that had already run, in order.
        why: what happened.
        steps: the steps (``trace.records.Step``) of the compilation up to there.

    Attributes:
        subject: the model as read and the options, where a compilation has failed; None where passes alone were run.
    """

    def __init__(self, pass_name: str, earlier_passes: tuple[str, ...], why: str, steps: Sequence[object] = ()) -> None:
        before = ", ".join(earlier_passes) or "none"
        super().__init__(f"pass {pass_name} failed: {why} (passes before it: {before})")
        self.pass_name = pass_name
        self.earlier_passes = earlier_passes
        self.why = why
        self.steps = steps
        self.subject: tuple[Any, Any] | None = None

    def report(self, path: str | Path) -> Path:
        """Writes what can be shown of the compilation, the steps before the pass, as one HTML file; returns its path.

        Raises:
            OptionError: it cannot be written, or no compilation has failed but a run of passes alone.
        """
        if self.subject is None:
            raise OptionError("a report is made of a compilation; these passes were run without one")
        write = import_module("gexplorer.render.report").write_failure  # an error does not know who draws it
        return cast("Path", write(self, *self.subject, Path(path)))


def reason_of(error: Exception) -> str:
    """What another library's exception says, in one line of at most 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def printable(text: str) -> str:
    """Text with what does not print, such as line ends and a terminal's commands, spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _one_line(message: str) -> str:
    """The message with what does not print (line ends, a terminal's commands) spelled out, its middle cut if long."""
    if len(message) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        message = f"{message[:half]} ... {message[-half:]}"
    return printable(message)
