"""The steps of a compilation, and one step in detail, as plain data."""

from __future__ import annotations

from gexplorer.ir.graph import Node
from gexplorer.trace.records import Rewrite, Step, Steps
from gexplorer.views.summary import reject_rows, step_row


def step_list(steps: Steps) -> list[dict[str, object]]:
    """One row a step."""
    return [step_row(step) for step in steps]


def step_detail(step: Step) -> dict[str, object]:
    """One step: its row, what it does, every rewrite and every near miss."""
    return {
        **step_row(step),
        "summary": step.summary,
        "rewritten": [rewrite_row(step, rewrite) for rewrite in step.rewrites],
        "rejected": reject_rows(step),
    }


def rewrite_row(step: Step, rewrite: Rewrite) -> dict[str, object]:
    """One rewrite: where, why, and which nodes went, came or changed."""
    return {
        "node": rewrite.node,
        "code": rewrite.code,
        "reason": step.reason(rewrite),
        "removed": [node_label(node) for node in rewrite.removed],
        "added": [node_label(node) for node in rewrite.added],
        "changed": [node_label(new) for _, new in rewrite.changed],
        "inside": [place.node for place in rewrite.path],
    }


def node_label(node: Node) -> str:
    """A node in a list: its name and operator."""
    return f"{node.name} ({node.op})"
