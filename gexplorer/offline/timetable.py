"""A schedule as plain data: the section ``schedule``."""

from __future__ import annotations

from gexplorer.schedule.stage import Schedule


def timetable(schedule: Schedule) -> dict[str, object]:
    """Kernels with stream and modelled times, and the events between streams; kernels are spoken of by number."""
    kernels, line, syncs = schedule.kernels, schedule.timeline, schedule.syncs
    return {
        "mode": str(schedule.mode),
        "streams": schedule.streams,
        "makespan_us": schedule.makespan_us,
        "kernels": {
            "name": list(kernels.names),
            "stream": schedule.assigned.stream.tolist(),
            "start_us": line.start_us.tolist(),
            "end_us": line.end_us.tolist(),
        },
        "launch_order": schedule.assigned.order.tolist(),
        "events": {
            "source": syncs.source.tolist(),
            "target": syncs.target.tolist(),
            "event": syncs.event.tolist(),
        },
    }
