"""The part ``far``: the places that a rule looked at and that are far from its pattern, by how far they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.views.explorer.columns import NOTHING, Texts, ints, ragged
from gexplorer.views.why import every_miss

if TYPE_CHECKING:
    from gexplorer.trace.records import Step
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject
    from gexplorer.views.why import Miss

# Places of one kind that are listed; all of them are counted.
MOST_PLACES = 40


def far_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """A row a kind of far miss of a rule, most first; None where nobody knows what the rules knew.

    The rules run once more for it: a tenth of a second for bert-base, half of one for qwen2.5-7b. ``kind`` is the
    reason without names, ``reason`` that of the first place, ``count`` how many places there are; of those the first
    are listed, -1 for one in a nested graph.
    """
    if subject.plan is None or subject.context is None:
        return None
    found: dict[tuple[str, str], list[Miss]] = {}
    for miss in every_miss(subject.steps, subject.plan, subject.context):
        if not miss.near:
            found.setdefault((miss.rule, miss.kind), []).append(miss)
    steps = {step.name: (position, step) for position, step in enumerate(subject.steps) if step.stage == "passes"}
    rows = sorted(found.items(), key=lambda row: (steps[row[0][0]][0], -len(row[1])))
    texts = Texts()
    at, node = ragged(
        [[_place(miss, steps[rule][1], numbering) for miss in misses[:MOST_PLACES]] for (rule, _), misses in rows]
    )
    return {
        "step": ints(steps[rule][0] for (rule, _), _ in rows),
        "kind": texts.column(kind for (_, kind), _ in rows),
        "reason": texts.column(misses[0].reason for _, misses in rows),
        "count": ints(len(misses) for _, misses in rows),
        "node_at": at,
        "node": node,
        "strings": texts.strings,
    }


def _place(miss: Miss, step: Step, numbering: Numbering) -> int:
    """The place as the rule saw it."""
    node = None if miss.inside else step.before.nodes.get(miss.node)
    return NOTHING if node is None else numbering.find(node)
