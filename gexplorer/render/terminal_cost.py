"""What the command line prints about chips and about the cost model's errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from rich.console import Console
from rich.table import Table

from gexplorer.cost.holdout import mean_error
from gexplorer.cost.predict import Prediction
from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, plural_text, shortened, time_text
from gexplorer.views.validate_cost import NEAR, Shares, Validation

# Points that are shown when not all are wanted.
WORST = 6


def print_validation(found: Validation, *, every: bool = False) -> None:
    """Errors by family beside those of roofline plus launch, then the points that are furthest off, or all."""
    out = console()
    table = _table("family", "points", "mean error", "p90", "worst", "roofline + launch")
    families = [*found.families, *([found.together] if found.together is not None else [])]
    for f in families:
        errors = (_percent(f.mape), _percent(f.p90), _percent(f.worst), _percent(f.roofline_mape))
        table.add_row(escape(f.name), str(f.n), *errors)
    out.print(table)
    if found.unmodelled:
        names = sorted({point.op for point in found.unmodelled})
        out.print(f"[yellow]no model:[/yellow] {plural_text(len(found.unmodelled), 'point')} of {_listed(names)}")
    out.print()
    _print_points(out, found.predictions, every=every)
    if found.shares is not None:
        _print_shares(out, found.shares)
    if found.held_out:
        _print_held_out(out, found)
    if found.sensitivity:
        _print_sensitivity(out, found)
    out.print(
        "\n[dim]Error: predicted over measured, less one. Where it fails: docs/decisions/0006-cost-model.md[/dim]"
    )


def print_chips(rows: Sequence[Mapping[str, object]]) -> None:
    """The chips that are built in: one line of numbers each."""
    out = console()
    table = _table("chip", "cores", "GHz", "TFLOPS", "HBM", "GB/s", "L2", "L1", "UB", "path")
    for row in rows:
        number = cast("Mapping[str, float]", row)
        table.add_row(
            escape(str(row["name"])),
            f"{row['cube_cores']}+{row['vector_cores']}",
            f"{number['clock_hz'] / 1e9:.2f}",
            f"{number['fp16_flops_per_s'] / 1e12:.0f}",
            _whole(number["hbm_bytes"]),
            f"{number['hbm_bytes_per_s'] / 1e9:,.0f}",
            _whole(number["l2_bytes"]),
            _whole(number["l1_bytes"]),
            _whole(number["ub_bytes"]),
            str(row["cube_vector_path"]),
        )
    out.print(table)
    out.print("\ncores: cube + vector. TFLOPS: of fp16. path: where the two kinds of core hand")
    out.print("data over, in memory behind L2 (gm) or directly.")
    out.print("[bold]gexplorer chips NAME[/bold] shows every number with its source.")


def print_chip(row: Mapping[str, object]) -> None:
    """One chip: every number with its source."""
    out = console()
    out.print(f"[bold]{escape(str(row['name']))}[/bold]  {escape(str(row['summary']))}\n")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("key", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("source", overflow="fold")
    for key, leaf in cast("Mapping[str, Mapping[str, str]]", row["values"]).items():
        table.add_row(escape(key), escape(leaf["value"]), f"[dim]{escape(leaf['source'])}[/dim]")
    out.print(table)


def _print_points(out: Console, predictions: Sequence[Prediction], *, every: bool) -> None:
    shown = list(predictions) if every else sorted(predictions, key=lambda p: -abs(p.error))[:WORST]
    table = _table("operator", "shape", "tile", "measured", "model", "error", "bound by")
    for p in shown:
        shape = "x".join(map(str, p.point.shape))
        tile = "x".join(map(str, p.tile)) if p.tile else ""
        measured, model = (time_text(us / 1e6) for us in (p.point.time_us, p.predicted_us))
        bound = p.cost.bound[0]
        table.add_row(escape(shortened(p.point.op, 15)), shape, tile, measured, model, _signed(p.error), bound)
    if not every:
        out.print(f"[bold]Furthest off[/bold] [dim](--all shows all {len(predictions)})[/dim]")
    out.print(table)


def _print_shares(out: Console, shares: Shares) -> None:
    """How far the pipes' shares of the time are from the measured ones."""
    out.print(
        f"\nShares of time in which a pipe works: {shares.within} of {shares.n} within {100 * NEAR:.0f} points of the "
        f"measured ones; furthest off {escape(shares.worst)}, by {100 * shares.apart:.0f} points."
    )


def _print_held_out(out: Console, found: Validation) -> None:
    out.print(f"\n[bold]Each source left out of the fit[/bold]: mean error {_percent(mean_error(found.held_out))}")
    table = _table("source", "points", "mean error")
    for row in found.held_out:
        table.add_row(escape(shortened(row.source, 58)), str(len(row.errors)), _percent(row.mape))
    out.print(table)


def _print_sensitivity(out: Console, found: Validation) -> None:
    out.print("\n[bold]A constant changed by a fifth[/bold]: mean error of all points, largest change of any time")
    table = _table("constant", "value", "-20 %", "+20 %", "moves")
    for row in found.sensitivity:
        errors = (_percent(row.mape_less), _percent(row.mape_more), _percent(row.moved))
        table.add_row(escape(row.name), escape(row.value), *errors)
    out.print(table)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True, overflow="ellipsis", vertical="bottom")
    for title in others:
        table.add_column(title, justify="right", vertical="bottom", no_wrap=True)
    return table


def _whole(size_bytes: float) -> str:
    """A capacity without digits behind the point: ``192 MiB``."""
    number, _, unit = bytes_text(size_bytes).partition(" ")
    return f"{float(number):.0f} {unit}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", "−")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(escape(shortened(name, 30)) for name in names[:5])
    return shown + (", ..." if len(names) > 5 else "")
