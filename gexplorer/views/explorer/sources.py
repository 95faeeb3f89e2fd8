"""The part ``sources``: the code of every pass and rule that did something, or nearly did."""

from __future__ import annotations

import inspect
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
        try:
            lines = inspect.getsource(pass_class).splitlines()
        except (OSError, TypeError):  # made where no file is: by a notebook that is closed, or by code
            continue
        if len(lines) > MOST_LINES:
            lines = [*lines[:MOST_LINES], f"# {len(lines) - MOST_LINES:,} more lines"]
        found[step.name] = "\n".join(lines)
    return {"name": list(found), "text": list(found.values())}
