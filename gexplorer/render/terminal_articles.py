"""What the command line prints about the source articles' claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from rich.table import Table

from gexplorer.render.terminal import console, escape
from gexplorer.render.units import bytes_text, percent_text

_SHARES = ("fragmentation", "saved")


def print_articles(rows: Sequence[Mapping[str, object]]) -> None:
    """Each row: the title, the articles' figures and the computed ones one below the other, the note."""
    out = console()
    for row in rows:
        out.print(f"\n[bold]{row['row']}  {escape(str(row['title']))}[/bold]", highlight=False)
        table = Table.grid(padding=(0, 2))
        for source, label in (("article", "the articles"), ("computed", "computed")):
            lines = list(_lines(cast("Mapping[str, object]", row[source])))
            for number, (name, text) in enumerate(lines):
                style = "dim" if source == "article" else ""
                table.add_row(label if number == 0 else "", escape(name), escape(text), style=style)
        out.print(table)
        out.print(f"[dim]{escape(str(row['note']))}[/dim]", highlight=False)


def _lines(values: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    """Names and texts; a mapping inside is spread out, a list of mappings has one line each."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = cast("Mapping[str, object]", value)
            yield f"{before}{name}", _together(inner)
        elif isinstance(value, list):
            yield f"{before}{name}", ""
            for item in cast("list[object]", value):
                if isinstance(item, Mapping):
                    (_, first), *rest = cast("Mapping[str, object]", item).items()
                    yield f"  {first}", _together(dict(rest))
                else:
                    yield "", str(item)
        else:
            yield f"{before}{name}", _text(name, value)


def _together(values: Mapping[str, object]) -> str:
    shown = [f"{_label(name)} {_text(name, value)}" for name, value in values.items() if value not in ({}, None)]
    return ", ".join(shown)


def _label(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{key} {count}" for key, count in cast("Mapping[str, object]", value).items())
    if isinstance(value, int) and name.endswith("_bytes"):
        return bytes_text(value)
    if isinstance(value, float) and any(word in name for word in _SHARES):
        return percent_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
