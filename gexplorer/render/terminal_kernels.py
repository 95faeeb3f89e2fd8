"""What the command line prints about kernels: a table of those that differ, and all about one of them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.cost.graph import GraphCost
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.landscape import Landscape
from gexplorer.kernels.stage import FALLEN, Kernels
from gexplorer.kernels.text import to_text
from gexplorer.render.terminal import console, escape
from gexplorer.render.terminal_program import print_program
from gexplorer.units import bytes_text, count_text, percent_text, plural_text, shortened, time_text
from gexplorer.views.kernels import (
    FallbackRow,
    HeatMap,
    KernelRow,
    ProgramRow,
    fallback_rows,
    fallbacks_line,
    heat_map,
    in_place,
    kernel_rows,
    kernels_summary,
    operators_of,
)
from gexplorer.views.memory import UnsizedRow
from gexplorer.views.reasons import reason_groups

# What the heads of the columns mean.
_MEANINGS = (
    "A line is a design: kernels of the same operator, types, shapes and attributes; count: how many. buffers: how full"
    " the fullest of a core is; tried: tiles evaluated; each: modelled time of one kernel; bound by: as gexplorer cost"
    " explains. --node NODE shows one kernel whole."
)
# Kernels and operators that are shown before the rest is only counted.
MOST = 40
# Reasons in the lines of `compile`, and operators that have one.
REASONS = 2
OPERATORS = 4
# Letters of a node's name.
NAME = 40
# Size of a heat map.
ROWS, COLUMNS = 16, 60
# A character for how much slower than the best a cell's best tile is, up to that; and for the buffers.
_SHADES = ((1.02, "█"), (1.1, "▓"), (1.5, "▒"), (3.0, "░"), (float("inf"), "·"))
_LETTERS = {"l0a": "a", "l0b": "b", "l0c": "c", "l1": "1", "ub": "u"}


def print_kernels(kernels: Kernels, cost: GraphCost, unsized: Sequence[UnsizedRow] = (), cure: str = "") -> None:
    """A line for each design, what falls back and where, those without a program by reason, what the search took.

    Args:
        kernels: the kernels stage.
        cost: what the kernels cost.
        unsized: tensors without a size, by what is the cause.
        cure: what would make sizes known that are not; "" where that is not to be had.
    """
    out = console()
    rows, numbers = kernel_rows(kernels, cost), kernels_summary(kernels)
    out.print(f"[bold]{escape(kernels.chip.name)}[/bold], tiles: {kernels.mode}")
    out.print(
        f"  {plural_text(len(kernels), 'kernel')} of {plural_text(len(rows), 'design')}: "
        f"{count_text(kernels.generated)} have a tile program, {numbers['lacking']} lack one,"
        f" {count_text(in_place(kernels))} need none"
    )
    out.print(f"  {fallbacks_line(kernels)}")
    seconds = sum(kernels.seconds.values())
    out.print(f"  {plural_text(kernels.evaluations, 'tile')} evaluated in {time_text(seconds)}")
    made = [row for row in rows if row.programs]
    if made:
        out.print()
        out.print(_table(made[:MOST]))
    if len(made) > MOST:
        out.print(f"[dim]{plural_text(len(made) - MOST, 'more design')}; --json lists them[/dim]")
    if made:
        out.print(f"[dim]{_MEANINGS}[/dim]")
    _print_fallbacks(out, fallback_rows(kernels.fallbacks))
    _print_missing(out, [row for row in rows if row.missing and row.missing not in FALLEN])
    _print_causes(out, unsized)
    if cure and any(row.total_us is None for row in rows):
        out.print(Padding(escape(cure), (0, 0, 0, 2)))


def print_kernel(kernels: Kernels, node: str, *, flags: bool = False) -> None:
    """All about the kernel of one node.

    Args:
        kernels: the kernels stage.
        node: the node.
        flags: whether the program is shown with the flags between its pipes.
    """
    out = console()
    kernel = kernels[node]
    others = f", and {plural_text(kernel.count - 1, 'other')} like it" if kernel.count > 1 else ""
    out.print(f"[bold]{escape(node)}[/bold] ({escape(kernel.op)}) on {escape(kernels.chip.name)}{others}")
    if kernel.missing is not None:
        reason = f"{kernel.missing.operator}: {kernel.missing.reason}"
        out.print(Padding(f"[yellow]no tile program:[/yellow] {escape(reason)}", (0, 0, 0, 2)))
    _print_operators(out, operators_of(kernels, kernel, node))
    programs = kernels.programs_of(node)
    for number, program in enumerate(programs, 1):
        if len(programs) > 1:
            out.print(f"\n[bold]program {number} of {len(programs)}[/bold]")
        _print_program(out, program, flags=flags)


def kernels_lines(kernels: Kernels) -> list[str]:
    """The kernels stage in the lines that ``gexplorer compile`` prints, with markup."""
    numbers = kernels_summary(kernels)
    designs = plural_text(len(kernels.distinct), "design")
    lines = [f"{plural_text(len(kernels), 'kernel')} of {designs}; tiles: {kernels.mode}"]
    if kernels.fallbacks:
        lines.append(f"[yellow]{fallbacks_line(kernels)}[/yellow]")
    if kernels.lacking:
        ops = ", ".join(dict.fromkeys(kernel.op for kernel in kernels.lacking))
        lacking = plural_text(int(str(numbers["lacking"])), "kernel")
        lines.append(f"[yellow]no tile program[/yellow] for {lacking}: {escape(shortened(ops, 50))}")
        groups = reason_groups((k.op, k.missing.reason, k.count) for k in kernels.lacking if k.missing is not None)
        lines += [f"  {count_text(group.kernels)} x {escape(group.reason)}" for group in groups[:REASONS]]
        if len(groups) > REASONS:
            lines.append(f"  {plural_text(len(groups) - REASONS, 'other reason')} (gexplorer kernels lists them)")
    return lines


def _table(rows: Sequence[KernelRow]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("kernel", no_wrap=True, overflow="ellipsis")
    for title in ("count", "unit", "tile", "buffers", "tried", "each", "bound by"):
        table.add_column(title, justify="left" if title in ("unit", "tile", "bound by") else "right", no_wrap=True)
    for row in rows:
        first, *more = row.programs
        us = "" if row.total_us is None else time_text(row.total_us / 1e6)
        op = escape(shortened(row.op, 16))
        table.add_row(op, count_text(row.count), row.unit, *_program_cells(first), us, row.bound)
        for program in more:
            table.add_row("", "", "", *_program_cells(program), "", "")
    return table


def _program_cells(program: ProgramRow) -> tuple[str, str, str]:
    level, share = max(program.occupied.items(), key=lambda part: (part[1], part[0]))
    full = "100 %" if share == 1 else percent_text(share)
    return escape(shortened(program.tile, 16)), f"{level} {full}", count_text(program.evaluations) or ""


def _print_missing(out: Console, rows: Sequence[KernelRow]) -> None:
    if not rows:
        return
    out.print("\n[yellow]without a tile program:[/yellow]")
    groups = reason_groups((row.op, row.reason.removeprefix(f"{row.op}: "), row.count) for row in rows)
    for group in groups[:MOST]:
        text = f"{count_text(group.kernels)} x {_operators(group.names)}: {escape(group.reason)}"
        out.print(Padding(text, (0, 0, 0, 2)))
    if len(groups) > MOST:
        out.print(f"  [dim]{plural_text(len(groups) - MOST, 'other reason')} (--json lists them)[/dim]")


def _print_fallbacks(out: Console, rows: Sequence[FallbackRow]) -> None:
    """Those of one place and one reason together: AI CPU kernels have one reason, whatever they compute."""
    if not rows:
        return
    out.print("\n[yellow]falls back:[/yellow]")
    groups: dict[tuple[str, str], list[FallbackRow]] = {}
    for row in rows:
        engine = "host" if row.on_host else "AI CPU"
        groups.setdefault((f"on the {engine}{_inside(row)}", row.reason), []).append(row)
    for (where, reason), group in list(groups.items())[:MOST]:
        count = sum(len(row.nodes) for row in group)
        text = f"{count_text(count)} x {_operators([row.op for row in group])} {escape(where)}: {escape(reason)}"
        out.print(Padding(text, (0, 0, 0, 2)))
    if len(groups) > MOST:
        out.print(f"  [dim]{plural_text(len(groups) - MOST, 'other reason')} (--json lists them)[/dim]")


def _inside(row: FallbackRow) -> str:
    """Where a nested graph holds it: which node, and the nodes around; "" in the outermost graph."""
    if not row.within:
        return ""
    first, *others = row.nodes
    more = f" and {count_text(len(others))} more" if others else ""
    names = (f"{shortened(first, NAME)}{more}", *(shortened(name, NAME) for name in reversed(row.within)))
    return f" ({' in '.join(names)})"


def _print_causes(out: Console, rows: Sequence[UnsizedRow]) -> None:
    """What the tensors without a size owe it to: one cause may leave many kernels without a program or a time."""
    if not rows:
        return
    out.print("\n[yellow]sizes that are not known:[/yellow]")
    for row in rows[:OPERATORS]:
        out.print(Padding(f"{plural_text(row.tensors, 'tensor')}: {escape(row.reason)}", (0, 0, 0, 2)))
    if len(rows) > OPERATORS:
        out.print(f"  [dim]{plural_text(len(rows) - OPERATORS, 'other cause')} (gexplorer memory lists them)[/dim]")


def _operators(names: Sequence[str]) -> str:
    """Some names of operators, escaped; the others counted."""
    text = escape(", ".join(shortened(name, 24) for name in names[:OPERATORS]))
    left = len(names) - OPERATORS
    return f"{text} and {plural_text(left, 'other operator')}" if left > 0 else text


def _print_operators(out: Console, operators: Sequence[tuple[str, str, str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("operator", "unit", "node"):
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    for name, op, unit in operators[:MOST]:
        table.add_row(escape(op), unit, escape(name))
    out.print()
    out.print(table)
    if len(operators) > MOST:
        out.print(f"[dim]{plural_text(len(operators) - MOST, 'more operator')}[/dim]")


def _print_program(out: Console, program: Generated, *, flags: bool) -> None:
    out.print(f"\ncomputes  {escape(program.text)}")
    tiles = f"{plural_text(program.program.blocks, 'block')} for {plural_text(program.program.cores, 'core')}"
    out.print(f"tile      {escape(program.tile_text)}  ({tiles})")
    for number, part in enumerate(program.occupied):
        bar = "█" * round(24 * part.share)
        sizes = f"{bytes_text(part.used_bytes)} of {bytes_text(part.capacity_bytes)}"
        out.print(f"{'buffers' if number == 0 else '':<9} {part.level:<4}{bar:<24} {sizes}")
    for number, (path, moved) in enumerate(program.bytes_by_path.items()):
        out.print(f"{'moves' if number == 0 else '':<9} {path:<9} {count_text(moved):>15} bytes")
    if program.landscape is not None:
        _print_landscape(out, program.landscape)
    out.print()
    print_program(to_text(program.program, flags=flags))


def _print_landscape(out: Console, landscape: Landscape) -> None:
    seen = heat_map(landscape, ROWS, COLUMNS)
    best = None if landscape.best is None else landscape.space.tile(landscape.best)
    out.print(f"\ntiles     {count_text(int(landscape.feasible.sum()))} of {count_text(len(landscape.total_us))} fit")
    if best is not None:
        order = f"{best.m}x{best.n}x{best.k} {best.order}"
        us = f"{time_text(landscape.chosen_us / 1e6)}, the best ({order}) {time_text(landscape.best_us / 1e6)}"
        out.print(f"          the chosen one takes {us}")
    for line in heat_lines(seen):
        out.print(line)
    out.print("[dim]X chosen, B best; others within █ 2 %, ▓ 10 %, ▒ 50 %, ░ 3 times, · slower[/dim]")
    shown = dict.fromkeys(name for row in seen.blocked for name in row if name)
    if shown:
        letters = ", ".join(f"{_LETTERS[name]} {name}" for name in shown)
        out.print(f"[dim]no tile of the cell fits: {letters}[/dim]")


def heat_lines(seen: HeatMap) -> list[str]:
    """A heat map as lines of text: rows of a block downwards, columns to the right."""
    width = len(seen.n)
    ends = f"n = {seen.n[0]}"
    last = str(seen.n[-1])
    lines = [f"  rows m  {ends}{last:>{max(1, width - len(ends))}}"]
    for i, m in enumerate(seen.m):
        cells = "".join(_cell(seen, i, j) for j in range(width))
        lines.append(f"{m:>8}  {cells}")
    return lines


def _cell(seen: HeatMap, i: int, j: int) -> str:
    if seen.chosen == (i, j):
        return "X"
    if seen.best == (i, j):
        return "B"
    slower = seen.slower[i][j]
    if slower is None:
        return _LETTERS[seen.blocked[i][j]]
    return next(shade for most, shade in _SHADES if slower <= most)
