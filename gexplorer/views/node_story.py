"""One node through all rules: which fused it, which nearly did, what the others wanted in its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from gexplorer.ir.graph import Node
from gexplorer.trace.records import Rewrite, Step
from gexplorer.views.lookup import find_node
from gexplorer.views.why import Blocker, Miss, Tally

Outcome = Literal["rewritten", "gone", "near", "far", "blocks"]


@dataclass(frozen=True, slots=True)
class Chapter:
    """What one pass or rule did with the node, or why it left it alone.

    Attributes:
        step: index of the step.
        name: of the pass or rule.
        at: the place: the node itself, unless it blocks another.
        outcome: ``rewritten`` (another operator or other inputs), ``gone`` (into another node or away), ``near`` or
            ``far`` from being fused, or ``blocks``: it keeps another place from being fused.
        reason: as a sentence.
        hint: the edit that would cure it, None where none is known or needed.
    """

    step: int
    name: str
    at: str
    outcome: Outcome
    reason: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that passes and rules have to say about a node.

    Attributes:
        name: of the node, or of a value.
        op: its operator where it was first seen, "" for a value.
        chapters: in running order.
        silent: rules that ran while it was there and whose matches end in other operators.
    """

    name: str
    op: str
    chapters: tuple[Chapter, ...]
    silent: tuple[str, ...]


def node_story(steps: Iterable[Step], misses: Iterable[Miss], name: str, rule: str | None = None) -> Story:
    """The story of a node through one compilation, or through one rule.

    Args:
        steps: of the compilation.
        misses: those at the node, near and far, and those that it blocks.
        name: of the node, or of a value.
        rule: only this one.
    """
    of_rule: dict[str, list[Miss]] = {}
    for miss in misses:
        of_rule.setdefault(miss.rule, []).append(miss)
    chapters: list[Chapter] = []
    silent: list[str] = []
    first: Node | None = None
    for step in steps:
        if step.stage != "passes" or (rule is not None and rule not in (step.name, step.ge_name)):
            continue
        before = find_node(step.before, name)
        first = first or before
        own = [*_rewritten(step, name, before), *(_missed(step, miss, name) for miss in of_rule.get(step.name, ()))]
        chapters += own
        if before is not None and step.is_fusion and not own:
            silent.append(step.name)
    return Story(name, first.op if first is not None else "", tuple(chapters), tuple(silent))


def why_data(
    misses: Iterable[Miss], counted: Iterable[Tally], blockers: Iterable[Blocker], story: Story | None = None
) -> dict[str, list[dict[str, object]]]:
    """All answers to "why not" as rows of plain data."""
    rows = [asdict(miss) for miss in misses]
    return {
        "near_misses": [row for row in rows if row["near"]],
        "far_misses": [row for row in rows if not row["near"]],
        "tallies": [asdict(tally) for tally in counted],
        "blockers": [asdict(blocker) for blocker in blockers],
        "story": [asdict(chapter) for chapter in story.chapters] if story is not None else [],
    }


def _rewritten(step: Step, name: str, before: Node | None) -> Iterable[Chapter]:
    after = find_node(step.after, name)
    if before is after:
        return
    outcome: Outcome = "gone" if after is None else "rewritten"
    for rewrite in step.rewrites:
        if _touches(rewrite, name):
            yield Chapter(step.index, step.name, name, outcome, step.reason(rewrite))


def _touches(rewrite: Rewrite, name: str) -> bool:
    return any(change.kind == "node" and change.name == name for change in rewrite.changes)


def _missed(step: Step, miss: Miss, name: str) -> Chapter:
    outcome: Outcome = "blocks" if miss.node != name else "near" if miss.near else "far"
    return Chapter(step.index, step.name, miss.node, outcome, miss.reason, miss.hint)
