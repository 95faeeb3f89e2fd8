"""The part ``log``: the compilation as the lines that ``gexplorer`` would log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.errors import VerifyError, printable
from gexplorer.views.log import log_lines

if TYPE_CHECKING:
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


def log_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """Every line: its level, the step or file that says it, and the text; what does not print is spelled out."""
    del numbering
    order = subject.options.order if subject.options is not None else "as_written"
    lines: list[str] = []
    try:
        lines.extend(
            f"[{line.level}] {line.place}: {printable(line.message)}"
            for line in log_lines(subject.steps, subject.memory, order)
        )
    except VerifyError as error:  # a graph from elsewhere may have no order; what was said up to there stands
        lines.append(f"[ERROR] log: {error}")
    return {"lines": lines}
