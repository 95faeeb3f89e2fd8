"""The part ``rules``: every pass and rule, those that did not run too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.passes.switches import is_rule
from gexplorer.views.explorer.columns import floats, ints
from gexplorer.views.explorer.course import saved_bytes
from gexplorer.views.explorer.places import place_of
from gexplorer.views.explorer.steps import still_freed
from gexplorer.views.why import near_misses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gexplorer.cost.between import Between
    from gexplorer.passes.base import Pass
    from gexplorer.trace.records import Step
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject
    from gexplorer.views.why import Miss


def rules_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """One row a pass or rule that is known, in running order; then steps of passes that are not known here.

    ``tried`` counts the places that a rule looked at (0 for passes that sweep the graph), ``effective`` those that it
    rewrote, ``near`` those that it nearly did, ``matched`` both. ``blocked_bytes`` is what its near misses would save
    in HBM traffic, each blocker counted once; NaN where that is known of none. ``freed_bytes`` is what
    they would keep out of memory, L2 or HBM. ``saved_bytes`` is what its step saved in HBM traffic; NaN where the cost
    by step is not known. ``ends_in`` names the operators of the places that a rule looks at.
    """
    del numbering
    ran = {step.name: (position, step) for position, step in enumerate(subject.steps) if step.stage == "passes"}
    names = [*subject.passes, *(name for name in ran if name not in subject.passes)]
    found = [ran.get(name) for name in names]
    steps = [pair[1] if pair is not None else None for pair in found]
    classes = [subject.passes.get(name) for name in names]
    misses = [_misses(step, subject.between) for step in steps]
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
        "blocked_bytes": floats(_sum_once(one, lambda miss: miss.saved_bytes) for one in misses),
        "freed_bytes": floats(_sum_once(one, still_freed) for one in misses),
        "ends_in": [_ends_in(one) for one in classes],
    }


def _misses(step: Step | None, between: Between | None) -> Sequence[Miss]:
    if step is None or not step.is_fusion or not step.rejects:
        return ()
    return near_misses([step], step.name, between=between)


def _sum_once(misses: Sequence[Miss], size: Callable[[Miss], float | None]) -> float | None:
    """A sum over near misses in which each blocker counts once; None where it is known of none."""
    known = {(miss.inside, miss.blocker or miss.node): n for miss in misses if (n := size(miss)) is not None}
    return sum(known.values()) if known else None


def _ends_in(pass_class: type[Pass] | None) -> str:
    """The operators at which a rule begins to look, from the last up; "" where it looks at any."""
    from gexplorer.passes.fusion.rule import Rule

    if pass_class is None or not issubclass(pass_class, Rule):
        return ""
    return ", ".join(pass_class.roots())
