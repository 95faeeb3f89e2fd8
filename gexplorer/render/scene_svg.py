"""Draws a picture of the explorer's as SVG, by our own layout: for files, printing and places without a screen.

Removed: red, dashed outline. Added: green, double outline. Changed: blue bar. The same: grey. Each has its sign too, so
colour is never alone. Colours are attributes, not a style sheet: the picture looks the same wherever it is put, and no
content policy can take them away. Texts of the model are only ever text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from gexplorer.layout.boundary import KINDS
from gexplorer.layout.box import HEAD, INSET, LINE, PADDING_X, PADDING_Y, STUB, fitted, open_size, text_width
from gexplorer.layout.layered import lay_out
from gexplorer.layout.placement import Placement
from gexplorer.layout.union import AFTER, BEFORE, BOTH, CHANGED
from gexplorer.render.html import h, text

Texts = Callable[[int], tuple[str, str]]
"""Operator and type of a node, by its number."""

_FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_INK, _SOFT, _LINE, _PAPER, _ROOM = "#1c1e21", "#5b616a", "#8a9099", "#ffffff", "#f4f5f7"
_REMOVED, _ADDED, _CHANGED = "#b3261e", "#0b7a4b", "#1f5fbf"
TINTS = {"removed": "#fdecea", "added": "#e6f5ec", "changed": "#e8f0fc", "kept": _PAPER}
COLOURS = {"removed": _REMOVED, "added": _ADDED, "changed": _CHANGED, "kept": _LINE}
_SIGNS = {"removed": "−", "added": "+", "changed": "~", "kept": ""}
_ARROW = 6.0


@dataclass(frozen=True, slots=True)
class _Laid:
    """An open container: its row in the part, its picture, and the open containers in it by box."""

    container: Mapping[str, Any]
    template: Mapping[str, Any]
    placed: Placement
    sizes: Sequence[tuple[float, float]]
    edges: Sequence[int]
    inside: Mapping[int, _Laid]


def scene_svg(part: Mapping[str, Any], scene: int, texts: Texts, side: int = BOTH) -> Element:
    """One picture with its open containers.

    Args:
        part: the part ``scenes`` of a document.
        scene: which picture.
        texts: operator and type of a node.
        side: 1 what was there before, 2 what is there after, 3 both.
    """
    laid = _laid_out(part, int(part["roots"][scene]))
    width, height = laid.placed.width, laid.placed.height + 2 * STUB
    svg = h(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        width=_px(width),
        height=_px(height),
        viewBox=f"0 {_px(-STUB)} {_px(width)} {_px(height)}",
        role="img",
        font_family=_FONT,
        font_size="12",
        class_="graph",
    )
    svg.append(h("rect", x="0", y=_px(-STUB), width=_px(width), height=_px(height), fill=_PAPER))
    waiting = [(laid, 0.0, 0.0)]
    while waiting:
        one, left, top = waiting.pop()
        for box, inner in one.inside.items():
            w, tall = one.sizes[box]
            x, y = left + one.placed.x[box] - w / 2, top + one.placed.y[box] - tall / 2
            svg.append(_room(part, one, box, x, y, side))
            waiting.append((inner, x + max(INSET, (w - inner.placed.width) / 2), y + HEAD))
        svg.append(_lines(one, left, top, side))
        svg.append(_cards(part, one, left, top, texts, side))
    return svg


def scene_svg_text(part: Mapping[str, Any], scene: int, texts: Texts, side: int = BOTH) -> str:
    """The same as the text of an SVG file."""
    return text(scene_svg(part, scene, texts, side)) + "\n"


def _laid_out(part: Mapping[str, Any], root: int) -> _Laid:
    """Lays the open containers out, inner ones first."""
    containers = part["containers"]
    order, waiting = list[int](), [root]
    while waiting:
        one = waiting.pop()
        order.append(one)
        waiting += [-1 - m for m in containers[one]["members"].tolist() if m < 0 and containers[-1 - m]["open"]]
    done: dict[int, _Laid] = {}
    for one in reversed(order):
        container = containers[one]
        template = part["templates"][container["template"]]
        sizes = list(zip(template["w"].tolist(), template["h"].tolist(), strict=True))
        inside: dict[int, _Laid] = {}
        for box, member in enumerate(container["members"].tolist()):
            inner = done.get(-1 - member) if member < 0 else None
            if inner is not None:
                held = inner.container
                label = part["strings"][held["label"]]
                inside[box] = inner
                sizes[box] = open_size(label, held["count"], inner.placed.width, inner.placed.height)
        sized = np.array(sizes, dtype=np.float64).reshape(-1, 2)
        # What is a line there is one here: each edge is a value of its own.
        count = len(template["edge_from"])
        placed = lay_out(
            sized[:, 0],
            sized[:, 1],
            template["edge_from"],
            template["edge_to"],
            values=np.arange(count),
            seeds=template["x"].astype(np.float64),
        )
        done[one] = _Laid(container, template, placed, sizes, placed.drawn.tolist(), inside)
    return done[root]


def _lines(laid: _Laid, left: float, top: float, side: int) -> Element:
    placed = laid.placed
    group = h("g", class_="edges", fill="none")
    status = laid.container["edge_status"].tolist()
    for number, edge in enumerate(laid.edges):
        bits = status[edge]
        if not bits & side:
            continue
        mark = mark_of(bits)
        points = [
            (left + x, top + y) for x, y in placed.route[placed.route_at[number] : placed.route_at[number + 1]].tolist()
        ] or _straight(laid, edge, left, top)
        dashed = "4 3" if mark == "removed" else None
        stroke = COLOURS[mark]
        group.append(h("path", d=_curve(points), stroke=stroke, stroke_width="1.2", stroke_dasharray=dashed))
        x, y = points[-1]
        group.append(h("path", d=f"M{_px(x)},{_px(y)}l-3,-{_px(_ARROW)}h6z", fill=stroke))
    boxes = sorted(set(zip(laid.template["stub_box"].tolist(), laid.template["stub_side"].tolist(), strict=True)))
    for box, end in boxes:
        if laid.container["status"][box] & side:
            x, half = left + placed.x[box], laid.sizes[box][1] / 2
            y = top + placed.y[box] + (half if end else -half)
            along = STUB if end else -STUB
            # A tick: to the left what comes in, to the right what goes out, clear of the lines in the middle.
            x += laid.sizes[box][0] * (0.32 if end else -0.32)
            group.append(
                h("path", d=f"M{_px(x)},{_px(y)}v{_px(along)}", stroke=_LINE, stroke_width="2", stroke_dasharray="2 2")
            )
    return group


def _straight(laid: _Laid, edge: int, left: float, top: float) -> list[tuple[float, float]]:
    placed = laid.placed
    start, end = int(laid.template["edge_from"][edge]), int(laid.template["edge_to"][edge])
    return [
        (left + placed.x[start], top + placed.y[start] + laid.sizes[start][1] / 2),
        (left + placed.x[end], top + placed.y[end] - laid.sizes[end][1] / 2),
    ]


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Upright at both ends of each slanting piece."""
    x, y = points[0]
    parts = [f"M{_px(x)},{_px(y)}"]
    for to_x, to_y in points[1:]:
        if abs(to_x - x) < 0.5:
            parts.append(f"V{_px(to_y)}")
        else:
            middle = (y + to_y) / 2
            parts.append(f"C{_px(x)},{_px(middle)} {_px(to_x)},{_px(middle)} {_px(to_x)},{_px(to_y)}")
        x, y = to_x, to_y
    return "".join(parts)


