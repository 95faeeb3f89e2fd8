"""What the command line prints about an offline model and a run of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.offline.session import Timings
from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, count_text, plural_text, shortened, time_text
from gexplorer.views.offline import is_cann_info

# Rows of each table before the rest is only counted.
ROWS = 10
NAME = 36


def print_info(info: Mapping[str, Any]) -> None:
    """Everything that the manifest says, in the order in which one asks."""
    out = console()
    if is_cann_info(info):
        _print_cann(out, info)
        return
    model = info["model"]
    out.print(f"[bold]{escape(shortened(model['name'], 60))}[/bold], offline model of {bytes_text(info['file_bytes'])}")
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model["opset"].items())
    _facts(
        out,
        [
            ("format", f"{info['version']}, by gexplorer {info['gexplorer']}; every byte checked" if info["checked"]
             else f"{info['version']}, by gexplorer {info['gexplorer']}"),
            ("chip", info["soc"]),
            ("opsets", opsets),
            ("sha256", model["sha256"] or "the model was in memory"),
        ],
    )  # fmt: skip
    _print_values(out, "inputs", info["inputs"])
    _print_values(out, "outputs", info["outputs"])
    _print_instructions(out, info["instructions"])
    _print_constants(out, info["constants"])
    _print_memory(out, info["memory"])
    times = info["schedule"]
    out.print(
        f"\n[bold]schedule[/bold]  {plural_text(times['streams'], 'stream')}, {_modelled(info)},"
        f" {plural_text(times['syncs'], 'sync')}"
    )
    _print_sections(out, info["sections"])


def print_run(outputs: Mapping[str, Any], timings: Timings, pool_bytes: int, left: Sequence[str]) -> None:
    """The results' shapes, and where the time went."""
    out = console()
    table = _table("result", "dtype", "shape", "least", "greatest")
    for name, value in outputs.items():
        array = value if isinstance(value, np.ndarray) else None
        kind = "none" if value is None else "sequence" if array is None else str(array.dtype)
        ends = ["", ""] if array is None or array.dtype.kind not in "fiub" or not array.size else [
            f"{array.min():.6g}", f"{array.max():.6g}"
        ]  # fmt: skip
        shape = "" if array is None else str(list(array.shape))
        table.add_row(escape(shortened(name, NAME)), kind, shape, *ends)
    out.print(table)
    for name in left:
        out.print(f"[yellow]{escape(name)} is no array and was not written[/yellow]")
    planning = f", {time_text(timings.planning_us / 1e6)} of it planning memory" if timings.planning_us else ""
    out.print(
        f"\n{time_text(timings.total_us / 1e6)} on this CPU{planning}; pool {bytes_text(pool_bytes)};"
        f" {plural_text(len(timings.instructions), 'instruction')} ran"
    )
    slowest = sorted(timings.instructions, key=lambda row: -row[2])[:ROWS]
    if slowest:
        table = _table("slowest", "operator", "time")
        table.columns[2].justify = "right"
        for name, op, microseconds in slowest:
            table.add_row(escape(shortened(name, NAME)), escape(shortened(op, 24)), time_text(microseconds / 1e6))
        out.print(table)


