"""What the command line prints about the source articles' claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.render.terminal import console, escape
from gexplorer.units import bytes_text, percent_text, time_text

# Names of shares, which are shown in per cent.
_SHARES = ("fragmentation", "saved", "slower", "share")
# Endings of names that say a unit, and how many of it a second is.
_TIMES = {"us": 1e6, "ms": 1e3, "ns": 1e9}

_Fields = Mapping[str, object]


def print_articles(rows: Sequence[_Fields]) -> None:
    """Each row: the title, the articles' figures and the computed ones one below the other, the note."""
    out = console()
    for row in rows:
        out.print(f"\n[bold]{row['row']}  {escape(str(row['title']))}[/bold]", highlight=False)
        for source, label in (("article", "the articles"), ("computed", "computed")):
            style = "dim" if source == "article" else ""
            out.print(f"[underline]{label}[/underline]", style=style)
            _print_fields(out, cast("_Fields", row[source]), 2, style)
        out.print(f"[dim]{escape(str(row['note']))}[/dim]", highlight=False)


def _print_fields(out: Console, fields: _Fields, indent: int, style: str) -> None:
    """Single figures as a grid, then what has parts: records as a table, other parts one level further in."""
    alike = _records([{"": name, **cast("_Fields", v)} for name, v in fields.items() if isinstance(v, Mapping)])
    if len(alike) == len(fields) > 1 and not any(isinstance(v, Mapping | list) for r in alike for v in r.values()):
        out.print(Padding(_table(alike), (0, 0, 0, indent)), style=style)
        return
    parts = {name: value for name, value in fields.items() if _records(value) or _is_deep(value)}
    grid = Table.grid(padding=(0, 2))
    for name, value in fields.items():
        if name not in parts:
            grid.add_row(escape(_label(name)), escape(figure_text(name, value)), style=style)
    if grid.row_count:
        out.print(Padding(grid, (0, 0, 0, indent)))
    for name, value in parts.items():
        out.print(Padding(escape(_label(name)), (0, 0, 0, indent)), style=style)
        records = _records(value)
        if records:
            out.print(Padding(_table(records), (0, 0, 0, indent + 2)), style=style)
        else:
            _print_fields(out, cast("_Fields", value), indent + 2, style)


def _records(value: object) -> list[_Fields]:
    """The value as records of the same fields; empty where it is something else."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in cast("list[object]", value)):
        return []
    records = cast("list[_Fields]", value)
    return records if len({(*record,) for record in records}) == 1 else []


def _is_deep(value: object) -> bool:
    """True for a mapping that holds more than single figures."""
    return isinstance(value, Mapping) and any(
        isinstance(inner, Mapping | list) for inner in cast("_Fields", value).values()
    )


def _table(records: Sequence[_Fields]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for index, name in enumerate(records[0]):
        table.add_column(_label(name), justify="left" if index == 0 else "right", vertical="bottom")
    for record in records:
        table.add_row(*(escape(figure_text(name, value)) for name, value in record.items()))
    return table


def _label(name: str) -> str:
    """A field as a person names it: what the figure says itself is left out."""
    stem, _, unit = name.rpartition("_")
    if unit in _TIMES or unit in ("bytes", "gb"):
        name = stem or ("time" if unit in _TIMES else "size")
    return name.replace("_per_s", "/s").replace("_", " ")


def _with_unit(name: str, around: str) -> str:
    """The name of a part, with the unit of the whole where it has none of its own."""
    unit = name.rpartition("_")[2]
    return name if unit in _TIMES or unit == "bytes" else f"{name}_{around}"


def figure_text(name: str, value: object) -> str:
    """A figure as a person reads it; the end of its name says the unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        fields = cast("_Fields", value)
        return ", ".join(f"{_label(key)} {figure_text(_with_unit(key, name), inner)}" for key, inner in fields.items())
    if isinstance(value, list):
        return ", ".join(figure_text(name, item) for item in cast("list[object]", value))
    if value is None:
        return ""
    if not isinstance(value, int | float):
        return str(value)
    unit = name.rpartition("_")[2]
    if unit == "bytes":
        return bytes_text(value)
    if unit == "gb":
        return f"{value:,} GB"
    if unit in _TIMES:
        return time_text(value / _TIMES[unit])
    if isinstance(value, float) and any(word in name for word in _SHARES):
        return f"−{percent_text(-value)}" if value < 0 else percent_text(value)
    return f"{value:,}"
