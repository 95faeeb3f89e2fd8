"""Validation and bisection as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from gexplorer.validation.bisection import Bisection
from gexplorer.validation.deviation import Deviation
from gexplorer.validation.messages import MESSAGES
from gexplorer.validation.record import Check, Note, OutputError, Validation


def validation_summary(validation: Validation) -> dict[str, object]:
    """The ``validation`` object of the summary: status, reason, greatest absolute error, every check.

    An error that is no finite number is text, as JSON has no such numbers.
    """
    return {
        "status": validation.status,
        "reason": validation.reason,
        "max_abs_error": _number(validation.max_abs_error),
        "level": validation.level,
        "seconds": validation.seconds,
        "checks": [check_row(check) for check in validation.checks],
        "outputs": [error_row(error) for error in worst_errors(validation)],
    }


def check_row(check: Check) -> dict[str, object]:
    """One check."""
    return {
        "name": check.name,
        "status": check.status,
        "detail": check.detail,
        "seconds": check.seconds,
        "summary": check.summary,
        "notes": [note_row(note) for note in check.notes],
    }


def note_row(note: Note) -> dict[str, object]:
    """One thing that a check says: code, place, sentence, cure."""
    return {"code": note.code, "node": note.node or None, "sentence": note.sentence, "hint": cure_of(note) or None}


def cure_of(note: Note) -> str:
    """The edit that would cure what a note says, "" where none is known."""
    return MESSAGES[note.code].hint.format_map({"node": note.node, **note.parameters})


def worst_errors(validation: Validation) -> list[OutputError]:
    """For each output the run in which it was furthest off, in the outputs' order."""
    found: dict[str, OutputError] = {}
    for error in validation.errors:
        known = found.get(error.output)
        if known is None or _rank(error) > _rank(known):
            found[error.output] = error
    return list(found.values())


def error_row(error: OutputError) -> dict[str, object]:
    """How far one output is off."""
    return {
        "output": error.output,
        "absolute": _number(error.absolute),
        "relative": _number(error.relative),
        "cosine": _number(error.cosine),
        "seed": error.seed,
        "sizes": dict(error.sizes),
        "fault": error.fault,
    }


def bisection_data(found: Bisection, written: Path | None = None) -> dict[str, object]:
    """What a search for a wrong rewrite came to.

    Args:
        found: the result.
        written: the file that the smallest model went to.
    """
    step, rewrite, culprit = found.step, found.rewrite, found.culprit
    return {
        "status": "clean" if found.is_clean else "found",
        "sentence": found.sentence,
        "step": None if step is None else {"index": step.index, "stage": step.stage, "name": step.name},
        "rewrite": None
        if step is None or rewrite is None
        else {
            "number": found.number,
            "of": len(step.rewrites),
            "node": rewrite.node,
            "code": rewrite.code,
            "reason": step.reason(rewrite),
        },
        "output": found.output or None,
        "fault": found.why or None,
        "error_before": _deviation(found.before),
        "error_after": _deviation(found.after),
        "tolerance": found.tolerance,
        "evaluator": found.evaluator,
        "runs": found.runs,
        "model": None
        if culprit is None
        else {
            "file": None if written is None else str(written),
            "nodes_before": culprit.nodes[0],
            "nodes_after": culprit.nodes[1],
            "inputs": list(culprit.before.inputs),
            "result": culprit.result,
            "is_whole": culprit.is_whole,
            **_deviation(culprit.deviation),
        },
    }


def _deviation(found: Deviation) -> Mapping[str, object]:
    return {
        "absolute": _number(found.absolute),
        "relative": _number(found.relative),
        "cosine": _number(found.cosine),
        "fault": found.fault or None,
    }


def _number(value: float | None) -> float | str | None:
    return value if value is None or isfinite(value) else str(value)


def _rank(error: OutputError) -> tuple[bool, bool, float]:
    return bool(error.fault), error.absolute != error.absolute, error.absolute
