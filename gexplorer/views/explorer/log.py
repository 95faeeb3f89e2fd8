"""The part ``log``: the compilation as the lines that ``gexplorer`` would log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.errors import VerifyError, printable
from gexplorer.views.explorer.columns import NOTHING, Texts, ints
from gexplorer.views.log import Line, log_lines

if TYPE_CHECKING:
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


def log_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """Every line: its level, stage, the step or file that says it, and the text; what does not print is spelled out.

    ``step``, ``rewrite``, ``reject`` and ``node`` say what it is about; -1 for nothing of that kind.
    """
    order = subject.options.order if subject.options is not None else "as_written"
    lines: list[Line] = []
    try:
        lines.extend(log_lines(subject.steps, subject.memory, order))
    except VerifyError as error:  # a graph from elsewhere may have no order; what was said up to there stands
        lines.append(Line("ERROR", "log", str(error)))
    if subject.failure is not None:
        lines.append(Line("ERROR", subject.failure.name, subject.failure.why))
    texts = Texts()
    stages = [step.stage for step in subject.steps]
    known = set(stages)
    return {
        "strings": texts.strings,
        "level": texts.column(line.level for line in lines),
        "stage": texts.column(
            stages[line.step] if line.step >= 0 else line.place if line.place in known else "" for line in lines
        ),
        "place": texts.column(printable(line.place) for line in lines),
        "lines": [printable(line.message) for line in lines],
        "step": ints(line.step for line in lines),
        "rewrite": ints(line.rewrite for line in lines),
        "reject": ints(line.reject for line in lines),
        "node": ints(numbering.last.get(line.node, NOTHING) if line.node else NOTHING for line in lines),
    }
