"""What a notebook shows of one kernel: what it computes, its tile, the buffers that it fills, its program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from gexplorer.kernels.gemm_kernel import GemmTile
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.landscape import Landscape
from gexplorer.kernels.stage import DistinctKernel
from gexplorer.kernels.text import to_text
from gexplorer.render.html import h
from gexplorer.render.report_tables import table
from gexplorer.units import bytes_text, count_text, percent_text, plural_text, time_text
from gexplorer.views.kernels import HeatMap, heat_map

MOST_LINES = 200
# Cells of a landscape's picture.
_ROWS, _COLUMNS = 16, 48
_CELL, _LEFT, _TOP, _BELOW = 20, 84, 24, 6
# How much slower than the best the best tile of a cell may be, and how strong its colour is then.
_SHADES = ((1.02, "within 2 %", 1.0), (1.1, "10 %", 0.72), (1.5, "50 %", 0.45), (3.0, "3 times", 0.24))
_SLOWER = ("slower", 0.1)


def kernel_page(kernel: DistinctKernel) -> Iterator[Element]:
    """A kernel and all of its programs."""
    title = kernel.op if kernel.count == 1 else f"{kernel.op} × {count_text(kernel.count)}"
    nodes = f"{kernel.nodes[0]}{f' and {count_text(kernel.count - 1)} more' if kernel.count > 1 else ''}"
    yield h("header", h("h2", title), h("p", f"{nodes}; mostly {kernel.unit}", class_="soft"), class_="result")
    if kernel.missing is not None:
        yield h("p", f"No tile program. {kernel.missing.operator}: {kernel.missing.reason}.", class_="notice")
    for number, program in enumerate(kernel.programs, 1):
        if len(kernel.programs) > 1:
            yield h("h3", f"Program {number} of {len(kernel.programs)}")
        yield from program_page(program)


def program_page(program: Generated) -> Iterator[Element]:
    """One tile program: what it computes, how full it makes a core, what it moves, and its text."""
    blocks = plural_text(program.program.blocks, "block")
    yield h("p", program.text)
    yield h("p", f"tile {program.tile_text}: {blocks} on {plural_text(program.program.cores, 'core')}", class_="soft")
    rows = [
        h(
            "tr",
            h("td", part.level, class_="name"),
            h("td", bytes_text(part.used_bytes), class_="number"),
            h("td", bytes_text(part.capacity_bytes), class_="number"),
            h("td", percent_text(part.share), class_="number"),
        )
        for part in program.occupied
    ]
    yield h("div", table(("buffer of a core", "#taken", "#of", "#share"), rows, "Buffers"), class_="card")
    moved = [
        h("tr", h("td", path, class_="name"), h("td", bytes_text(count), class_="number"))
        for path, count in program.bytes_by_path.items()
    ]
    if moved:
        yield h("h3", "Bytes that it moves")
        yield h("div", table(("path", "#all cores together"), moved, "Bytes that it moves"), class_="card")
    lines = to_text(program.program, flags=False).splitlines()
    left = [f"… {plural_text(len(lines) - MOST_LINES, 'more line')}"] if len(lines) > MOST_LINES else []
    words = h("pre", h("code", "\n".join([*lines[:MOST_LINES], *left])))
    yield h("details", h("summary", f"Its program, {plural_text(len(lines), 'line')}"), words, class_="card body")


def landscape_page(found: Landscape) -> Iterator[Element]:
    """Every tile at once: fast ones strong, slow ones faint, those that fit no buffer named."""
    fit = f"{count_text(int(found.feasible.sum()))} of {count_text(len(found.total_us))} tiles fit"
    said = [f"{what} {_tile(found.space.tile(number))}, {time_text(us / 1e6)}" for what, number, us in _marked(found)]
    yield h("header", h("h2", fit), h("p", "; ".join(said) or "none was priced", class_="soft"), class_="result")
    out = ", ".join(f"{name} {count_text(count)}" for name, count in found.kept_out().items())
    if out:
        yield h("p", f"Kept out by a buffer that is too small: {out}.", class_="soft")
    seen = heat_map(found, _ROWS, _COLUMNS)
    yield h("figure", _legend(seen), _cells(seen), class_="card pool")


def _tile(tile: GemmTile) -> str:
    return f"{tile.m} × {tile.n} × {tile.k} by {tile.order}, {'double' if tile.double else 'single'} buffers"


def _marked(found: Landscape) -> Iterator[tuple[str, int, float]]:
    if found.chosen is not None:
        yield "taken:", found.chosen, found.chosen_us
    if found.best is not None:
        yield "fastest:", found.best, found.best_us


def _legend(seen: HeatMap) -> Element:
    shades = [(name, strength) for _, name, strength in _SHADES] + [_SLOWER]
    keys = [h("span", _swatch(strength), name) for name, strength in shades]
    marks = [h("span", h("b", f"{sign} "), name) for sign, name in (("X", "taken"), ("B", "fastest"))]
    blocked = sorted({name for row in seen.blocked for name in row if name})
    none = h("span", f"empty: {' or '.join(blocked)} is too small") if blocked else None
    return h("p", "best tile of a cell: ", keys, marks, none, class_="legend")


def _swatch(strength: float) -> Element:
    square = h("rect", x=0, y=1, width=12, height=12, fill="var(--accent)", opacity=str(strength))
    return h("svg", square, width=16, height=14, viewBox="0 0 16 14", aria_hidden="true")


def _cells(seen: HeatMap) -> Element:
    width, height = _LEFT + _CELL * len(seen.n), _TOP + _CELL * len(seen.m) + _BELOW
    paths: dict[float, list[str]] = {}
    for i, row in enumerate(seen.slower):
        for j, slower in enumerate(row):
            if slower is not None:
                paths.setdefault(_strength(slower), []).append(
                    f"M{_LEFT + j * _CELL + 1} {_TOP + i * _CELL + 1}h{_CELL - 2}v{_CELL - 2}h-{_CELL - 2}z"
                )
    shapes = [h("path", d="".join(d), fill="var(--accent)", opacity=str(strength)) for strength, d in paths.items()]
    return h(
        "div",
        h(
            "svg",
            shapes,
            list(_axes(seen)),
            list(_signs(seen)),
            viewBox=f"0 0 {width} {height}",
            width="100%",
            height=height,
            preserveAspectRatio="xMinYMin meet",
            role="img",
            aria_label=f"time of tiles of {seen.m[0]} to {seen.m[-1]} rows and {seen.n[0]} to {seen.n[-1]} columns",
        ),
        class_="lanes",
    )


def _strength(slower: float) -> float:
    return next((strength for most, _, strength in _SHADES if slower <= most), _SLOWER[1])


def _axes(seen: HeatMap) -> Iterator[Element]:
    for i, m in enumerate(seen.m):
        if i % max(1, len(seen.m) // 8) == 0:
            words = f"m {m}" if i == 0 else str(m)
            yield h("text", words, x=_LEFT - 6, y=_TOP + i * _CELL + 14, text_anchor="end")
    for j, n in enumerate(seen.n):
        if j % max(1, len(seen.n) // 8) == 0:
            yield h("text", f"n {n}" if j == 0 else str(n), x=_LEFT + j * _CELL, y=_TOP - 8)


def _signs(seen: HeatMap) -> Iterable[Element]:
    places = {seen.best: "B", seen.chosen: "X"}  # where both are one, taken is what matters
    for place, sign in places.items():
        if place is not None:
            i, j = place
            x, y = _LEFT + j * _CELL + _CELL / 2, _TOP + i * _CELL + 14
            # The page's policy allows no styles of elements; its style sheet speaks of `text`, not of `tspan`.
            bold = {"font_weight": "700", "fill": "var(--ink)", "stroke": "var(--card)", "stroke_width": "3"}
            yield h("text", h("tspan", sign, paint_order="stroke", **bold), x=f"{x:g}", y=y, text_anchor="middle")
