"""The models that are built in, as plain data."""

from __future__ import annotations

from gexplorer.frontends import zoo


def zoo_list() -> list[dict[str, object]]:
    """One row a model: name, summary, options with their defaults, source of its numbers."""
    entries = [zoo.describe(name) for name in zoo.names()]
    return [{"name": e.name, "summary": e.summary, "options": dict(e.defaults), "source": e.source} for e in entries]