def _room(part: Mapping[str, Any], laid: _Laid, box: int, x: float, y: float, side: int) -> Element:
    width, height = laid.sizes[box]
    container = laid.inside[box].container
    mark = mark_of(int(laid.container["status"][box]) & (side | CHANGED))
    label = part["strings"][container["label"]]
    group = h("g", class_=f"room {mark}")
    group.append(_outline(x, y, width, height, 8, fill=_ROOM, stroke=COLOURS[mark], dashed=mark == "removed"))
    badge = f"× {container['count']:,}" if container["count"] > 1 else ""
    room = width - 2 * PADDING_X - (text_width(badge, bold=True) + 8 if badge else 0)
    group.append(_text(fitted(label, room, bold=True), x + PADDING_X, y + 17, weight="600"))
    if badge:
        group.append(_text(badge, x + width - PADDING_X, y + 17, weight="700", anchor="end", fill=_CHANGED))
    return group


def _cards(part: Mapping[str, Any], laid: _Laid, left: float, top: float, texts: Texts, side: int) -> Element:
    group = h("g", class_="boxes")
    status = laid.container["status"].tolist()
    for box, member in enumerate(laid.container["members"].tolist()):
        if box in laid.inside or not status[box] & side:
            continue
        width, height = laid.sizes[box]
        x, y = left + laid.placed.x[box] - width / 2, top + laid.placed.y[box] - height / 2
        if member >= 0:
            title, lines, badge = *_lined(*texts(member)), ""
        else:
            held = part["containers"][-1 - member]
            if held["kind"] in KINDS:
                name = part["strings"][held["label"]]
                group.append(_end(x, y, width, height, name, held["kind"], mark_of(status[box])))
                continue
            count = held["count"]
            title, lines = part["strings"][held["label"]], [f"{held['nodes'] * count:,} nodes"]
            badge = f"× {count:,}" if count > 1 else ""
        group.append(_card(x, y, width, height, title, lines, badge, mark_of(status[box]), folded=member < 0))
    return group


