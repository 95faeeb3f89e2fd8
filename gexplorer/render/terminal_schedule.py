"""What the command line prints about a schedule: numbers, who waits longest, and the streams as bars of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, count_text, percent_text, plural_text, shortened, time_text
from gexplorer.views.memory import finding_rows
from gexplorer.views.reasons import reason_groups
from gexplorer.views.schedule import (
    LoadRow,
    ScheduleNumbers,
    core_rows,
    lanes,
    longest_waits,
    schedule_numbers,
    stream_rows,
)

if TYPE_CHECKING:
    from gexplorer.schedule.stage import Schedule

# Waits, findings and streams shown before the rest is only counted.
ROWS = 8
STREAMS = 16
# Characters of a kernel's name in the table of waits, and of a stream's bar.
NAME = 20
SLICES = 64

# A letter for each core type in a bar, and what it stands for.
_LETTERS = {"cube": "C", "vector": "v", "mte": "m", "scalar": "s", "aicpu": "a", "host": "H", "none": "-"}
# No kernel without a time.
NONE: Mapping[str, str] = MappingProxyType({})
_Column = tuple[str, Literal["left", "right"]]


def print_schedule(schedule: Schedule, unpriced: Mapping[str, str] = NONE) -> None:
    """Numbers with their meaning, how busy streams and cores are, the bars, and the longest waits.

    Args:
        schedule: the schedule.
        unpriced: its kernels whose time nobody can tell. Where those are all, no time is shown.
    """
    out = console()
    numbers = schedule_numbers(schedule)
    timed = not unpriced or len(unpriced) < numbers.kernels
    _print_numbers(out, numbers, timed=timed)
    for row in finding_rows(schedule.findings)[:ROWS]:
        out.print(Padding(f"[red]{row['code']}:[/red] {escape(str(row['reason']))}", (0, 0, 0, 2)))
    if not numbers.kernels or not timed:
        return
    _print_bars(out, schedule)
    _print_loads(out, [*stream_rows(schedule)[:STREAMS], *core_rows(schedule)])
    _print_waits(out, schedule)


def print_unpriced(unpriced: Mapping[str, str], kernels: int, cure: str) -> None:
    """The kernels that nobody can tell the time of, by reason; nothing where there are none.

    Args:
        unpriced: the kernels with their reasons.
        kernels: how many there are in all.
        cure: what would make their sizes known; "" where that is not to be had.
    """
    if not unpriced:
        return
    out = console()
    if len(unpriced) < kernels:
        count = plural_text(len(unpriced), "kernel")
        out.print(f"\n[yellow]{count} counted as 0 µs[/yellow]; the times are lower bounds")
    else:
        out.print("\n[yellow]no kernel has a time[/yellow]")
    groups = reason_groups((node, reason, 1) for node, reason in unpriced.items())
    for group in groups[:ROWS]:
        first = escape(shortened(group.names[0], NAME))
        named = f", such as {first}" if group.kernels > 1 else f" ({first})"
        out.print(Padding(f"[dim]{count_text(group.kernels)} x {escape(group.reason)}{named}[/dim]", (0, 0, 0, 2)))
    _print_rest(out, len(groups) - ROWS)
    if cure:
        out.print(Padding(escape(cure), (0, 0, 0, 2)))


def schedule_lines(schedule: Schedule, unpriced: Mapping[str, str]) -> list[str]:
    """The schedule stage in the lines that ``gexplorer compile`` prints, with markup.

    Args:
        schedule: the schedule.
        unpriced: its kernels whose time nobody can tell, with the reason.
    """
    numbers = schedule_numbers(schedule)
    sound = "[green]verified[/green]" if numbers.verified else "[bold red]UNSOUND: streams race[/bold red]"
    where = f"{plural_text(numbers.kernels, 'kernel')} on {plural_text(numbers.streams, 'stream')}"
    if not unpriced:
        times = f"[bold]{_time(numbers.makespan_us)}[/bold], critical path {_time(numbers.critical_path_us)}"
        return [f"{where}: {times}; {sound}"]
    most, *_ = reason_groups((node, reason, 1) for node, reason in unpriced.items())
    of_all = f"{count_text(most.kernels)} x " if most.kernels < len(unpriced) else ""
    lines = [f"[yellow]no time of {plural_text(len(unpriced), 'kernel')}[/yellow]: {of_all}{escape(most.reason)}"]
    if len(unpriced) >= numbers.kernels:
        return [f"{where}; {sound}", *lines]
    times = f"[bold]{_time(numbers.makespan_us)}[/bold], critical path {_time(numbers.critical_path_us)}"
    return [f"{where}: at least {times}; {sound}", *lines]


def _print_numbers(out: Console, numbers: ScheduleNumbers, *, timed: bool) -> None:
    """One line a number: its name, its value, what it means; without times where no kernel has one."""
    events = plural_text(numbers.events, "event")
    price = numbers.critical_path_us - numbers.data_path_us
    shared = f"{_time(price)} of it for bytes that change hands" if price > 0 else "sharing bytes costs nothing of it"
    rows = [
        ("streams", count_text(numbers.streams), f"mode {numbers.mode}; {plural_text(numbers.kernels, 'kernel')}"),
        ("makespan", _time(numbers.makespan_us), f"one stream would take {_time(numbers.serial_us)}"),
        ("critical path", _time(numbers.critical_path_us), shared),
    ]
    if not timed:
        rows[1:] = [("makespan", "unknown", "no kernel has a time")]
    rows += [
        ("dependencies", count_text(numbers.edges), f"{count_text(numbers.reuse_edges)} because bytes change hands"),
        ("syncs", count_text(numbers.syncs), f"of {count_text(numbers.crossing_edges)} between streams, with {events}"),
        ("pool in use", bytes_text(numbers.live_peak_bytes), "at most, with kernels side by side"),
    ]
    table = _table(("", "left"), ("", "right"), header=False)
    table.add_column()
    for name, value, meaning in rows:
        table.add_row(f"[bold]{name}[/bold]" if name == "makespan" else name, value, f"[dim]{escape(meaning)}[/dim]")
    told = "[green]yes[/green]" if numbers.verified else "[bold red]NO[/bold red]"
    table.add_row("verified", told, "[dim]no two streams race on the same bytes[/dim]")
    out.print(table)


def _print_bars(out: Console, schedule: Schedule) -> None:
    drawn = lanes(schedule, SLICES)
    used = [core for core in _LETTERS if any(core in lane.cores for lane in drawn)]
    legend = ", ".join(f"{_LETTERS[core]} {core}" for core in used)
    each = _time(schedule.makespan_us / SLICES)
    out.print(f"\n[bold]Streams[/bold] over time, {each} a letter: {legend or 'no time passes'}")
    for lane in drawn[:STREAMS]:
        out.print(f"{lane.stream:>3} {''.join(_LETTERS[core] if core else '.' for core in lane.cores)}")
    _print_rest(out, len(drawn) - STREAMS)


def _print_loads(out: Console, rows: Sequence[LoadRow]) -> None:
    out.print()
    table = _table(
        ("", "left"), ("kernels", "right"), ("busy", "right"), ("of makespan", "right"), ("side by side", "right")
    )
    for row in rows:
        shared = _time(row.shared_us) if row.shared_us else ""
        table.add_row(row.name, count_text(row.kernels), _time(row.busy_us), percent_text(row.utilisation), shared)
    out.print(table)
    if any(row.shared_us for row in rows):
        out.print("[dim]side by side: kernels of one core type at once; real cores would slow them down[/dim]")


def _print_waits(out: Console, schedule: Schedule) -> None:
    rows = longest_waits(schedule, ROWS)
    if not rows:
        out.print("\nNo stream ever waits.")
        return
    out.print("\n[bold]The longest waits[/bold]")
    table = _table(
        ("idle", "right"), ("on", "right"), ("before", "left"), ("until the end of", "left"), ("for", "left")
    )
    for row in rows:
        names = (escape(shortened(row.kernel, NAME)), escape(shortened(row.waits_for, NAME)))
        why = "its bytes" if row.why == "reuse" else row.why
        table.add_row(_time(row.wait_us), str(row.stream), *names, why)
    out.print(table)
    _print_rest(out, int((schedule.timeline.wait_us > 0).sum()) - len(rows))


def _print_rest(out: Console, left: int) -> None:
    if left > 0:
        out.print(f"[dim]... {count_text(left)} more[/dim]")


def _time(time_us: float) -> str:
    return time_text(time_us / 1e6)


def _table(*columns: _Column, header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, show_header=header, header_style="bold", padding=(0, 2, 0, 0))
    for head, side in columns:
        table.add_column(head, justify=side, no_wrap=True, overflow="ellipsis")
    return table
