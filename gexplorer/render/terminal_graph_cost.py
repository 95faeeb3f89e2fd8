"""What the command line prints about the cost of a compiled graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.cost.graph import GraphCost, KernelRow
from gexplorer.cost.over_fusion import OverFusion
from gexplorer.cost.saving import Saving
from gexplorer.render.terminal import console, escape
from gexplorer.trace.records import Step
from gexplorer.units import (
    bytes_text,
    count_text,
    operations_text,
    percent_text,
    plural_text,
    shortened,
    time_text,
)
from gexplorer.views.reasons import reason_groups

# What the heads of the columns mean.
_MEANINGS = (
    "bound by: what takes longest: launch (starting it), hbm (memory), or a unit of a core: cube, vector, scalar, or"
    " one that copies (mte1, mte2, mte3, fixpipe). error: nine of ten published measurements are within it; none:"
    " there are none of its kind. share: of the latency."
)
# Kernels, groups and notes that are shown before the rest is only counted.
DEAREST = 12
MOST_NOTES = 4


def print_cost(
    cost: GraphCost,
    warnings: Sequence[OverFusion] = (),
    savings: Sequence[tuple[Step, Saving]] = (),
    *,
    eager: bool = False,
    cure: str = "",
) -> None:
    """The totals, the dearest kernels, families, what over-fuses, and what could not be costed.

    Args:
        cost: the cost of the graph.
        warnings: kernels that hold too much.
        savings: what fusion steps saved.
        eager: whether to set eager mode beside graph mode.
        cure: what would make sizes known that are not; "" where that is not to be had.
    """
    out = console()
    if cost.rows or not cost.uncosted:
        _print_totals(out, cost, eager=eager)
    else:
        out.print(f"[bold]{escape(cost.chip.name)}[/bold]: [yellow]no kernel has a cost[/yellow]")
    if cost.rows:
        _print_kernels(out, cost)
        _print_families(out, cost)
    if savings and cost.rows:
        _print_savings(out, savings)
    for warning in _one_each(warnings):
        _print_warning(out, warning, sum(other.op == warning.op for other in warnings))
    _print_notes(out, cost)
    if cost.uncosted and cure:
        out.print(Padding(escape(cure), (0, 0, 0, 2)))


def _print_totals(out: Console, cost: GraphCost, *, eager: bool) -> None:
    out.print(f"[bold]{escape(cost.chip.name)}[/bold], one stream, tiling {cost.tiling}")
    share = cost.launch_us / cost.latency_us if cost.latency_us else 0.0
    launched = len(cost.rows) + len(cost.uncosted)
    some = f"{count_text(len(cost.rows))} of " if cost.uncosted else ""
    works = plural_text(cost.distinct, "amount of work", "amounts of work")
    kernels = f"{some}{plural_text(launched, 'kernel')}, {works}"
    out.print(f"  latency  {_us(cost.latency_us)}  ({kernels}; launches {percent_text(share)})")
    over = cost.hbm_bytes / cost.compulsory_bytes if cost.compulsory_bytes else 1.0
    least = bytes_text(cost.compulsory_bytes)
    out.print(f"  HBM      {bytes_text(cost.hbm_bytes)}  ({over:.2f} times the compulsory {least})")
    moved = (cost.l2_bytes, cost.l1_bytes, cost.ub_bytes)
    out.print("  on chip  L2 {}, L1 {}, UB {}".format(*map(bytes_text, moved)))
    out.print(f"  compute  {operations_text(cost.flops)}")
    if eager:
        waits = "the device waits for the host" if cost.dispatch_us > cost.latency_us else "the host keeps ahead"
        each = _us(cost.chip.launch.dispatch_us)
        out.print(f"  eager    {_us(cost.eager_us)}  ({count_text(len(cost.rows))} dispatches of {each}: {waits})")
        out.print(f"  graph    {_us(cost.graph_us)}  (launched as a whole)")
    out.print()


def _print_kernels(out: Console, cost: GraphCost) -> None:
    """Equal kernels are one line, the dearest first."""
    groups: dict[object, list[KernelRow]] = {}
    for row in cost.rows:
        groups.setdefault((row.op, row.work, row.total_us), []).append(row)
    dearest = sorted(groups.values(), key=lambda rows: -len(rows) * rows[0].total_us)
    table = _table("kernel", "count", "each", "error", "all", "share", "bound by", "HBM")
    for rows in dearest[:DEAREST]:
        row, us = rows[0], len(rows) * rows[0].total_us
        table.add_row(
            escape(shortened(row.op, 20)),
            count_text(len(rows)),
            _us(row.total_us),
            _error(cost.p90(row.family)),
            _us(us),
            percent_text(us / cost.latency_us),
            row.bound,
            bytes_text(sum(r.hbm_bytes for r in rows)),
        )
    rest = len(dearest) - DEAREST
    if rest > 0:
        us = sum(row.total_us for rows in dearest[DEAREST:] for row in rows)
        table.add_row(f"[dim]{rest} more[/dim]", "", "", "", _us(us), percent_text(us / cost.latency_us), "", "")
    out.print(table)
    out.print()


def _print_families(out: Console, cost: GraphCost) -> None:
    table = _table("family", "kernels", "time", "launches", "HBM", "error")
    for total in cost.by_family():
        table.add_row(
            escape(total.name),
            count_text(total.kernels),
            _us(total.total_us),
            percent_text(total.launch_us / total.total_us),
            bytes_text(total.hbm_bytes),
            _error(cost.p90(total.name)),
        )
    out.print(table)
    out.print(f"[dim]{_MEANINGS}[/dim]")


def _print_savings(out: Console, savings: Sequence[tuple[Step, Saving]]) -> None:
    table = _table("fusion step", "rewrites", "time saved", "HBM saved", "launches saved")
    for step, saving in savings:
        table.add_row(
            escape(shortened(step.name, 30)),
            count_text(len(step.rewrites)),
            _signed(saving.us, _us),
            _signed(saving.hbm_bytes, bytes_text),
            count_text(saving.launches),
        )
    out.print()
    out.print(table)


def _print_warning(out: Console, warning: OverFusion, count: int) -> None:
    more = f" and {plural_text(count - 1, 'other')}" if count > 1 else ""
    split = " | ".join("+".join(shortened(name, 16) for name in part) for part in warning.split)
    out.print(f"\n[yellow]over-fused:[/yellow] {escape(warning.node)} ({escape(warning.op)}){more}")
    need, capacity = bytes_text(warning.need_bytes), bytes_text(warning.capacity_bytes)
    wants = (
        "a product and the panel handed to it want" if warning.buffer == "l1" else "two products want accumulators of"
    )
    out.print(f"  {warning.buffer.upper()} overflows: {wants} {need}, there are {capacity}")
    if warning.spilled_bytes:
        out.print(f"  {bytes_text(warning.spilled_bytes)} are written to memory and read again inside the kernel")
    times = f"{_us(warning.whole_us)} instead of {_us(warning.split_us)}"
    out.print(f"  {times} ({percent_text(warning.slower)} slower than its best split)")
    out.print(f"  cure: {escape(split)}")


def _print_notes(out: Console, cost: GraphCost) -> None:
    notes: dict[str, list[str]] = {}
    for row in cost.rows:
        if row.note and row.op not in notes.setdefault(row.note, []):
            notes[row.note].append(row.op)
    for note, ops in list(notes.items())[:MOST_NOTES]:
        out.print(f"\n[dim]{escape(', '.join(ops[:MOST_NOTES]))}: {escape(note)}[/dim]")
    if not cost.uncosted:
        return
    groups = reason_groups((f"{row.node} ({row.op})", row.reason, 1) for row in cost.uncosted)
    out.print(f"\n[yellow]not costed:[/yellow] {plural_text(len(cost.uncosted), 'kernel')}, in no total")
    for group in groups[:MOST_NOTES]:
        first = escape(shortened(group.names[0], 40))
        more = f" and {count_text(group.kernels - 1)} more" if group.kernels > 1 else ""
        out.print(Padding(f"{first}{more}: {escape(group.reason)}", (0, 0, 0, 2)))
    if len(groups) > MOST_NOTES:
        out.print(f"  [dim]{plural_text(len(groups) - MOST_NOTES, 'other reason')} (--json lists them)[/dim]")


def _one_each(warnings: Sequence[OverFusion]) -> list[OverFusion]:
    """The first warning of each operator."""
    return list({warning.op: warning for warning in reversed(warnings)}.values())[::-1]


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True, overflow="ellipsis", vertical="bottom")
    for title in others:
        table.add_column(title, justify="right", vertical="bottom", no_wrap=True)
    return table


def _us(us: float) -> str:
    return time_text(us / 1e6)


def _error(p90: float | None) -> str:
    return "none" if p90 is None else f"±{100 * p90:.0f} %"


def _signed(number: float, text: Callable[[float], str]) -> str:
    shown = text(abs(number))
    return f"−{shown}" if number < 0 else shown
