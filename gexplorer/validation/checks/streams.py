"""No two streams race on the same bytes."""

from __future__ import annotations

from gexplorer.schedule.proof import prove
from gexplorer.validation.checker import Checker
from gexplorer.validation.checks.memory import finding_notes
from gexplorer.validation.effort import Budget
from gexplorer.validation.record import Note, Outcome
from gexplorer.validation.subject import Subject


class StreamsCheck(Checker):
    """Proves by what happens before what that no stream reads or writes bytes that another still uses."""

    name = "streams"
    order = 30

    def run(self, subject: Subject, budget: Budget) -> Outcome:
        """Verifies the memory program in launch order with its streams and events."""
        schedule = subject.schedule
        if schedule is None:
            return Outcome("skipped", (Note("no_schedule"),))
        found = prove(subject.memory, schedule.kernels, schedule.assigned, schedule.syncs)
        if found:
            return Outcome("failed", tuple(finding_notes((found,))))
        kernels = f"{schedule.kernels.launches:,}"
        if schedule.streams < 2:
            return Outcome("passed", (Note("one_stream", {"kernels": kernels}),))
        streams = f"{schedule.streams} streams with {schedule.syncs.events} events"
        return Outcome("passed", (Note("streams_sound", {"kernels": kernels, "streams": streams}),))
