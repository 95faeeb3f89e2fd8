"""What the command line prints about a model built under several sets of rules."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, change_text, count_text, plural_text, time_text
from gexplorer.views.ablation import Ablation, Build


def print_ablation(found: Ablation, cure: str = "") -> None:
    """The presets, then each rule left out, the one that is missed most first; changes are against the base.

    Args:
        found: the builds.
        cure: what would make sizes known that are not; "" where that is not to be had.
    """
    out = console()
    _print_table(out, "set", [found.base, *found.sets], found.base)
    if found.without:
        out.print()
        _print_table(out, f"{found.base.name} without", found.without, found.base)
    every = (found.base, *found.sets, *found.without)
    out.print(
        f"[dim]HBM, time: modelled; the change is against {escape(found.base.name)}; pool: memory of activations;"
        " compile: all steps, those taken over from another build too.[/dim]"
    )
    if any(row.uncosted for row in every):
        most = max(row.uncosted for row in every)
        out.print(f"[dim]Times and HBM leave out up to {plural_text(most, 'kernel')} whose cost nobody can tell.[/dim]")
    if not all(row.comparable for row in every):
        out.print("[yellow]Not the same ones everywhere, so that times cannot be compared.[/]")
    if cure and any(row.uncosted for row in every):
        out.print(escape(cure))


def _print_table(out: Console, title: str, rows: Iterable[Build], base: Build) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(title, overflow="fold")
    for name in ("kernels", "HBM", "time", "", "pool", "compile"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        priced = row.uncosted < row.kernels or not row.kernels
        table.add_row(
            escape(row.name),
            count_text(row.kernels),
            bytes_text(row.hbm_bytes) if priced else "-",
            time_text(row.latency_us / 1e6) if priced else "-",
            change_text(base.latency_us, row.latency_us) if priced and row is not base and row.comparable else "",
            bytes_text(row.pool_bytes),
            time_text(row.compile_ms / 1e3),
        )
    out.print(table)
