"""The part ``rules``: every pass and rule, those that did not run too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.passes.switches import is_rule
from gexplorer.views.explorer.columns import floats, ints
from gexplorer.views.explorer.places import place_of

if TYPE_CHECKING:
    from gexplorer.passes.base import Pass
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


def rules_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """One row a pass or rule that is known, in running order; then steps of passes that are not known here.

    ``tried`` counts the places that a rule looked at (0 for passes that sweep the graph), ``effective`` those that it
    rewrote, ``near`` those that it nearly did, ``matched`` both. ``ends_in`` names the operators of the places
    that a rule looks at.
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
        "ends_in": [_ends_in(one) for one in classes],
    }


def _ends_in(pass_class: type[Pass] | None) -> str:
    """The operators at which a rule begins to look, from the last up; "" where it looks at any."""
    from gexplorer.passes.fusion.rule import Rule

    if pass_class is None or not issubclass(pass_class, Rule):
        return ""
    return ", ".join(pass_class.roots())
