"""Small charts that stand beside numbers: a course, a bar, a bar in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

from gexplorer.render.html import h


def sparkline(values: Sequence[int], label: str) -> Element:
    """The course of a number from step to step, on a scale from 0."""
    top, last = max(*values, 1), len(values) - 1
    # Between two that are the same nothing is drawn that would not be there anyway.
    corners = [i for i, v in enumerate(values) if i in (0, last) or not values[i - 1] == v == values[i + 1]]
    line = "M" + " ".join(f"{_short(100 * i / last)} {_short(25 - 23 * values[i] / top)}" for i in corners)
    return h(
        "svg",
        h("title", f"{label}: {', '.join(_runs(values))}"),
        h("path", d=f"{line} 100 26 0 26z", class_="under"),
        h("path", d=line),
        viewBox="0 0 100 26",
        preserveAspectRatio="none",
        class_="spark",
        role="img",
    )


def bar(part: float) -> Element:
    """How much of the most something is; the number itself stands beside it."""
    return h(
        "svg",
        h("rect", width=f"{_short(100 * part)}%") if part else None,
        class_="bar",
        aria_hidden="true",
    )


def parts_bar(parts: Sequence[tuple[str, int]], label: str) -> Element:
    """A whole in parts; each part's name is its class in the style sheet."""
    total = sum(size for _, size in parts) or 1
    rects: list[Element] = []
    left = 0.0
    for name, size in parts:
        width = 100 * size / total
        # A gap between the parts: they can be told apart without colour.
        rects.append(h("rect", x=f"{left:.3f}%", width=f"{max(width - 0.25, 0.15):.3f}%", height="100%", class_=name))
        left += width
    said = ", ".join(f"{name} {size:,}" for name, size in parts)
    return h("svg", h("title", f"{label}: {said}"), rects, role="img")


def _runs(values: Sequence[int]) -> Iterator[str]:
    """Numbers in words; one that comes several times in a row with how often."""
    for value, run in groupby(values):
        times = len(list(run))
        yield f"{value:,}" if times == 1 else f"{value:,} × {times}"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
