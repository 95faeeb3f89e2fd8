"""The validation stage as steps of the trace: one a check."""

from __future__ import annotations

from gexplorer.ir.graph import Graph
from gexplorer.trace.records import Reject, Step
from gexplorer.validation.messages import MESSAGES
from gexplorer.validation.record import Check, Note, Validation


def validation_steps(validation: Validation, graph: Graph, first_index: int) -> list[Step]:
    """Steps that leave the graph as it is; what a check has against it, or why it was left out, is what it rejects.

    Args:
        validation: what the checks found.
        graph: the compiled graph.
        first_index: place of the first in the trace.
    """
    return [
        Step(
            index=first_index + number,
            stage="validation",
            name=f"check_{check.name}",
            ge_name=check.ge_name,
            before=graph,
            after=graph,
            seconds=check.seconds,
            rejects=() if check.status == "passed" else tuple(map(_reject, check.notes)),
            messages=MESSAGES,
            summary=_summary(check),
        )
        for number, check in enumerate(validation.checks)
    ]


def _summary(check: Check) -> str:
    told = f" {check.status.capitalize()}: {check.detail}." if check.status == "passed" else ""
    return f"{check.summary}{told}"


def _reject(note: Note) -> Reject:
    return Reject(note.node, note.code, note.parameters, note.node or None)
