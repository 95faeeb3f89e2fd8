"""What ``gexplorer why`` prints: near misses by rule and reason, then the blockers that cost most."""

from __future__ import annotations

from collections.abc import Sequence

from rich.padding import Padding
from rich.table import Table

from gexplorer.render.terminal import EXAMPLES, console, escape
from gexplorer.render.units import bytes_text, count_text
from gexplorer.views.why import Blocker, NearMiss

# Blockers shown.
BLOCKERS = 10


def print_why(misses: Sequence[NearMiss], blockers: Sequence[Blocker]) -> None:
    """Near misses grouped by rule and kind of reason, with examples and cure; then the costliest blockers."""
    out = console()
    if not misses:
        out.print("No near misses: no rule found its last operator and failed behind it.")
        return
    groups: dict[tuple[str, str], list[NearMiss]] = {}
    for miss in misses:
        groups.setdefault((miss.rule, miss.code), []).append(miss)
    rule = ""
    for (name, code), same in groups.items():
        if name != rule:
            rule = name
            out.print(f"[bold]{escape(name)}[/bold]")
        freed = sum({m.blocker or m.node: m.freed_bytes or 0 for m in same}.values())
        size = f", {bytes_text(freed)} to save" if freed and same[0].hint else ""
        out.print(f"  {code} x {count_text(len(same))}{size}")
        for miss in same[:EXAMPLES]:
            out.print(Padding(escape(miss.reason), (0, 0, 0, 4)))
        if len(same) > EXAMPLES:
            out.print(f"    [dim]... {count_text(len(same) - EXAMPLES)} more[/dim]")
        if same[0].hint:
            out.print(Padding(f"[green]cure:[/green] {escape(same[0].hint)}", (0, 0, 0, 4)))
    if blockers:
        out.print("\n[bold]What costs most[/bold]")
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
        table.add_column("would save", justify="right", no_wrap=True)
        table.add_column("blocker", overflow="fold")
        table.add_column("stands in the way of", overflow="fold")
        for blocker in blockers[:BLOCKERS]:
            label = f"{blocker.name} ({blocker.op})" if blocker.op else blocker.name
            table.add_row(bytes_text(blocker.freed_bytes), escape(label), escape(", ".join(blocker.rules)))
        out.print(table)
        if len(blockers) > BLOCKERS:
            out.print(f"[dim]... {count_text(len(blockers) - BLOCKERS)} more[/dim]")