def _print_values(out: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = _table(title, "dtype")
    table.add_column("shape", overflow="fold")
    table.add_column(no_wrap=True)
    for row in rows[:ROWS]:
        shape = (
            "*" if row["shape"] is None else "[" + ", ".join("?" if d is None else str(d) for d in row["shape"]) + "]"
        )
        note = "may be left out" if row.get("optional") else "size by the run" if row.get("outside") else ""
        table.add_row(escape(shortened(row["name"], NAME)), str(row["dtype"] or "no tensor"), escape(shape), note)
    out.print()
    out.print(table)
    _more(out, rows)


def _print_instructions(out: Console, found: Mapping[str, Any]) -> None:
    out.print(
        f"\n[bold]instructions[/bold]  {count_text(found['count'])}: {count_text(found['run'])} run,"
        f" {count_text(found['spared'])} spared (views and the like);"
        f" {plural_text(found['kernels'], 'kernel model')}"
    )
    engines = ", ".join(f"{engine} {count_text(count)}" for engine, count in found["engines"].items())
    out.print(Padding(f"by engine: {escape(engines) or 'none'}", (0, 0, 0, 2)))
    table = _table("  operator", "count")
    table.columns[1].justify = "right"
    for op, count in list(found["operators"].items())[:ROWS]:
        table.add_row(f"  {escape(shortened(op, NAME))}", count_text(count))
    out.print(table)
    _more(out, found["operators"])


def _print_constants(out: Console, found: Mapping[str, Any]) -> None:
    out.print(
        f"\n[bold]constants[/bold]  {count_text(found['count'])}: {count_text(found['inline'])} inside"
        f" ({bytes_text(found['inline_bytes'])})"
        + (
            f", {count_text(found['references'])} in other files ({bytes_text(found['reference_bytes'])}):"
            f" {escape(shortened(', '.join(found['files']), 60))}"
            if found["references"]
            else ""
        )
    )


def _print_memory(out: Console, found: Mapping[str, Any]) -> None:
    if not found["is_fixed"]:
        out.print(
            f"\n[bold]memory[/bold]  {plural_text(found['pool_buffers'], 'buffer')} in the pool, placed by"
            f" {found['planner']} when the inputs give {escape(', '.join(found['symbols']))}"
        )
        return
    verdict = "proved optimal" if found["proved_optimal"] else f"bound {bytes_text(found['lower_bound_bytes'])}"
    out.print(
        f"\n[bold]memory[/bold]  pool {bytes_text(found['pool_bytes'])}, {verdict};"
        f" {plural_text(found['pool_buffers'], 'buffer')} by {found['planner']}"
    )
    kinds = ", ".join(f"{kind} {bytes_text(size)}" for kind, size in found["bytes"].items())
    out.print(Padding(f"without reuse, by kind: {kinds}", (0, 0, 0, 2)))
    if found["largest"]:
        table = _table("  largest", "byte offset", "size", "alive")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in found["largest"]:
            table.add_row(
                f"  {escape(shortened(row['name'], NAME))}",
                f"{row['offset_bytes']:,}",
                bytes_text(row["size_bytes"]),
                f"{row['first_point']} to {row['last_point']}",
            )
        out.print(table)


def _modelled(info: Mapping[str, Any]) -> str:
    """The modelled times; with free sizes they leave out kernels, or are not known at all."""
    times = info["schedule"]
    if not times["makespan_us"] and info["instructions"]["run"]:
        return "time not known: no kernel has one"
    least = "" if info["memory"]["is_fixed"] else "at least "
    makespan, critical = (time_text(times[key] / 1e6) for key in ("makespan_us", "critical_path_us"))
    return f"modelled {least}{makespan}, critical path {critical}"


def _print_sections(out: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = _table("section", "byte offset", "size")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(row["name"], f"{row['offset']:,}", bytes_text(row["bytes"]))
    out.print()
    out.print(table)


def _print_cann(out: Console, info: Mapping[str, Any]) -> None:
    name = escape(shortened(info["name"], 40)) or "unnamed"
    out.print(f"[bold]{name}[/bold], an offline model of CANN: it runs on an NPU only")
    _facts(
        out,
        [
            ("file", bytes_text(info["file_bytes"])),
            ("version", f"{info['version']:#x}"),
            ("kind", info["model_type"] + (", encrypted" if info["is_encrypted"] else "")),
            ("shapes", "dynamic" if info["is_dynamic"] else "static"),
            ("platform", info["platform"] or "not said"),
            ("payload", bytes_text(info["model_bytes"])),
        ],
    )
    for number, model in enumerate(info["models"]):
        table = _table(f"model {number}", "type", "byte offset", "size")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in model["partitions"]:
            table.add_row(row["name"] or "unknown", str(row["type"]), f"{row['offset']:,}", bytes_text(row["size"]))
        out.print()
        out.print(table)


def _facts(out: Console, rows: Sequence[tuple[str, str]]) -> None:
    for name, text in rows:
        out.print(f"  [dim]{name:<9}[/dim]{escape(shortened(str(text), 66))}")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    name, *others = columns
    table.add_column(name, overflow="fold")  # gives way where the figures beside it need the room
    for title in others:
        table.add_column(title, no_wrap=True)
    return table


def _more(out: Console, rows: Sequence[object] | Mapping[str, object]) -> None:
    if len(rows) > ROWS:
        out.print(f"  [dim]and {count_text(len(rows) - ROWS)} more (--json lists them)[/dim]")
