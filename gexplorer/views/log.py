"""The compilation as log lines for those who grep: ``FusionOp``, ``AutoFusion``, ``UnsupportedOp`` and timings.

The frame is that of CANN's plog (``[LEVEL] MODULE(pid,process):time [file:line]tid Function:message``). The words come
from the articles (A2, A3) where they name them; ``[GEPERFTRACE]`` and ``[IMAS]`` lines are the real GE's form,
``Graph Pass (…): …ms`` is A1's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gexplorer.errors import printable
from gexplorer.ops.fallbacks import fallbacks
from gexplorer.ops.table import unsupported_line
from gexplorer.trace.records import Step
from gexplorer.views.memory_log import memory_log

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory

MODULE = "GE"


@dataclass(frozen=True, slots=True)
class Line:
    """One log line without its frame.

    Attributes:
        level: DEBUG, INFO, WARNING or ERROR.
        place: file and line, or the step, that says it.
        message: the text.
        step: position of the step that says it; -1 where it is said of all.
        rewrite: number of the step's rewrite that it tells; -1 for none.
        reject: number of the step's near miss that it tells; -1 for none.
        node: name of a node of the last graph that it is about; "" for none.
    """

    level: str
    place: str
    message: str
    step: int = -1
    rewrite: int = -1
    reject: int = -1
    node: str = ""


def log_lines(steps: Sequence[Step], memory: Memory | None = None, order: str = "as_written") -> Iterator[Line]:
    """Every line of a compilation, in the order of its steps.

    Args:
        steps: the steps.
        memory: the memory's plan, where there is one.
        order: the execution order that was asked for.
    """
    for at, step in enumerate(steps):
        for row, rewrite in enumerate(step.rewrites if step.is_fusion else ()):
            message = f"FusionOp {step.ge_name or step.name}: {step.reason(rewrite)}"
            yield Line("INFO", step.name, message, at, rewrite=row)
        for row, reject in enumerate(step.rejects if step.is_fusion else ()):
            message = f"Fusion pattern {step.name} not matched: {step.reason(reject)}"
            yield Line("WARNING", step.name, message, at, reject=row)
        if step.is_fusion:
            effective, matched = len(step.rewrites), len(step.rewrites) + len(step.rejects)
            message = f"AutoFusion {step.name}: match_times {matched}, effect_times {effective}"
            yield Line("INFO", step.name, message, at)
        micros = round(step.seconds * 1e6)
        name = step.ge_name or step.name
        yield Line("INFO", step.name, f"[GEPERFTRACE] The time cost of {name} is [{micros}] micro second(s).", at)
    if steps:
        yield from _unsupported(steps[-1])
    if memory is not None:
        planned = next((at for at, step in enumerate(steps) if step.stage == "memory"), -1)
        for message in memory_log(memory, order):
            yield Line("INFO", "memory_assignment", message, planned)
    for stage in dict.fromkeys(step.stage for step in steps):
        seconds = sum(step.seconds for step in steps if step.stage == stage)
        yield Line("INFO", stage, f"Graph Pass ({stage}): {seconds * 1e3:.0f}ms")


def framed(line: Line, when: datetime, pid: int) -> str:
    """A line in the frame of CANN's plog; what does not print, such as a line end in a name, is spelled out."""
    stamp = f"{when:%Y-%m-%d-%H:%M:%S}.{when.microsecond // 1000:03d}.{when.microsecond % 1000:03d}"
    return f"[{line.level}] {MODULE}({pid},gexplorer):{stamp} [{line.place}]{pid} compile:{printable(line.message)}"


def _unsupported(last: Step) -> Iterator[Line]:
    for one in fallbacks(last.after):
        if one.on_host:
            line = unsupported_line(one.node, one.lowering, one.within)
            yield Line("WARNING", last.name, line, node=one.node.name)
