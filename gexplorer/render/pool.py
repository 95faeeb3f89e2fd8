"""Draws a memory plan: buffers as rectangles, program order from left to right, address from bottom to top.

Under it stands the curve of bytes alive, on the same axis. What must stretch with the page lies on a plane
(``pool_shapes``); words and ticks stand outside of it, at shares of the width, and keep their size on any screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from gexplorer.render.html import h
from gexplorer.render.pool_shapes import (
    LINES,
    PLANE,
    Scale,
    block_shapes,
    clash_shapes,
    hatch,
    plane,
    rectangle,
    rest_shape,
    short,
    steps_shape,
)
from gexplorer.units import bytes_text, count_text, plural_text
from gexplorer.views.memory_picture import PoolPicture

POOL_HEIGHT = 320
LOAD_HEIGHT = 96
# What is left free above the highest buffer, for the words there.
_HEADROOM = 1.09
# Pixels that a name needs: a letter's width, a line's height. A name stands where the page shows it at full width.
_LETTER, _LINE = 7.2, 14
_FULL_WIDTH = 1060
_SHORTEST = 5
# Columns that can be pointed at, for the operator's name and load; beyond it they would be too narrow.
_MOST_COLUMNS = 500
_TICKS_DOWN, _TICKS_ACROSS = 5, 9
# Per cent of the width that the peak's mark has at least.
_THIN = 0.15

KIND_WORDS = {
    "cube": "written by cube",
    "vector": "by vector",
    "mte": "by data movement",
    "scalar": "by scalar",
    "aicpu": "by AI CPU",
    "host": "by the host",
    "none": "by control flow",
    "workspace": "scratch of one operator",
    "buffer": "buffer",
}


def pool_figure(picture: PoolPicture, operators: Sequence[str]) -> Element:
    """The large picture: the pool, and under it the bytes alive.

    Args:
        picture: the plan.
        operators: name of the operator at each point, for those who point at the curve.
    """
    top = round(picture.height_bytes * _HEADROOM)
    pool, load = (Scale(picture.points, top, height) for height in (POOL_HEIGHT, LOAD_HEIGHT))
    return h(
        "figure",
        _legend(picture),
        h(
            "div",
            _bytes_axis(pool, "address"),
            h(
                "svg",
                _byte_lines(pool),
                plane(
                    pool,
                    steps_shape(picture.at, picture.top_bytes, pool, "holes"),
                    rest_shape(picture.rest, pool),
                    block_shapes(picture.blocks, pool),
                    clash_shapes(picture, pool),
                ),
                list(_names(picture, pool)),
                _peak(picture, pool),
                list(_levels(picture, pool)),
                height=POOL_HEIGHT,
                role="img",
                aria_label=_said(picture),
            ),
            _bytes_axis(load, "alive"),
            h(
                "svg",
                _byte_lines(load),
                plane(
                    load, steps_shape(picture.at, picture.live_bytes, load, "live"), _columns(picture, operators, load)
                ),
                _peak(picture, load),
                _peak_word(picture),
                [line for line in _levels(picture, load) if line.tag != "text"],
                height=LOAD_HEIGHT,
                role="img",
                aria_label=f"Bytes alive over the program, at most {bytes_text(picture.bound_bytes)}",
            ),
            h("span", "operator", class_="corner"),
            _points_axis(picture),
            class_="plot",
        ),
        _left_out(picture),
        class_="pool card",
    )


def _legend(picture: PoolPicture) -> Element:
    samples = [
        h(
            "span",
            _sample(kind),
            f"{KIND_WORDS.get(kind, kind)} ",
            h("span", bytes_text(size), class_="soft"),
        )
        for kind, size in picture.kinds
    ]
    holes = h("span", _sample("holes"), "free, below a buffer that is alive")
    clash = h("span", _sample("clash"), h("b", "claimed twice", class_="bad")) if picture.clashes else None
    return h("p", samples, holes, clash, class_="legend")


def _sample(kind: str) -> Element:
    box = (0.0, 0.0, 22.0, 14.0)
    lines = "slanted" if kind == "clash" else LINES.get(kind)
    return h(
        "svg",
        h("g", rectangle(box), hatch([box], lines) if lines else None, class_=f"kind {kind}"),
        width=22,
        height=14,
        class_="swatch",
        aria_hidden="true",
    )


def _bytes_axis(scale: Scale, title: str) -> Element:
    return h(
        "svg",
        [
            h("text", _tick_text(byte), x="100%", y=short(scale.y(byte) + 4), class_="tick")
            for byte in _byte_ticks(scale)
        ],
        h("text", title, x=0, y=11, class_="axis"),
        height=scale.height,
        class_="bytes",
        aria_hidden="true",
    )


def _byte_ticks(scale: Scale) -> range:
    """Multiples of a power of two, so that they read as whole KiB or MiB."""
    most = _TICKS_DOWN if scale.height > LOAD_HEIGHT else 2
    step = 1
    while step * most < scale.top_bytes:
        step *= 2
    # The title stands in the corner; a tick must leave it room.
    return range(0, int(scale.top_bytes * (1 - 22 / scale.height)) + 1, step)


def _tick_text(byte: int) -> str:
    number, _, unit = bytes_text(byte).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def _byte_lines(scale: Scale) -> list[Element]:
    return [_line(scale.y(byte), "grid") for byte in _byte_ticks(scale)]


def _line(y: float, class_: str) -> Element:
    return h("line", x1=0, x2="100%", y1=short(y), y2=short(y), class_=class_)


def _levels(picture: PoolPicture, scale: Scale) -> Iterator[Element]:
    """Lines for pool and bound, with words; where they are one, one line."""
    pool, bound = picture.pool_bytes, picture.bound_bytes
    if pool == bound:
        yield _line(scale.y(pool), "level pool-line")
        yield _words(f"pool = bound {bytes_text(pool)}", scale.y(pool) - 5)
        return
    high, low = max(pool, bound), min(pool, bound)
    close = scale.y(low) - scale.y(high) < _LINE
    for byte, name in ((pool, "pool"), (bound, "bound")):
        yield _line(scale.y(byte), f"level {name}-line")
        if close and byte == low:
            continue
        other = f", {'bound' if name == 'pool' else 'pool'} {bytes_text(low)}" if close else ""
        yield _words(f"{name} {bytes_text(byte)}{other}", scale.y(byte) - 5)


def _words(text: str, y: float) -> Element:
    return h("text", text, x="100%", dx=-6, y=short(y), class_="word")


def _peak(picture: PoolPicture, scale: Scale) -> Element | None:
    if not picture.points:
        return None
    x, width = 100 * picture.peak / picture.points, max(100 / picture.points, _THIN)
    return h("rect", x=f"{x:.3f}%", y=0, width=f"{width:.3f}%", height=scale.height, class_="peak")


def _peak_word(picture: PoolPicture) -> Element:
    """The word beside the peak, on the side where there is room."""
    late = picture.peak > picture.points / 2
    x = 100 * (picture.peak + (not late)) / max(picture.points, 1)
    return h("text", "peak", x=f"{x:.3f}%", dx=-4 if late else 4, y=11, class_="word" if late else "word after")


def _names(picture: PoolPicture, scale: Scale) -> Iterator[Element]:
    """The end of a buffer's name, where its rectangle has room for it."""
    clashing = {name for clash in picture.clashes for name in (clash.first, clash.second)}
    for block in picture.blocks:
        if block.name in clashing:
            continue  # two names over one another are none
        left, top, width, height = scale.box(block.lower, block.upper, block.offset, block.offset + block.size_bytes)
        letters = int((width / PLANE * _FULL_WIDTH - 8) / _LETTER)
        if letters < _SHORTEST or height < _LINE:
            continue
        name = block.name if len(block.name) <= letters else f"…{block.name[1 - letters :]}"
        yield h(
            "svg",
            h("text", name, x=4, y=short(min(height / 2, 24) + 4)),
            x=f"{left * 100 / PLANE:.2f}%",
            y=short(top),
            width=f"{width * 100 / PLANE:.2f}%",
            height=short(height),
            class_=f"block-name {block.kind}",
        )