def _lined(title: str, detail: str) -> tuple[str, list[str]]:
    return title, [detail] if detail else []


def _card(
    x: float,
    y: float,
    width: float,
    height: float,
    title: str,
    lines: Sequence[str],
    badge: str,
    mark: str,
    *,
    folded: bool,
) -> Element:
    card = h("g", h("title", "\n".join((title, *lines))), class_=f"box {mark}")
    if folded:  # a second edge behind it: there is more in it
        card.append(_outline(x + 4, y + 4, width, height, 6, fill=_ROOM, stroke=_LINE, dashed=False))
    card.append(_outline(x, y, width, height, 5, fill=TINTS[mark], stroke=COLOURS[mark], dashed=mark == "removed"))
    if mark == "added":
        card.append(_outline(x + 2.5, y + 2.5, width - 5, height - 5, 3, fill="none", stroke=_ADDED, dashed=False))
    if mark == "changed":
        card.append(h("rect", x=_px(x), y=_px(y), width="4", height=_px(height), rx="2", fill=_CHANGED))
    sign = badge or _SIGNS[mark]
    room = width - 2 * PADDING_X
    taken = text_width(sign, bold=True) + 6 if sign else 0
    line_y = y + PADDING_Y + LINE * 0.8
    card.append(_text(fitted(title, room - taken, bold=True), x + PADDING_X, line_y, weight="600"))
    if sign:
        fill = _CHANGED if badge else COLOURS[mark]
        card.append(_text(sign, x + width - PADDING_X, line_y, weight="700", anchor="end", fill=fill))
    for number, line in enumerate(lines, 1):
        card.append(_text(fitted(line, room), x + PADDING_X, line_y + number * LINE, fill=_SOFT))
    return card


def _end(x: float, y: float, width: float, height: float, name: str, kind: str, mark: str) -> Element:
    """An input or output of the graph: a box with round ends."""
    end = h("g", h("title", f"{name}\n{kind} of the graph"), class_=f"end {mark}")
    end.append(_outline(x, y, width, height, height / 2, fill=_ROOM, stroke=COLOURS[mark], dashed=mark == "removed"))
    left, line_y, room = x + 2 * PADDING_X, y + PADDING_Y + LINE * 0.8, width - 4 * PADDING_X
    end.append(_text(fitted(name, room, bold=True), left, line_y, weight="600"))
    end.append(_text(kind, left, line_y + LINE, fill=_SOFT))
    return end


def _text(
    words: str, x: float, y: float, *, fill: str = _INK, weight: str | None = None, anchor: str | None = None
) -> Element:
    return h("text", words, x=_px(x), y=_px(y), fill=fill, font_weight=weight, text_anchor=anchor)


def _outline(
    x: float, y: float, width: float, height: float, radius: float, *, fill: str, stroke: str, dashed: bool
) -> Element:
    dash = "5 3" if dashed else None
    return h(
        "rect",
        x=_px(x),
        y=_px(y),
        width=_px(width),
        height=_px(height),
        rx=_px(radius),
        fill=fill,
        stroke=stroke,
        stroke_dasharray=dash,
    )


def mark_of(status: int) -> str:
    """What became of a box or an edge: removed, added, changed or kept."""
    if status & CHANGED and status & BOTH == BOTH:
        return "changed"
    sides = status & BOTH
    return "removed" if sides == BEFORE else "added" if sides == AFTER else "kept"


def _px(length: float) -> str:
    return f"{length:.1f}".rstrip("0").rstrip(".")
