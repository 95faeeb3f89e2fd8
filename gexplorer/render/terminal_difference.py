"""What the command line prints about two compilations side by side."""

from __future__ import annotations

from rich.padding import Padding
from rich.table import Table

from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, change_text, count_text, plural_text, shortened, time_text
from gexplorer.views.difference import Difference, FigureChange

REASONS = 3
WIDTH = 78


def print_difference(found: Difference) -> None:
    """Options that differ, all figures with their change, and the rules that fuse another number of places."""
    out = console()
    first, second = (escape(shortened(name, 36)) for name in found.names)
    out.print(f"[bold]{first}[/bold] against [bold]{second}[/bold]" if first != second else f"[bold]{first}[/bold]")
    for name, (before, after) in found.options.items():
        out.print(Padding(f"{name}: {escape(_option(before))} -> {escape(_option(after))}", (0, 0, 0, 2)))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("figure", no_wrap=True)
    for title in ("first", "second", "change"):
        table.add_column(title, justify="right", no_wrap=True)
    for figure in found.figures:
        table.add_row(figure.label, _value(figure.before, figure), _value(figure.after, figure), _change(figure))
    out.print()
    out.print(table)
    out.print()
    if any(figure.key == "schedule.unpriced" and (figure.before or figure.after) for figure in found.figures):
        out.print(
            "[yellow]kernels without a time[/yellow] are in no total, and - stands where none has one; free sizes are"
            " bound with --shape NAME:1,3,224,224, and gexplorer cost MODEL says which\n"
        )
    if not found.rules:
        out.print("[dim]every pass and rule does the same number of rewrites[/dim]")
    for rule in found.rules:
        switched = f", switched {rule.switched}" if rule.switched else ""
        out.print(f"[bold]{rule.name}[/bold]: {rule.before:,} -> {plural_text(rule.after, 'rewrite')}{switched}")
        for reason, count in rule.reasons[:REASONS]:
            out.print(Padding(f"{count:,} x {escape(reason)}", (0, 0, 0, 2)))


def _value(value: float | None, figure: FigureChange) -> str:
    if value is None:
        return "-"
    if figure.unit == "bytes":
        return bytes_text(value)
    return time_text(value / 1e6) if figure.unit == "us" else count_text(round(value))


def _change(figure: FigureChange) -> str:
    if figure.before is None or figure.after is None:
        return ""
    if figure.before == figure.after:
        return "[dim]=[/dim]"
    text = change_text(figure.before, figure.after) or "new"
    better = figure.is_better
    return text if better is None else f"[{'green' if better else 'red'}]{text}[/]"


def _option(value: object) -> str:
    text = ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
    return shortened(text or "-", 60)