def _columns(picture: PoolPicture, operators: Sequence[str], scale: Scale) -> Element | None:
    """Columns over the curve, one an operator, that say its name and what is alive there."""
    if not 0 < len(operators) <= _MOST_COLUMNS:
        return None
    loads = dict(zip(picture.at.tolist(), picture.live_bytes.tolist(), strict=True))
    columns: list[Element] = []
    load = 0
    for point, name in enumerate(operators):
        load = loads.get(point, load)
        title = h("title", f"{point} {name}\n{bytes_text(load)} alive")
        columns.append(h("g", title, rectangle(scale.box(point, point + 1, 0, scale.top_bytes))))
    return h("g", columns, class_="columns-of-points")


def _points_axis(picture: PoolPicture) -> Element:
    step, unit = 1, 0
    while picture.points > step * _TICKS_ACROSS:
        step, unit = step * (2, 2.5, 2)[unit], (unit + 1) % 3  # 1, 2, 5, 10, ...
        step = int(step)
    return h(
        "svg",
        [
            h("text", count_text(point), x=f"{100 * (point + 0.5) / picture.points:.2f}%", y=13, class_="tick middle")
            for point in range(0, picture.points, step)
        ],
        height=18,
        class_="points",
        aria_hidden="true",
    )


def _left_out(picture: PoolPicture) -> Element | None:
    if not len(picture.rest):
        return None
    text = (
        f"The {count_text(len(picture.blocks))} buffers with the most bytes x operators are drawn one by one, "
        f"the other {count_text(len(picture.rest))} as what they cover together."
    )
    return h("p", text, class_="left-out")


def _said(picture: PoolPicture) -> str:
    clashes = f"; {plural_text(len(picture.clashes), 'overlap')} of live buffers" if picture.clashes else ""
    return (
        f"{plural_text(picture.buffers, 'buffer')} by address and lifetime: pool {bytes_text(picture.pool_bytes)},"
        f" bound {bytes_text(picture.bound_bytes)}{clashes}"
    )
