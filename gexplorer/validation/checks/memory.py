"""The memory plan is sound, by a verifier that shares no code with the planners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gexplorer.memory.findings import Finding, Findings
from gexplorer.memory.verify import verify_placement, verify_sharing
from gexplorer.validation.checker import Checker
from gexplorer.validation.effort import Budget
from gexplorer.validation.record import Note, Outcome
from gexplorer.validation.subject import Subject

# Findings that are told before the rest is only counted.
TOLD = 3


class MemoryCheck(Checker):
    """Proves that no two tensors that live at once share a byte of the plan, with code that is not the planner's."""

    name = "memory"
    order = 20

    def run(self, subject: Subject, budget: Budget) -> Outcome:
        """Verifies placement and sharing anew, O(N log N)."""
        memory = subject.memory
        live, placed = memory.liveness, memory.plan.placement
        found = (
            verify_placement(memory.plan.problem, placed.offsets, placed.pool_bytes),
            verify_sharing(memory.program, live.buffer, live.offset_bytes, memory.addresses, live.size_bytes),
        )
        if any(found):
            return Outcome("failed", tuple(finding_notes(found)))
        counted = {"buffers": f"{len(live.owner):,}", "tensors": f"{len(memory.program.tensors):,}"}
        return Outcome("passed", (Note("memory_sound", counted),))


def finding_notes(several: Iterable[Findings]) -> Iterator[Note]:
    """The first of what the verifier found, and how many there are besides."""
    listed: list[Finding] = []
    counts: dict[str, int] = {}
    for findings in several:
        listed += findings
        for code, count in findings.counts.items():
            counts[code] = counts.get(code, 0) + count
    told = listed[:TOLD]
    for finding in told:
        first = str(finding.shown().get("first", ""))
        yield Note("finding", {"sentence": finding.sentence, "cure": finding.hint or ""}, first)
    left = sum(counts.values()) - len(told)
    if left > 0:
        yield Note("more_findings", {"count": f"{left:,}", "codes": ", ".join(counts)})
