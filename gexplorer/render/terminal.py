"""What the command line prints: tables that fit 80 columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import markup
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.errors import LONGEST_MESSAGE, printable
from gexplorer.trace.records import Reject, Rewrite, Step, Steps
from gexplorer.units import count_text, shortened, time_text

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation

# Sentences of one kind shown before the rest is only counted.
EXAMPLES = 3


def print_compilation(compiled: Compilation) -> None:
    """The result of ``gexplorer compile``: model, steps, and what each stage behind them came to."""
    from gexplorer.render.terminal_kernels import kernels_lines
    from gexplorer.render.terminal_memory import fit_line, memory_lines
    from gexplorer.render.terminal_schedule import schedule_lines
    from gexplorer.render.terminal_validation import print_validation

    out = console()
    source = compiled.source
    graph = compiled.graph
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(source.graph.opsets.items()))
    out.print(f"[bold]{escape(source.name)}[/bold] for {escape(compiled.options.soc)}")
    out.print(f"{count_text(source.nodes)} ONNX nodes, opset {escape(opsets)}")
    for name in graph.inputs:
        out.print(f"  input  {escape(name)}: {escape(str(graph.values[name].type))}")
    for value, name in zip(graph.outputs, graph.output_names, strict=True):
        out.print(f"  output {escape(name)}: {escape(str(getattr(graph.values.get(value), 'type', None)))}")
    if source.missing:
        files = escape(", ".join(source.missing))
        out.print(f"[yellow]weights not available:[/yellow] {files}; what needs their bytes is skipped")
    out.print()
    print_steps(compiled.steps)
    sections = (
        ("memory", [*memory_lines(compiled.memory), fit_line(compiled.memory, compiled.cost.chip)]),
        ("schedule", schedule_lines(compiled.schedule, compiled.durations.unpriced)),
        ("kernels", kernels_lines(compiled.kernels)),
    )
    for title, lines in sections:
        out.print(f"\n[bold]{title}[/bold]")
        for line in lines:
            out.print(Padding(line, (0, 0, 0, 2)))
    out.print()
    print_validation(compiled.validation)
    before, after = compiled.steps[0].nodes_before, compiled.steps[-1].nodes_after
    seconds = sum(step.seconds for step in compiled.steps)
    out.print(f"\n[bold]{count_text(before)} -> {count_text(after)} nodes[/bold] in {time_text(seconds)}")


def print_steps(steps: Steps, *, every: bool = False) -> None:
    """One line a step; those that found nothing to do are only counted, unless ``every`` step is wanted."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True, min_width=2)
    table.add_column("step", no_wrap=True, overflow="ellipsis", vertical="bottom")
    for title in ("nodes", "rewrites", "near\nmisses", "time"):
        table.add_column(title, justify="right", no_wrap=True, vertical="bottom")
    stage = ""
    quiet = 0
    for step in steps:
        nothing = step.stage != "parse" and not step.changed and not step.rejects
        quiet += nothing
        if nothing and not every:
            continue
        if step.stage != stage:
            stage = step.stage
            table.add_row("", f"[bold]{stage}[/bold]", "", "", "", "")
        nodes = count_text(step.nodes_after)
        if step.nodes_after != step.nodes_before:
            nodes = f"{count_text(step.nodes_before)} -> {nodes}"
        table.add_row(
            str(step.index),
            step.name,
            nodes,
            count_text(len(step.rewrites)) if step.rewrites else "",
            count_text(len(step.rejects)) if step.rejects else "",
            time_text(step.seconds),
            style="dim" if nothing else None,
        )
    out = console()
    out.print(table)
    if quiet and not every:
        out.print(f"[dim]{count_text(quiet)} more steps found nothing to do (gexplorer steps --all lists them)[/dim]")


def print_step(step: Step) -> None:
    """One step: what it does, what it did, and what it nearly did."""
    out = console()
    ge_name = f"  [dim]GE: {step.ge_name}[/dim]" if step.ge_name else ""
    out.print(f"[bold]{step.index} {step.name}[/bold] ({step.stage}){ge_name}")
    if step.summary:
        out.print(escape(step.summary))
    tried = f", {count_text(step.tried)} places tried" if step.tried else ""
    nodes = f"{count_text(step.nodes_before)} -> {count_text(step.nodes_after)} nodes"
    out.print(f"{nodes} in {time_text(step.seconds)}{tried}\n")
    if step.rewrites:
        out.print(f"[bold]{count_text(len(step.rewrites))} rewrites[/bold]")
        _print_grouped(out, step, step.rewrites)
    if step.rejects:
        out.print(f"[bold]{count_text(len(step.rejects))} near misses[/bold]")
        _print_grouped(out, step, step.rejects)
    if not step.rewrites and not step.rejects:
        out.print("[dim]It found nothing to do.[/dim]")


def print_rules(rows: Sequence[Mapping[str, object]]) -> None:
    """All passes and rules."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("order", justify="right")
    table.add_column("name", no_wrap=True)
    table.add_column("on", no_wrap=True)
    table.add_column("what it does (GE's name)")
    for row in rows:
        ge_name = f" [dim]({row['ge_name']})[/dim]" if row["ge_name"] else ""
        text = f"{escape(str(row['summary']))}{ge_name}"
        table.add_row(str(row["order"]), escape(str(row["name"])), "on" if row["default"] else "off", text)
    console().print(table)


def print_zoo(rows: Sequence[Mapping[str, object]]) -> None:
    """The models that are built in."""
    out = console()
    for row in rows:
        options = row["options"]
        assert isinstance(options, Mapping)
        shown = ", ".join(f"{key}={value}" for key, value in options.items())
        out.print(f"[bold]{escape(str(row['name']))}[/bold]")
        out.print(Padding(escape(str(row["summary"])), (0, 0, 0, 2)))
        out.print(Padding(f"[dim]{escape(shown)}[/dim]", (0, 0, 0, 4)))
    out.print("\nOptions follow a colon: [bold]gexplorer compile llama2-7b:layers=2,seq=128[/bold]")


def _print_grouped(out: Console, step: Step, records: Sequence[Rewrite] | Sequence[Reject]) -> None:
    counts = Counter(record.code for record in records)
    for code, count in counts.most_common():
        same = [record for record in records if record.code == code]
        out.print(f"  {code} x {count_text(count)}")
        for record in same[:EXAMPLES]:
            out.print(f"    {escape(step.reason(record))}")
        if count > EXAMPLES:
            out.print(f"    [dim]... {count_text(count - EXAMPLES)} more[/dim]")
        first = same[0]
        hint = step.hint(first) if isinstance(first, Reject) else None
        if hint:
            out.print(f"    [green]cure:[/green] {escape(hint)}")


def escape(text: str) -> str:
    """Text from a model: what would command rich or the terminal is spelled out, the middle of what is too long cut.

    Only names of thousands of characters make it so long; JSON and the explorer have them whole.
    """
    return markup.escape(shortened(printable(text), LONGEST_MESSAGE))


def console() -> Console:
    """Where everything is printed: as wide as the terminal, 80 columns where there is none."""
    width = None if sys.stdout.isatty() else 80
    return Console(width=width, highlight=False, soft_wrap=False)
