"""What the commands about memory print: planners side by side, a plan, who is alive at the peak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.errors import printable
from gexplorer.memory.plan import DEFINITIONS, Plan
from gexplorer.render.terminal import console, escape
from gexplorer.units import (
    bytes_text,
    change_text,
    count_text,
    percent_text,
    plural_text,
    ratio_text,
    shortened,
    time_text,
)
from gexplorer.views.memory import (
    PeakRow,
    PlanNumbers,
    SharingRow,
    finding_rows,
    memory_numbers,
    peak_rows,
    plan_numbers,
    sharing_rows,
    unsized_rows,
)
from gexplorer.views.memory_tensors import Occupant, TensorRow
from gexplorer.views.planners import Change, PlannerRow

if TYPE_CHECKING:
    from gexplorer.hardware.spec import Chip
    from gexplorer.memory.problem import Problem
    from gexplorer.memory.stage import Memory

# Rows of a table before the rest is only counted.
ROWS = 12
# Characters of a tensor's or an operator's name in a table; with points of six digits 80 columns hold them.
NAME, OPERATOR = 30, 18
# Of the one in a title.
TITLE = 34

_SHARING = {
    "view": "are views of others",
    "in_place": "are written over an input that nobody needs any more",
    "concat": "are written where a Concat wants them",
    "split": "are read where a Split has them",
}
_Column = tuple[str, Literal["left", "right"]]


def print_planners(rows: Sequence[PlannerRow], problem: Problem) -> None:
    """The planners side by side on the same buffers, each with what the verifier says of it; where there are any."""
    out = console()
    if not len(problem):
        out.print("No buffer is to be placed.", style="bold")
        return
    bound, unplanned = bytes_text(problem.bound_bytes), bytes_text(problem.unplanned_bytes)
    out.print(f"{plural_text(len(problem), 'buffer')}, bound {bound}, unplanned {unplanned}\n")
    table = _table(("planner", "left"), ("pool", "right"), ("x bound", "right"), ("saved", "right"))
    table.add_column("verdict")
    table.add_column("CPU", justify="right", no_wrap=True)
    for row in rows:
        if row.declined:
            continue
        pool, ratio = bytes_text(row.pool_bytes), ratio_text(row.ratio)
        saved, time = percent_text(row.reuse_rate), time_text(row.seconds)
        table.add_row(escape(row.name), pool, ratio, saved, _verdict(row), time)
    out.print(table)
    for row in rows:
        if not row.declined and not row.verified:
            _print_unsound(out, row, problem.bound_bytes)
    out.print()
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.declined:
            reasons.setdefault(row.declined.removeprefix(f"{row.name} "), []).append(row.name)
    _print_notes(out, [("declined", f"{', '.join(names)}: {reason}") for reason, names in reasons.items()])
    _print_notes(out, [(row.name, row.note) for row in rows if row.note])
    meanings = {"pool": "pool", "bound": "bound", "unplanned": "unplanned", "x bound": "ratio", "saved": "reuse_rate"}
    _print_notes(out, [(head, DEFINITIONS[name]) for head, name in {**meanings, "proved": "proved"}.items()])


def print_changes(wished: Iterable[str], changes: Sequence[Change]) -> None:
    """What became of pool and peak when something was wished otherwise."""
    out = console()
    for wish in wished:
        out.print(f"[bold]What if[/bold] {escape(wish)}?")
    table = _table(("", "left"), ("before", "right"), ("after", "right"), ("", "left"))
    for change in changes:
        delta = change.after - change.before
        moved = "unchanged" if not delta else f"{change_text(change.before, change.after)} ({delta:+,} bytes)"
        style = "dim" if not delta else "green" if delta < 0 else "yellow"
        told = f"[{style}]{moved}[/{style}]"
        table.add_row(change.label, bytes_text(change.before), bytes_text(change.after), told)
    out.print(table)
    out.print()


def print_memory(memory: Memory, rows: Sequence[TensorRow], cure: str = "") -> None:
    """Numbers with their meaning, what has no size, who is alive at the peak, what shares bytes, the largest.

    Args:
        memory: the memory stage.
        rows: its tensors.
        cure: what would give free sizes a value; "" where none is free.
    """
    out = console()
    numbers, unsized = memory_numbers(memory), unsized_rows(memory)
    print_unsized(memory, cure)
    if unsized and not numbers.buffers:
        return
    if unsized:
        out.print()
    _print_numbers(out, numbers)
    for row in finding_rows((*memory.plan.findings, *memory.findings))[:ROWS]:
        out.print(Padding(f"[red]{row['code']}:[/red] {escape(str(row['reason']))}", (0, 0, 0, 2)))
    out.print()
    _print_peak(out, memory, peak_rows(memory))
    _print_shared(out, sharing_rows(memory))
    _print_largest(out, rows)


def print_fit(memory: Memory, chip: Chip) -> None:
    """Whether it all lies in the HBM of one chip."""
    console().print(f"\n{fit_line(memory, chip)}")


def print_tensor(row: TensorRow, before: Sequence[Occupant], after: Sequence[Occupant]) -> None:
    """One tensor: its life, its place, and with whom it shares that."""
    out = console()
    out.print(f"[bold]{escape(row.name)}[/bold]")
    if row.size_bytes is None:
        out.print(f"{row.kind}, not planned: {escape(row.unsized)}")
    else:
        out.print(f"{row.kind}, {bytes_text(row.size_bytes)} ({row.size_bytes:,} bytes)")
    made = f"at {row.first_write} by {row.producer}" if row.first_write is not None else "there from the start"
    readers = ", ".join(row.readers[:ROWS]) or "nobody"
    more = f" and {count_text(len(row.readers) - ROWS)} more" if len(row.readers) > ROWS else ""
    last = f", last at {row.last_read}" if row.last_read is not None else ""
    facts = [("written", made), ("read by", f"{readers}{more}{last}")]
    if row.address is not None:
        facts.append(("address", f"{row.address:,}, in buffer {row.buffer}"))
    if row.why:
        facts.append(("shares", row.why))
    table = _table(("", "left"), header=False)
    table.add_column(overflow="fold")
    for label, text in facts:
        table.add_row(f"  {label}", escape(text))
    out.print(table)
    for title, others in (("Its bytes were before", before), ("Its bytes go on to", after)):
        if others:
            out.print(f"\n[bold]{title}[/bold]")
            table = _table(("buffer", "left"), ("alive", "right"), ("shared bytes", "right"))
            for other in others[:ROWS]:
                alive = f"{other.first} to {other.last}"
                table.add_row(_named(other.name, NAME), alive, bytes_text(other.shared_bytes))
            out.print(table)
            _print_rest(out, len(others) - ROWS)


def print_plan(plan: Plan, mode: str) -> None:
    """A plan of buffers that come from no model."""
    out = console()
    numbers = plan_numbers(plan, mode)
    _print_numbers(out, numbers)
    if numbers.lower_bound_bytes > plan.problem.bound_bytes:
        out.print(f"no pool under {count_text(numbers.lower_bound_bytes)} bytes is possible: the planner proved it")
    if plan.placement.note:
        out.print(f"[dim]{escape(plan.placement.note)}[/dim]")
    out.print(f"{plural_text(numbers.buffers, 'buffer')} placed in {time_text(plan.seconds)} of CPU")


def memory_lines(memory: Memory) -> list[str]:
    """The memory stage in the lines that ``gexplorer compile`` prints, with markup."""
    numbers, unsized = memory_numbers(memory), unsized_rows(memory)
    lines: list[str] = []
    if unsized:
        count = plural_text(len(memory.program.unsized), "tensor")
        lines.append(f"[yellow]{count} not planned:[/yellow] {escape(unsized[0].reason)}")
    if numbers.buffers or not unsized:
        rest = " of the rest" if unsized else ""
        lines += [
            f"[bold]pool{rest} {bytes_text(numbers.pool_bytes)}[/bold] ({_distance(numbers)}), {_soundness(numbers)};"
            f" unplanned {bytes_text(numbers.unplanned_bytes)}",
            f"besides the pool: {bytes_text(numbers.weight_bytes)} weights,"
            f" {bytes_text(numbers.persistent_bytes)} inputs, outputs and state",
        ]
    return lines


def fit_line(memory: Memory, chip: Chip) -> str:
    """Whether pool, weights, inputs, outputs and state lie in the HBM of one chip together, with markup."""
    all_bytes, hbm_bytes = memory.pool_bytes + memory.weight_bytes + memory.persistent_bytes, chip.capacity.hbm_bytes
    least = "at least " if memory.program.unsized else ""
    text = f"in all {least}{bytes_text(all_bytes)} of the {bytes_text(hbm_bytes)} of {escape(chip.name)}"
    over = all_bytes - hbm_bytes
    return f"[bold red]{text}: {bytes_text(over)} too much for one chip[/bold red]" if over > 0 else text


def _print_numbers(out: Console, numbers: PlanNumbers) -> None:
    """One line a number: its name, its value, what it means."""
    rows = [
        ("pool", _bytes(numbers.pool_bytes), f"{_distance(numbers)}; {numbers.mode}: {numbers.planner}"),
        ("bound", _bytes(numbers.lower_bound_bytes), DEFINITIONS["bound"]),
        ("unplanned", _bytes(numbers.unplanned_bytes), DEFINITIONS["unplanned"]),
        ("fragmentation", percent_text(numbers.fragmentation), DEFINITIONS["fragmentation"]),
    ]
    if numbers.internal_fragmentation is not None:
        rows.append(("internal", percent_text(numbers.internal_fragmentation), DEFINITIONS["internal"]))
    if numbers.safety_price_bytes is not None:
        rows.append(
            ("price", _bytes(numbers.safety_price_bytes), "of being safe: what the pool has more than balanced")
        )
    rows += [
        ("reuse_rate", percent_text(numbers.reuse_rate), DEFINITIONS["reuse_rate"]),
        ("reach_theory_rate", percent_text(numbers.reach_theory_rate), DEFINITIONS["reach_theory_rate"]),
        ("occupancy", percent_text(numbers.occupancy), DEFINITIONS["occupancy"]),
    ]
    if numbers.weight_bytes or numbers.persistent_bytes:
        rows += [
            ("weights", _bytes(numbers.weight_bytes), "besides the pool: weights and constants, never shared"),
            ("persistent", _bytes(numbers.persistent_bytes), "besides the pool: inputs, outputs and state"),
        ]
    table = _table(("", "left"), ("", "right"), header=False)
    table.add_column()
    for name, value, meaning in rows:
        table.add_row(f"[bold]{name}[/bold]" if name == "pool" else name, value, f"[dim]{escape(meaning)}[/dim]")
    table.add_row("verified", _soundness(numbers, short=True), "[dim]no two live buffers share a byte[/dim]")
    out.print(table)


def _bytes(size_bytes: int) -> str:
    return f"{size_bytes:,} B" if size_bytes < 10_000_000 else bytes_text(size_bytes)


def _distance(numbers: PlanNumbers) -> str:
    return "proved optimal" if numbers.proved_optimal else f"{ratio_text(numbers.ratio)} x bound"


def _soundness(numbers: PlanNumbers, *, short: bool = False) -> str:
    if numbers.verified:
        return "[green]yes[/green]" if short else "[green]verified[/green]"
    return "[bold red]NO[/bold red]" if short else "[bold red]UNSOUND: gexplorer memory says where[/bold red]"


def _print_peak(out: Console, memory: Memory, rows: Sequence[PeakRow]) -> None:
    if not rows:
        out.print("Nothing lives in the pool.")
        return
    bounds = memory.bounds
    where = f"{bounds.peak} ({_named(bounds.operator, TITLE)})"
    out.print(f"[bold]The peak[/bold]: {bytes_text(bounds.bound_bytes)} alive at {where}")
    table = _table(("bytes", "right"), ("alive", "right"), ("tensor", "left"), ("made by", "left"))
    for row in rows[:ROWS]:
        name = _named(row.tensor, NAME)
        alive = f"{row.first} to {row.last}"
        table.add_row(bytes_text(row.size_bytes), alive, name, _named(row.producer, OPERATOR))
    out.print(table)
    _print_rest(out, len(rows) - ROWS, f", {bytes_text(sum(row.size_bytes for row in rows[ROWS:]))}")


def _print_shared(out: Console, rows: Sequence[SharingRow]) -> None:
    if not rows:
        return
    out.print("\n[bold]Tensors without bytes of their own[/bold]")
    table = _table(("", "right"), ("", "left"), ("", "right"), header=False)
    for row in rows:
        table.add_row(count_text(row.tensors), _SHARING[row.sharing], bytes_text(row.size_bytes))
    out.print(table)


def _print_largest(out: Console, rows: Sequence[TensorRow]) -> None:
    own = [row for row in rows if row.size_bytes is not None and row.kind in ("intermediate", "workspace")]
    if not own:
        return
    out.print("\n[bold]The largest tensors of the pool[/bold]")
    table = _table(("bytes", "right"), ("address", "right"), ("alive", "right"), ("tensor", "left"))
    own.sort(key=lambda row: -(row.size_bytes or 0))
    for row in own[:ROWS]:
        alive = f"{row.first_write} to {row.first_write if row.last_read is None else row.last_read}"
        table.add_row(bytes_text(row.size_bytes or 0), f"{row.address:,}", alive, _named(row.name, NAME))
    out.print(table)
    _print_rest(out, len(own) - ROWS, " (--json has them all, --tensor NAME shows one)")


def print_unsized(memory: Memory, cure: str = "") -> None:
    """The tensors that have no size and so no place, by reason; nothing where there are none.

    Args:
        memory: the memory stage.
        cure: what would give free sizes a value; "" where none is free.
    """
    rows = unsized_rows(memory)
    if not rows:
        return
    out = console()
    out.print(f"[yellow]{plural_text(sum(row.tensors for row in rows), 'tensor')} not planned[/yellow]")
    for row in rows[:ROWS]:
        names = ", ".join(shortened(name, NAME) for name in row.examples)
        names += ", ..." if row.tensors > len(row.examples) else ""
        out.print(Padding(f"{count_text(row.tensors)} x {escape(row.reason)}", (0, 0, 0, 2)))
        out.print(Padding(f"[dim]{escape(names)}[/dim]", (0, 0, 0, 4)))
    _print_rest(out, len(rows) - ROWS)
    if cure:
        out.print(Padding(escape(cure), (0, 0, 0, 2)))


def _print_rest(out: Console, left: int, more: str = "") -> None:
    if left > 0:
        out.print(f"[dim]... {count_text(left)} more{more}[/dim]")


def _print_unsound(out: Console, row: PlannerRow, bound_bytes: int) -> None:
    out.print(f"\n[bold red]{escape(row.name)} is unsound[/bold red]")
    if row.pool_bytes < bound_bytes:
        short = count_text(bound_bytes - row.pool_bytes)
        out.print(Padding(f"its pool is {short} bytes below the bound: no such pool can work", (0, 0, 0, 2)))
    if row.example:
        out.print(Padding(escape(row.example), (0, 0, 0, 2)))


def _print_notes(out: Console, notes: Iterable[tuple[str, str]]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0), style="dim")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in notes:
        table.add_row(f"{escape(name)}:", escape(text))
    if table.row_count:
        out.print(table)


def _verdict(row: PlannerRow) -> str:
    if row.verified:
        return "[green]sound, proved optimal[/green]" if row.proved_optimal else "sound"
    counts = dict(row.findings)
    overlaps = counts.pop("overlap", 0)
    told = [plural_text(overlaps, "overlap")] if overlaps else [plural_text(sum(counts.values()), "defect")]
    return f"[bold red]UNSOUND: {', '.join(told)}[/bold red]"


def _named(name: str, length: int) -> str:
    """A name that is cut after its odd characters are spelled out: it would grow again otherwise."""
    return escape(shortened(printable(name), length))


def _table(*columns: _Column, header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, show_header=header, header_style="bold", padding=(0, 2, 0, 0))
    for head, side in columns:
        table.add_column(head, justify=side, no_wrap=True, overflow="ellipsis")
    return table
