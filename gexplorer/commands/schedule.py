"""The command about time: which kernel runs when, on which stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_targets, write_json


@click.command(
    context_settings=SETTINGS,
    epilog=examples(
        "schedule model.onnx", "schedule model.onnx --streams cube_vector", "schedule model.onnx --trace trace.json"
    ),
)
@compile_options
@click.option("--streams", metavar="MODE", help="single (default), dependency, cube_vector or streams:N.")
@click.option("--trace", type=click.Path(path_type=Path), help="Write a Chrome trace, to be opened in Perfetto.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the schedule as JSON.")
def schedule(streams: str | None, trace: Path | None, json_to: str | None, **common: Any) -> None:
    """Say when each kernel runs: streams, waits, critical path.

    Times are modelled.
    """
    require_targets(trace, json_to)
    compiled = compile_model(**common)
    if streams is not None:
        compiled = compiled.replace(streams=streams)
    unpriced = compiled.durations.unpriced
    if trace is not None:
        from gexplorer.schedule.chrome_trace import write_chrome_trace

        write_chrome_trace(compiled.schedule, trace)
        click.echo(f"{trace}: open it in Perfetto or chrome://tracing", err=True)
    if json_to is not None:
        from gexplorer.views.schedule import schedule_detail

        write_json({**schedule_detail(compiled.schedule), "unpriced": dict(unpriced)}, json_to)
        return
    from gexplorer.render.terminal_schedule import print_schedule, print_unpriced
    from gexplorer.views.binding import cure

    print_schedule(compiled.schedule, unpriced)
    print_unpriced(unpriced, len(compiled.schedule.assigned.order), cure(compiled.graph, unpriced.values()))
