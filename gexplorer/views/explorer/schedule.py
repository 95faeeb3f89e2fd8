"""The part ``schedule``: every kernel in time, on its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.schedule.timeline import NOBODY
from gexplorer.views.explorer.accuracy import error_of
from gexplorer.views.explorer.columns import Texts, ints

if TYPE_CHECKING:
    from gexplorer.schedule.stage import Schedule
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject


def schedule_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """The schedule as columns over what has a place in it, in execution order; None where there is none.

    That is every kernel, and what launches nothing and only keeps its place, as a view of a size that nobody knows:
    ``idle`` is 1 there.

    ``event_reason`` is ``data`` or ``reuse`` (of bytes). ``held_by`` is the kernel at whose end another starts, -1 for
    one that starts at 0; ``held_why`` is ``data`` or ``reuse`` too, or ``stream`` where that kernel only stands before
    it on its stream; ``held_tensor`` is what it reads, or whose bytes it takes. ``wait_us`` is how long its stream
    stood idle before it. Kernels without a price take no time; then the makespan is a
    lower bound, and ``note`` says so.
    """
    schedule = subject.schedule
    if schedule is None:
        return None
    texts = Texts()
    kernels, timeline, syncs = schedule.kernels, schedule.timeline, schedule.syncs
    critical = np.zeros(len(kernels), np.uint8)
    critical[list(schedule.critical_path)] = 1
    sources, targets = syncs.source.tolist(), syncs.target.tolist()
    edges = [schedule.dependencies.edge(a, b) for a, b in zip(sources, targets, strict=True)]
    reuse = schedule.dependencies.reuse
    held = _held_by(schedule)
    unpriced = len(subject.cost.uncosted) if subject.cost is not None else 0
    return {
        "makespan_us": schedule.makespan_us,
        "critical_path_us": schedule.critical_path_us,
        "error": error_of(subject.cost) if subject.cost is not None else None,
        "mode": str(schedule.mode),
        "streams": [{"label": f"stream {number}"} for number in range(schedule.streams)],
        "node": ints(map(numbering.find, kernels.nodes)),
        "name": texts.column(kernels.names),
        "stream": schedule.assigned.stream,
        "core": texts.column(unit.value for unit in kernels.cores),
        "start_us": timeline.start_us,
        "duration_us": timeline.duration_us,
        "slack_us": timeline.slack_us,
        "wait_us": timeline.wait_us,
        "held_by": timeline.waits_for,
        "held_why": texts.column(why for why, _ in held),
        "held_tensor": ints(texts.maybe(tensor) for _, tensor in held),
        "critical": critical,
        "idle": (~kernels.launched).astype(np.uint8),
        "event_from": syncs.source,
        "event_to": syncs.target,
        "event_reason": texts.column("reuse" if row is not None and reuse[row] else "data" for row in edges),
        "timed": any(schedule.durations_ps),
        "note": f"kernels without a price, which take no time here: {unpriced:,}" if unpriced else "",
        "strings": texts.strings,
    }


def _held_by(schedule: Schedule) -> list[tuple[str, str | None]]:
    """[k] why each kernel starts no earlier, and the tensor that it is about."""
    edges, tensors = schedule.dependencies, schedule.memory.program.tensors
    found: list[tuple[str, str | None]] = []
    for kernel, by in enumerate(schedule.timeline.waits_for.tolist()):
        row = edges.edge(by, kernel) if by != NOBODY else None
        if row is None:
            found.append(("" if by == NOBODY else "stream", None))
        else:
            found.append(("reuse" if edges.reuse[row] else "data", tensors[int(edges.tensor[row])]))
    return found
