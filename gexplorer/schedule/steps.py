"""The schedule stage as steps of the trace."""

from __future__ import annotations

from gexplorer.memory.steps import checked_steps
from gexplorer.schedule.stage import Schedule
from gexplorer.trace.records import Step


def schedule_steps(schedule: Schedule, first_index: int) -> list[Step]:
    """Six steps that leave the graph as it is; what the verifier found is what the last one rejects."""
    seconds, edges, syncs = schedule.seconds, schedule.dependencies, schedule.syncs
    parts = (
        (
            "dependencies",
            None,
            seconds["dependencies"],
            f"Says which kernel waits for which: {len(edges) - edges.reuse_edges} times for data,"
            f" {edges.reuse_edges} times for bytes that it takes over.",
        ),
        (
            "stream_assignment",
            "AssignLogicalStreams",
            seconds["streams"],
            f"Gives each kernel a stream: {schedule.streams} used, by the rule {schedule.mode}.",
        ),
        (
            "sync_insertion",
            "InsertSyncNodes",
            seconds["syncs"],
            f"Puts a Send and a Recv on {len(syncs)} of {syncs.crossing} edges between streams; others are implied.",
        ),
        (
            "event_numbering",
            "RefreshRealStream",
            seconds["events"],
            f"Numbers the events; {syncs.events} do, as one may serve again once it is received.",
        ),
        (
            "timeline",
            None,
            seconds["timeline"],
            "Runs every kernel as early as its stream and what it waits for allow.",
        ),
        (
            "schedule_check",
            None,
            seconds["check"],
            "Checks with the memory verifier that no two streams race on the same bytes.",
        ),
    )
    return checked_steps(schedule.memory.graph, "schedule", parts, schedule.findings, first_index)
