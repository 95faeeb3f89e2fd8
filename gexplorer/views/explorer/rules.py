"""The part ``rules``: every pass and rule, those that did not run too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.passes.switches import is_rule
from gexplorer.views.explorer.columns import floats, ints
from gexplorer.views.explorer.course import saved_bytes
from gexplorer.views.explorer.places import place_of
from gexplorer.views.why import near_misses

if TYPE_CHECKING:
    from gexplorer.cost.between import Between
    from gexplorer.trace.records import Step
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


def rules_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """One row a pass or rule that is known, in running order; then steps of passes that are not known here.

    ``tried`` counts the places that a rule looked at (0 for passes that sweep the graph), ``effective`` those that it
    rewrote, ``near`` those that it nearly did, ``matched`` both. ``blocked_bytes`` is what its near misses would save
    in HBM traffic, each blocker counted once; NaN where that is known of none. ``saved_bytes`` is what its step
    saved; NaN where the cost by step is not known.
    """
    del numbering
    ran = {step.name: (position, step) for position, step in enumerate(subject.steps) if step.stage == "passes"}
    names = [*subject.passes, *(name for name in ran if name not in subject.passes)]
    found = [ran.get(name) for name in names]
    steps = [pair[1] if pair is not None else None for pair in found]
    classes = [subject.passes.get(name) for name in names]
    return {
        "strings": [],
        "name": names,
        "ge_name": [
            one.ge_name if one is not None else step.ge_name if step is not None else None
            for one, step in zip(classes, steps, strict=True)
        ],
        "enabled": np.array([name in subject.running or name in ran for name in names], np.uint8),
        "is_fusion": np.array(
            [
                is_rule(one) if one is not None else step is not None and step.is_fusion
                for one, step in zip(classes, steps, strict=True)
            ],
            np.uint8,
        ),
        "summary": [
            one.summary() if one is not None else step.summary if step is not None else ""
            for one, step in zip(classes, steps, strict=True)
        ],
        "source": [(place_of(one) or "") if one is not None else "" for one in classes],
        "step": ints(-1 if pair is None else pair[0] for pair in found),
        "tried": ints(0 if step is None else step.tried for step in steps),
        "matched": ints(0 if step is None else len(step.rewrites) + len(step.rejects) for step in steps),
        "effective": ints(0 if step is None else len(step.rewrites) for step in steps),
        "near": ints(0 if step is None else len(step.rejects) for step in steps),
        "seconds": floats(0.0 if step is None else step.seconds for step in steps),
        "saved_bytes": floats(None if pair is None else saved_bytes(subject.course, pair[0]) for pair in found),
        "blocked_bytes": floats(None if step is None else _blocked_bytes(step, subject.between) for step in steps),
    }


def _blocked_bytes(step: Step, between: Between | None) -> float | None:
    misses = near_misses([step], step.name, between=between) if step.is_fusion and step.rejects else []
    known = {
        (miss.inside, miss.blocker or miss.node): miss.saved_bytes for miss in misses if miss.saved_bytes is not None
    }
    return sum(known.values()) if known else None
