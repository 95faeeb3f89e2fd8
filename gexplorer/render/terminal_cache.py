"""What the command line prints about the cache of compiled parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from gexplorer.cache.store import Store
from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, count_text, plural_text, shortened, time_text

if TYPE_CHECKING:
    from gexplorer.cache.compiled import Part

ROWS = 40


def print_cache(store: Store, rows: Sequence[Mapping[str, object]], gone: int) -> None:
    """The entries, the one used last first, and how much of the room they take."""
    out = console()
    total = sum(float(str(row["size_bytes"])) for row in rows)
    if gone:
        out.print(f"{plural_text(gone, 'file')} thrown away")
    out.print(f"{plural_text(len(rows), 'compiled part')}, {bytes_text(total)} of {bytes_text(store.max_bytes)}")
    out.print(f"[dim]{escape(str(store.folder))}[/dim]")
    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("key", no_wrap=True)
    table.add_column("model", no_wrap=True)
    table.add_column("chip", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("used", justify="right", no_wrap=True)
    for row in rows[:ROWS]:
        table.add_row(
            str(row["key"])[:12],
            "[red]damaged[/red]" if row["model"] is None else escape(shortened(str(row["model"]), 30)),
            escape(shortened(str(row["soc"] or ""), 16)),
            bytes_text(float(str(row["size_bytes"]))),
            f"{_age(float(str(row['age_seconds'])))} ago",
        )
    out.print()
    out.print(table)
    if len(rows) > ROWS:
        out.print(f"[dim]and {count_text(len(rows) - ROWS)} more (--json lists them)[/dim]")


def print_parts(parts: Sequence[Part], copies: Sequence[Path]) -> None:
    """Which parts were compiled, which were there already, and where they are."""
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("part", "", "key"):
        table.add_column(title, no_wrap=True)
    for title in ("nodes", "time"):
        table.add_column(title, justify="right", no_wrap=True)
    for part in parts:
        table.add_row(
            escape(shortened(part.name, 40)),
            "[green]found[/green]" if part.hit else "compiled",
            part.key[:12],
            count_text(part.nodes),
            time_text(part.seconds),
        )
    out.print(table)
    for path in copies:
        out.print(escape(str(path)), soft_wrap=True)


def _age(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    for unit, size in (("min", 60.0), ("h", 3600.0)):
        if seconds < 60 * size or (unit == "h" and seconds < 48 * size):
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"
