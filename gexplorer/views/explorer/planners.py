"""The part ``planners``: what other planners make of the same buffers. It is made when somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.views.explorer.columns import bytes_column
from gexplorer.views.planners import repeatable_planners

if TYPE_CHECKING:
    from gexplorer.memory.plan import Plan
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


def planners_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """One row a planner, the articles' literal one among them; offsets are in the order of the part ``memory``.

    A planner that declined has no offsets and says why in ``note``; so does one whose plan is not sound. None where no
    memory was planned. Takes as long as all planners together: seconds for a large model.
    """
    del numbering
    if subject.memory is None:
        return None
    rows = [_row(plan) for plan in subject.memory.compare(repeatable_planners())]
    if subject.memory.program.unsized:  # nothing is proved of a pool that leaves tensors out
        rows = [row | {"proved": False} for row in rows]
    return {"planners": rows}


def _row(plan: Plan | tuple[str, str]) -> dict[str, object]:
    if isinstance(plan, tuple):
        name, reason = plan
        return {
            "name": name,
            "pool_bytes": 0,
            "seconds": 0.0,
            "proved": False,
            "sound": False,
            "offset_bytes": None,
            "note": f"declined: {reason}",
        }
    unsound = "" if plan.is_sound else f"{len(plan.findings)} defects, such as: {plan.findings[0].sentence}"
    return {
        "name": plan.planner,
        "pool_bytes": plan.pool_bytes,
        "seconds": plan.seconds,
        "proved": plan.proved_optimal,
        "sound": plan.is_sound,
        "offset_bytes": bytes_column(plan.placement.offsets),
        "note": "; ".join(text for text in (unsound, plan.placement.note) if text),
    }
