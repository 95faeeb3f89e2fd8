"""What the command line prints about validation: one line a check, how far outputs are off, and what a search found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.render.terminal import console, escape
from gexplorer.units import count_text, plural_text, shortened, time_text
from gexplorer.validation.record import Status
from gexplorer.views.validation import cure_of, worst_errors

if TYPE_CHECKING:
    from gexplorer.validation.bisection import Bisection
    from gexplorer.validation.record import Check, OutputError, Validation

# Outputs shown before the rest is only counted, and characters of a name.
ROWS = 8
NAME = 28

_MARKS: Mapping[Status, str] = {"passed": "[green]✓[/green]", "failed": "[bold red]✗[/bold red]", "skipped": "–"}
_WORDS: Mapping[Status, str] = {
    "passed": "[green]passed[/green]",
    "failed": "[bold red]FAILED[/bold red]",
    "skipped": "[yellow]skipped[/yellow]",
}


def print_validation(validation: Validation) -> None:
    """The validation section: a line a check with its detail under it, and the error of every output."""
    out = console()
    out.print(f"[bold]validation[/bold] {_WORDS[validation.status]} in {time_text(validation.seconds)}")
    if not validation.checks:
        out.print(Padding(f"[dim]{escape(validation.reason)}[/dim]", (0, 0, 0, 2)))
    cures: dict[str, None] = {}
    for check in validation.checks:
        _print_check(out, check)
        if validation.status != "passed" and check.status != "passed":
            cures.update(dict.fromkeys(filter(None, map(cure_of, check.notes))))
    for cure in cures:
        out.print(Padding(f"[green]cure:[/green] {escape(cure)}", (0, 0, 0, 2)))
    if any(error.relative for error in validation.errors):
        _print_errors(out, worst_errors(validation))


def print_bisection(found: Bisection, written: Path | None) -> None:
    """What a search for a wrong rewrite came to, and the smallest model that shows it."""
    out = console()
    runs = f"{plural_text(found.runs, 'graph')} run in {found.evaluator}"
    if found.is_clean:
        out.print(f"[green]✓[/green] {escape(found.sentence)}")
        out.print(f"[dim]{runs}[/dim]")
        return
    out.print(f"[bold red]✗[/bold red] {escape(found.sentence)}")
    if found.rewrite is None:
        out.print("  [dim]the step recorded no rewrite that does it: it changes the graph outside its log[/dim]")
    culprit = found.culprit
    if culprit is None:
        out.print("  no part of the model shows it by itself")
    else:
        before, after = culprit.nodes
        what = "only the whole model shows it" if culprit.is_whole else "the smallest part that shows it"
        nodes = f"{plural_text(before, 'node')} before, {count_text(after)} after"
        out.print(f"  {what}: {nodes}; {escape(culprit.result)} has {escape(culprit.deviation.fault)}")
        if written is not None:
            out.print(f"  {escape(str(written))}: both sides, as functions; it runs without inputs")
    out.print(f"[dim]{runs}[/dim]")


def _print_check(out: Console, check: Check) -> None:
    """The mark, the name, the time; then what the check says, one thing a line."""
    name = check.name.replace("_", " ")
    out.print(f"  {_MARKS[check.status]} {name} [dim]{time_text(check.seconds)}[/dim]")
    style = {"passed": "dim", "failed": "red", "skipped": "yellow"}[check.status]
    for note in check.notes:
        out.print(Padding(f"[{style}]{escape(note.sentence)}[/{style}]", (0, 0, 0, 4)))


def _print_errors(out: Console, errors: list[OutputError]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("output", no_wrap=True)
    for title in ("absolute", "relative", "cosine"):
        table.add_column(title, justify="right", no_wrap=True)
    for error in errors[:ROWS]:
        numbers = [f"{value:.2g}" for value in (error.absolute, error.relative, error.cosine)]
        table.add_row(escape(shortened(error.output, NAME)), *numbers, style="red" if error.fault else None)
    out.print(Padding(table, (0, 0, 0, 4)))
    if len(errors) > ROWS:
        out.print(f"    [dim]... {count_text(len(errors) - ROWS)} more[/dim]")
