"""All passes and rules as plain data."""

from __future__ import annotations

from gexplorer.passes.manager import all_passes


def rule_list() -> list[dict[str, object]]:
    """One row a pass, in running order."""
    return [
        {
            "name": p.name,
            "ge_name": p.ge_name,
            "order": p.order,
            "default": p.default,
            "summary": p.summary(),
        }
        for p in all_passes()
    ]
