"""Draws small graphs as SVG: a card a node, its mark by colour, by outline and by sign.

Removed: red, dashed. Added: green, double. Changed: blue bar. Kept: grey. Colours come from the style sheet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from math import hypot
from xml.etree.ElementTree import Element

from gexplorer.render.graphviz import Layout, Sketch, placed
from gexplorer.render.html import h
from gexplorer.units import shortened
from gexplorer.views.region import Box, Picture

SIGNS = {"removed": "−", "added": "+", "changed": "~", "kept": ""}

_PADDING = 9.0
_LINE = 14.0
_TITLE_CHAR, _CHAR = 7.6, 6.4
_LONGEST, _SHORTEST = 30, 74.0
_DETAILS = 3
_MARGIN = 5.0
_ARROW = 7.0


def draw(pictures: Sequence[Picture]) -> list[Element]:
    """One ``<svg>`` a picture. Pictures without boxes are small and blank."""
    layouts = placed([_sketch(picture) for picture in pictures])
    return [_svg(picture, layout) for picture, layout in zip(pictures, layouts, strict=True)]


def card_lines(box: Box) -> list[str]:
    """The lines of a card under its title, short enough for it."""
    lines = [box.name, box.type] if box.kind != "more" else []
    details = list(box.details)
    if len(details) > _DETAILS:
        details = [*details[: _DETAILS - 1], f"… {len(details) - _DETAILS + 1} more"]
    return [shortened(line, _LONGEST) for line in (*lines, *details) if line]


def in_words(picture: Picture) -> str:
    """What a picture shows, for those who cannot see it."""
    said = [f"{box.title} {box.name} {'' if box.mark == 'kept' else box.mark}".strip() for box in picture.boxes]
    return "; ".join(said) or "nothing"


def _sketch(picture: Picture) -> Sketch:
    numbers = {box.key: number for number, box in enumerate(picture.boxes)}
    edges = dict.fromkeys((numbers[edge.source], numbers[edge.target]) for edge in picture.edges)
    return Sketch(tuple(_size(box) for box in picture.boxes), tuple(edges))


def _size(box: Box) -> tuple[float, float]:
    lines = card_lines(box)
    title = _columns(shortened(box.title, _LONGEST)) * _TITLE_CHAR + (14 if SIGNS[box.mark] else 0)
    width = max([title, *(_columns(line) * _CHAR for line in lines)]) + 2 * _PADDING
    return max(width, _SHORTEST), _LINE * (1 + len(lines)) + 10


def _columns(text: str) -> int:
    """Width in Latin letters: Chinese and other wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _svg(picture: Picture, layout: Layout) -> Element:
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    numbers = {box.key: number for number, box in enumerate(picture.boxes)}
    values: dict[tuple[int, int], list[str]] = {}
    for edge in picture.edges:
        label = f"{edge.value}: {edge.type}" if edge.type else edge.value
        values.setdefault((numbers[edge.source], numbers[edge.target]), []).append(label)
    return h(
        "svg",
        [_edge(points, "; ".join(said)) for points, said in zip(layout.curves, values.values(), strict=True)],
        [_card(box, *centre) for box, centre in zip(picture.boxes, layout.centres, strict=True)],
        class_="graph",
        width=_px(width),
        height=_px(height),
        viewBox=f"{_px(-_MARGIN)} {_px(-_MARGIN)} {_px(width)} {_px(height)}",
        role="img",
        aria_label=in_words(picture),
    )


def _edge(points: tuple[tuple[float, float], ...], values: str) -> Element:
    start, *rest = [f"{_px(x)},{_px(y)}" for x, y in points]
    return h(
        "g",
        h("title", values),
        h("path", d=f"M{start}C{' '.join(rest)}"),
        h("path", d=_arrow(points), class_="tip"),
        class_="edge",
    )


def _arrow(points: tuple[tuple[float, float], ...]) -> str:
    x, y = points[-1]
    # The last control point may lie on the end itself; then the one before gives the direction.
    from_x, from_y = next((p for p in reversed(points[:-1]) if hypot(x - p[0], y - p[1]) > 0.5), (x, y - 1))
    length = hypot(x - from_x, y - from_y)
    along_x, along_y = (x - from_x) / length * _ARROW, (y - from_y) / length * _ARROW
    left = f"{_px(x - along_x - along_y * 0.45)},{_px(y - along_y + along_x * 0.45)}"
    right = f"{_px(x - along_x + along_y * 0.45)},{_px(y - along_y - along_x * 0.45)}"
    return f"M{_px(x)},{_px(y)}L{left} {right}z"


def _card(box: Box, x: float, y: float) -> Element:
    width, height = _size(box)
    left, top = x - width / 2, y - height / 2
    radius = 4 if box.kind in ("node", "constant") else height / 2 if height < 40 else 16
    card = h(
        "g",
        h("title", _hover(box)),
        _outline(left, top, width, height, radius),
        class_=f"box {box.kind} {box.mark}",
    )
    if box.mark == "added":
        card.append(_outline(left + 3, top + 3, width - 6, height - 6, max(radius - 2, 1), class_="inner"))
    if box.mark == "changed":
        card.append(h("rect", x=_px(left), y=_px(top), width=5, height=_px(height), rx=2, class_="stripe"))
    line_y = top + 5 + _LINE * 0.78
    card.append(h("text", shortened(box.title, _LONGEST), x=_px(left + _PADDING), y=_px(line_y), class_="title"))
    if SIGNS[box.mark]:
        sign = h("text", SIGNS[box.mark], x=_px(left + width - _PADDING), y=_px(line_y), class_="sign")
        card.append(sign)
    for number, line in enumerate(card_lines(box), 1):
        card.append(h("text", line, x=_px(left + _PADDING), y=_px(line_y + number * _LINE)))
    return card


def _outline(x: float, y: float, width: float, height: float, radius: float, class_: str | None = None) -> Element:
    return h("rect", x=_px(x), y=_px(y), width=_px(width), height=_px(height), rx=_px(radius), class_=class_)


def _hover(box: Box) -> str:
    return "\n".join(line for line in (f"{box.title} {box.name}".strip(), box.type, *box.details) if line)


def _px(length: float) -> str:
    return f"{length:.1f}".rstrip("0").rstrip(".")
