"""What came of every place that a rule looked at, near or far, found by running the rule once more."""

from __future__ import annotations

from typing import cast

from gexplorer.passes.base import Context
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.manager import run_passes
from gexplorer.trace.records import Step


def tell_every(step: Step, rule: type[Rule], context: Context) -> Step:
    """The step once more, with a record for every place: it fused, or a reject says why not.

    A place is a node whose operator is one that the rule's matches end in; one that became part of a match elsewhere
    is told as ``swallowed``. A compilation keeps the near misses alone: the others are many more, and whoever wants
    them has the graph that the rule saw. It costs what trying the pattern at every place costs.

    Args:
        step: a step of the rule.
        rule: the rule.
        context: what the rule knew.
    """
    again = cast("type[Rule]", type(rule.__name__, (rule,), {"every": True, "__doc__": rule.__doc__}))
    (told,) = run_passes(step.before, [again], context, first_index=step.index)
    return told
