"""The shapes of a memory picture, on a plane that stretches with the page: ``PLANE`` units across, pixels down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np

from gexplorer.render.html import h
from gexplorer.units import bytes_text
from gexplorer.views.memory_picture import Block, PoolPicture

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLANE = 1000
# A rectangle narrower or lower than this cannot be pointed at: such ones are one path, without words.
_NARROW, _LOW = 1.5, 2.0
# Cells of the raster that shows what is not drawn one by one; a cell is filled when half of it is taken.
_ACROSS, _DOWN = 250, 64
# Lines that tell kinds apart without colour, and how far apart they are.
LINES = {"vector": "across", "mte": "up", "workspace": "both", "aicpu": "both", "host": "both"}
_SPACING = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """From points and bytes to units across and pixels down.

    Attributes:
        points: length of the program.
        top_bytes: what the upper edge stands for.
        height: units down; for a large picture they are pixels.
        width: units across.
        digits: digits behind the point of coordinates in paths.
    """

    points: int
    top_bytes: int
    height: int
    width: int = PLANE
    digits: int = 1

    def x(self, point: float) -> float:
        """Units from the left."""
        return self.width * point / max(self.points, 1)

    def y(self, byte: float) -> float:
        """Units from the top."""
        return self.height * (1 - byte / max(self.top_bytes, 1))

    def box(self, lower: float, upper: float, low: float, high: float) -> tuple[float, float, float, float]:
        """Left, top, width and height of points ``[lower, upper)`` and bytes ``[low, high)``."""
        return self.x(lower), self.y(high), self.x(upper - lower), self.y(low) - self.y(high)


def plane(scale: Scale, *shapes: Element | Iterable[Element] | None) -> Element:
    """Shapes that stretch with the page."""
    box = f"0 0 {scale.width} {scale.height}"
    return h("svg", *shapes, viewBox=box, preserveAspectRatio="none", width="100%", height="100%")


def block_shapes(blocks: Sequence[Block], scale: Scale, *, words: bool = True) -> list[Element]:
    """The buffers by kind: those that can be pointed at with their words, the others in one path."""
    made: list[Element] = []
    for kind in dict.fromkeys(block.kind for block in blocks):
        own = [(b, scale.box(b.lower, b.upper, b.offset, b.offset + b.size_bytes)) for b in blocks if b.kind == kind]
        large = [(block, box) for block, box in own if words and _pointable(box)]
        plain = [box for _, box in own if not (words and _pointable(box)) and box[1] + box[3] > 0]
        made.append(
            h(
                "g",
                h("path", d="".join(_outline(box, scale.digits) for box in plain)) if plain else None,
                [h("g", h("title", said(block)), rectangle(box)) for block, box in large],
                hatch([box for _, box in large], LINES[kind]) if large and kind in LINES else None,
                class_=f"kind {kind}",
            )
        )
    return made


def said(block: Block) -> str:
    """A buffer in words."""
    place = f"{bytes_text(block.size_bytes)} at {bytes_text(block.offset)}"
    return f"{block.name}\n{place}, operators {block.lower} to {block.upper - 1} ({block.kind})"


def rectangle(box: tuple[float, float, float, float]) -> Element:
    """A rectangle of left, top, width and height."""
    x, y, width, height = map(short, box)
    return h("rect", x=x, y=y, width=width, height=height)


def hatch(boxes: Iterable[tuple[float, float, float, float]], lines: str) -> Element:
    """Lines inside of boxes: ``across``, ``up``, ``both`` or ``slanted``, on one grid for the whole picture."""
    parts: list[str] = []
    for box in boxes:
        if lines in ("across", "both"):
            parts += _across(box)
        if lines in ("up", "both"):
            parts += _up(box)
        if lines == "slanted":
            parts += _slanted(box)
    return h("path", d="".join(parts), class_="hatch")


def rest_shape(rest: NDArray[np.int64], scale: Scale) -> Element | None:
    """What is not drawn one by one, as the cells of a raster that it fills at least by half."""
    if not len(rest):
        return None
    lower, upper, low, size = rest.T
    across, down = _ACROSS / max(scale.points, 1), _DOWN / max(scale.top_bytes, 1)
    filled = _coverage(lower * across, upper * across, low * down, (low + size) * down) >= 0.5
    edges = np.diff(np.pad(filled.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, first = np.nonzero(edges > 0)
    last = np.nonzero(edges < 0)[1]
    width, height = scale.width / _ACROSS, scale.height / _DOWN
    boxes = [
        (left * width, scale.height - (row + 1) * height, (right - left) * width, height)
        for row, left, right in zip(rows.tolist(), first.tolist(), last.tolist(), strict=True)
    ]
    return h("path", d="".join(_outline(box, scale.digits) for box in boxes), class_="rest")


def steps_shape(at: NDArray[np.int64], values: NDArray[np.int64], scale: Scale, class_: str) -> Element:
    """The area under a course that keeps each value until the next point."""
    parts = [f"M0 {scale.height}"]
    height, seen, level = scale.height, -1.0, ""
    for point, value in zip(at.tolist(), values.tolist(), strict=True):
        x, y = scale.x(point), scale.y(value)
        if x - seen < 0.05 and point != at[-1]:  # finer than a tenth of a pixel: only the higher of them is drawn
            height = min(height, y)
            continue
        if short(y) != level:  # else the line goes on
            level = short(y)
            parts.append(f"H{short(x)}V{level}")
        height, seen = y, x
    parts.append(f"H{short(scale.x(int(at[-1])))}V{scale.height}z" if len(at) else "z")
    return h("path", d="".join(parts), class_=class_)


def clash_shapes(picture: PoolPicture, scale: Scale, *, words: bool = True) -> list[Element]:
    """Bytes that two live buffers both claim: framed and hatched."""
    boxes = [scale.box(clash.lower, clash.upper, clash.low, clash.high) for clash in picture.clashes]
    if not boxes:
        return []
    large = [
        h("g", h("title", f"{clash.first} and {clash.second}\nboth claim these bytes"), rectangle(box))
        for clash, box in zip(picture.clashes, boxes, strict=True)
        if words and _pointable(box)
    ]
    plain = "".join(_outline(box, scale.digits) for box in boxes if not (words and _pointable(box)))
    lines = hatch(boxes, "slanted") if words else None
    return [h("g", h("path", d=plain) if plain else None, large, lines, class_="clash")]


def short(number: float, digits: int = 1) -> str:
    """A number with at most so many digits behind the point."""
    text = f"{number:.{digits}f}"
    return text[:-2] if text.endswith(".0") else text


def _pointable(box: tuple[float, float, float, float]) -> bool:
    return box[2] >= _NARROW and box[3] >= _LOW


def _outline(box: tuple[float, float, float, float], digits: int = 1) -> str:
    """A rectangle as part of a path; never too thin to be seen at all."""
    x, y, width, height = box
    least = 0.2 if digits else 1.0
    across, down = short(max(width, least), digits), short(max(height, least), digits)
    return f"M{short(x, digits)} {short(y, digits)}h{across}v{down}h-{across}z"


def _grid(start: float, end: float, spacing: float) -> Iterator[float]:
    line = (int(start // spacing) + 1) * spacing
    while line < end:
        yield line
        line += spacing


def _across(box: tuple[float, float, float, float]) -> Iterator[str]:
    x, y, width, height = box
    for line in _grid(y, y + height, _SPACING):
        yield f"M{short(x)} {short(line)}h{short(width)}"


def _up(box: tuple[float, float, float, float]) -> Iterator[str]:
    x, y, width, height = box
    for line in _grid(x, x + width, _SPACING):
        yield f"M{short(line)} {short(y)}v{short(height)}"


def _slanted(box: tuple[float, float, float, float]) -> Iterator[str]:
    """Lines ``x + y = c``, cut off at the box."""
    x, y, width, height = box
    for line in _grid(x + y, x + width + y + height, _SPACING):
        left, right = max(x, line - y - height), min(x + width, line - y)
        yield f"M{short(left)} {short(line - left)}L{short(right)} {short(line - right)}"


def _coverage(
    left: NDArray[np.float64], right: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[down, across] share of each cell that rectangles (in cells) take, by a difference array over corners.

    A rectangle's edge inside a cell is shared between the cell and the next, which makes the sum over cells exact.
    """
    grid = np.zeros((_DOWN + 2, _ACROSS + 2))
    for column, sign_x in ((left, 1.0), (right, -1.0)):
        for row, sign_y in ((low, 1.0), (high, -1.0)):
            x, y = np.floor(column).astype(np.int64), np.floor(row).astype(np.int64)
            part_x, part_y = column - x, row - y
            for next_x in (0, 1):
                for next_y in (0, 1):
                    weight = (part_x if next_x else 1 - part_x) * (part_y if next_y else 1 - part_y)
                    at = np.minimum(y + next_y, _DOWN + 1), np.minimum(x + next_x, _ACROSS + 1)
                    np.add.at(grid, at, sign_x * sign_y * weight)
    return grid.cumsum(0).cumsum(1)[:_DOWN, :_ACROSS]
