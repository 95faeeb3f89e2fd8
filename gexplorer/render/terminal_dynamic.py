"""What the command line prints about shapes that change: strategies side by side, gears, and what cannot be sized."""

from __future__ import annotations

from collections.abc import Sequence

from rich.padding import Padding
from rich.table import Table

from gexplorer.dynamic.at_sizes import AtSizes
from gexplorer.dynamic.free import FreeDims
from gexplorer.dynamic.gear_search import GearChoice
from gexplorer.dynamic.simulate import Timeline
from gexplorer.dynamic.stall import DYNAMIC_BUILD, FULL_BUILD, NEW_SHAPE, TILING_SOURCE, TILING_US
from gexplorer.dynamic.workload import Workload
from gexplorer.render.terminal import console, escape
from gexplorer.render.terminal_memory import fit_line
from gexplorer.units import bytes_text, count_text, percent_text, plural_text, shortened, time_text
from gexplorer.views.dynamic import DYNAMIC_MESSAGE, PERCENTILES, DataDependent, build_rows, strategy_rows

# What the rows and the heads of the columns mean.
_MEANINGS = (
    "recompile: a build for each shape; dynamic: one for all; gears: a few, to which requests are padded. hits:"
    " requests that waited for no build. p50 ...: latency from arrival to result, waiting included. run: time of all"
    " runs, modelled; padding, tiling: the share of it that a build for the very size would not need."
)
ROWS = 12
OPERATORS = 8


def print_workload(workload: Workload, free: FreeDims) -> None:
    """What is asked for."""
    out = console()
    distinct = workload.distinct
    span = workload.requests[-1].arrival_us - workload.requests[0].arrival_us
    asked = plural_text(len(workload.requests), "request")
    out.print(f"[bold]{asked}[/bold] of {plural_text(len(distinct), 'shape')} in {time_text(span / 1e6)}")
    out.print(f"[dim]{escape(workload.origin)}[/dim]")
    out.print(f"free dimensions: {escape(', '.join(free.names))}")


def print_strategies(timelines: Sequence[Timeline]) -> None:
    """One row a strategy; then what the words mean and where the stalls are from."""
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    for title in ("start-\nup", "hits", *(f"p{p}" for p in PERCENTILES), "run", "padding,\ntiling", "pool"):
        table.add_column(title, justify="right", no_wrap=True, vertical="bottom")
    rows = strategy_rows(timelines)
    for row in rows:
        table.add_row(
            row.strategy,
            time_text(row.start_up_us / 1e6),
            f"{row.hits}/{row.served}",
            *("-" if us is None else time_text(us / 1e6) for us in row.latency_us.values()),
            time_text(row.run_us / 1e6),
            percent_text(row.padding),
            bytes_text(row.pool_bytes),
        )
    out.print()
    out.print(table)
    for row in rows:
        if row.refused:
            asked = plural_text(row.refused, "request")
            out.print(f"[yellow]{row.strategy}: {asked} larger than every build, refused[/yellow]")
    out.print(f"\n[dim]{_MEANINGS}[/dim]")
    for stall in (FULL_BUILD, DYNAMIC_BUILD, NEW_SHAPE):
        out.print(f"[dim]{stall.name}: {time_text(stall.seconds)} ({stall.source})[/dim]")
    out.print(f"[dim]tiling at run time: {TILING_US:g} µs a kernel on the host ({TILING_SOURCE})[/dim]")


def print_builds(timeline: Timeline, free: FreeDims) -> None:
    """The builds that one strategy holds."""
    out = console()
    rows = build_rows(timeline, free)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(f"{timeline.strategy}: build", no_wrap=True)
    for title in ("requests", "one run", "pool"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows[:ROWS]:
        table.add_row(
            escape(shortened(str(row["build"]), 40)),
            count_text(int(str(row["requests"]))),
            time_text(float(str(row["run_us"])) / 1e6),
            bytes_text(float(str(row["pool_bytes"]))),
        )
    out.print()
    out.print(table)
    if len(rows) > ROWS:
        out.print(f"[dim]and {len(rows) - ROWS} more (--json lists them)[/dim]")


def print_too_large(found: Sequence[AtSizes], shapes: int, free: FreeDims) -> None:
    """The sizes that no chip of the kind can hold; nothing where there are none.

    Args:
        found: the model at those sizes, the largest last.
        shapes: how many were looked at.
        free: the free dimensions.
    """
    if not found:
        return
    out = console()
    worst = found[-1]
    count = f"{count_text(len(found))} of {plural_text(shapes, 'shape')}"
    out.print(f"\n[bold red]{count} cannot run[/bold red]; the largest, {escape(free.text(worst.sizes))}:")
    out.print(Padding(fit_line(worst.memory, worst.chip), (0, 0, 0, 2)))


def print_gears(choices: Sequence[GearChoice], free: FreeDims) -> None:
    """The best gears for one, two, ... of them."""
    out = console()
    out.print("\n[bold]best gears for this workload[/bold]")
    for choice in choices:
        found = "optimal" if choice.optimal else "found"
        line = f"{len(choice.gears):3}  runs {time_text(choice.run_us / 1e6)} ({found}):"
        out.print(f"{line} {escape('; '.join(free.text(sizes) for sizes in choice.gears))}")


def print_data_dependent(rows: Sequence[DataDependent]) -> None:
    """The operators that no build for given sizes can plan for."""
    if not rows:
        return
    out = console()
    out.print(f"\n[yellow]{DYNAMIC_MESSAGE}[/yellow]")
    for row in rows[:OPERATORS]:
        text = f"{escape(shortened(row.operator, 50))}: {plural_text(row.tensors, 'tensor')} {row.why}"
        out.print(Padding(text, (0, 0, 0, 2)))
    if len(rows) > OPERATORS:
        out.print(f"[dim]  and {len(rows) - OPERATORS} more operators[/dim]")
