"""The part ``sources``: the code of every pass and rule that did something, or nearly did."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

# A class that is longer than this is cut: it is to be read beside a graph.
MOST_LINES = 300


def sources_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """``name`` of each step that rewrote something or nearly did, and ``text`` of its class where that is kept."""
    del numbering
    found: dict[str, str] = {}
    for step in subject.steps:
        pass_class = subject.passes.get(step.name) if step.stage == "passes" else None
        if pass_class is None or step.name in found or not (step.rewrites or step.rejects):
            continue
        text = _source(pass_class)
        if text is not None:
            found[step.name] = text
    return {"name": list(found), "text": list(found.values())}


@lru_cache(maxsize=512)  # to find a class in its file takes a millisecond, and a report has many documents
def _source(pass_class: type) -> str | None:
    """The text of a class; None where it is not kept: it was made by a notebook that is closed, or by code."""
    try:
        lines = inspect.getsource(pass_class).splitlines()
    except (OSError, TypeError):
        return None
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"# {len(lines) - MOST_LINES:,} more lines"]
    return "\n".join(lines)
