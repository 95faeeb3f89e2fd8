"""The cost model beside measurements as a picture: each point's modelled time over its measured one, on log scales."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from xml.etree.ElementTree import Element

from gexplorer.errors import OptionError
from gexplorer.output import write_file
from gexplorer.render.html import Child, code, document, h, text
from gexplorer.units import percent_text, plural_text, time_text
from gexplorer.views.parity import Parity, ParityPoint

_SIZE, _LEFT, _TOP = 560, 86, 70
_WIDTH, _HEIGHT = _LEFT + _SIZE + 24, _TOP + _SIZE + 62
# Told apart by shape as well as by colour (Okabe and Ito's palette for the colour-blind).
_MARKS = (("#0072b2", "circle"), ("#d55e00", "square"), ("#009e73", "triangle"), ("#cc79a7", "diamond"))
_BAND = 0.2
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-size:17px;font-weight:600}.soft{fill:#555}"
    ".grid{stroke:#e4e4e4}.equal{stroke:#222;stroke-width:1.5}.band{stroke:#888;stroke-dasharray:5 4}"
)


def write_parity(found: Parity, path: Path) -> None:
    """Writes the picture: an SVG, or a page that holds nothing else, by the ending of the name.

    Raises:
        OptionError: the name ends in neither, or the file cannot be written.
    """
    require_ending(path)
    picture = parity_svg(found)
    if path.suffix == ".html":
        write_file(
            path, document("Cost model", [code("style", f"body{{margin:1rem;background:#fff}}{_STYLE}")], [picture])
        )
        return
    picture.set("xmlns", "http://www.w3.org/2000/svg")
    picture.insert(0, code("style", _STYLE))
    write_file(path, f"{text(picture)}\n")


def require_ending(path: Path) -> None:
    """Raises OptionError where the name says neither SVG nor HTML."""
    if path.suffix not in (".svg", ".html"):
        raise OptionError(f"{path}: a name that ends in .svg or .html is wanted for the picture")


def parity_svg(found: Parity) -> Element:
    """The picture; every point says its operator, shape and error when pointed at."""
    scale = _Scale(found.points)
    families = [family.name for family in found.families]
    marks = {name: _MARKS[index % len(_MARKS)] for index, name in enumerate(families)}
    return h(
        "svg",
        h("rect", width=_WIDTH, height=_HEIGHT, fill="#fff"),
        _text(_LEFT, 26, "Modelled over measured time", class_="title"),
        _text(_LEFT, 50, f"line: equal; dashed: {100 * _BAND:.0f} % more or less", class_="soft"),
        _grid(scale),
        _diagonal(scale, 1.0, "equal"),
        [_diagonal(scale, factor, "band") for factor in (1 - _BAND, 1 + _BAND)],
        [_point(scale, point, *marks[point.family]) for point in found.points],
        _legend(found, marks),
        _text(_LEFT + _SIZE / 2, _HEIGHT - 12, "measured", text_anchor="middle"),
        _text(0, 0, "model", text_anchor="middle", transform=f"translate(20 {_TOP + _SIZE / 2}) rotate(-90)"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        role="img",
        aria_label="Modelled over measured time of every published kernel, on log scales",
    )


class _Scale:
    """Microseconds to places, the same on both axes."""

    def __init__(self, points: Sequence[ParityPoint]) -> None:
        times = [us for point in points for us in (point.measured_us, point.predicted_us)]
        self.low, self.high = log10(min(times)) - 0.08, log10(max(times)) + 0.08

    def x(self, us: float) -> float:
        return _LEFT + _SIZE * (log10(us) - self.low) / (self.high - self.low)

    def y(self, us: float) -> float:
        return _TOP + _SIZE * (self.high - log10(us)) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        powers = range(floor(self.low), ceil(self.high) + 1)
        found = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        return [us for us in found if self.low <= log10(us) <= self.high]


def _grid(scale: _Scale) -> Child:
    right, bottom = _LEFT + _SIZE, _TOP + _SIZE
    return [
        (
            h("path", d=f"M{scale.x(us):.1f} {_TOP}V{bottom}M{_LEFT} {scale.y(us):.1f}H{right}", class_="grid"),
            _text(scale.x(us), bottom + 20, time_text(us / 1e6), text_anchor="middle", class_="soft"),
            _text(_LEFT - 8, scale.y(us) + 4, time_text(us / 1e6), text_anchor="end", class_="soft"),
        )
        for us in scale.ticks
    ]


def _diagonal(scale: _Scale, factor: float, class_: str) -> Element:
    """Where the model says so many times what was measured, as far as the picture goes."""
    first, last = 10**scale.low, 10**scale.high
    start, end = max(first, first / factor), min(last, last / factor)
    places = " L".join(f"{scale.x(us):.1f} {scale.y(us * factor):.1f}" for us in (start, end))
    return h("path", d=f"M{places}", fill="none", class_=class_)


def _legend(found: Parity, marks: dict[str, tuple[str, str]]) -> Child:
    entries: list[Child] = []
    for index, family in enumerate(found.families):
        y = _TOP + 22 + 22 * index
        said = f"{family.name}: {plural_text(family.n, 'point')}, mean error {percent_text(family.mape)}"
        entries.append((_mark(_LEFT + 18, y, *marks[family.name]), _text(_LEFT + 30, y + 4, said)))
    return entries


def _point(scale: _Scale, point: ParityPoint, colour: str, shape: str) -> Element:
    mark = _mark(scale.x(point.measured_us), scale.y(point.predicted_us), colour, shape)
    times = f"{time_text(point.measured_us / 1e6)} measured, {time_text(point.predicted_us / 1e6)} modelled"
    return h("g", h("title", f"{point.label}: {times} ({100 * point.error:+.1f} %)"), mark)


def _mark(x: float, y: float, colour: str, shape: str) -> Element:
    paths = {
        "circle": f"M{x - 5:.1f} {y:.1f}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
        "square": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        "triangle": f"M{x:.1f} {y - 6:.1f}l5.5 10h-11z",
        "diamond": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z",
    }
    return h("path", d=paths[shape], fill=colour, fill_opacity="0.8", stroke="#fff")


def _text(x: float, y: float, words: str, **attributes: str) -> Element:
    return h("text", words, x=f"{x:.1f}", y=f"{y:.1f}", **attributes)
