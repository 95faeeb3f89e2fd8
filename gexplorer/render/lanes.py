"""A schedule as lanes: one a stream, every kernel as a box as long as it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from gexplorer.render.html import h
from gexplorer.units import time_text

if TYPE_CHECKING:
    from gexplorer.schedule.stage import Schedule

_WIDTH, _LANE, _GAP, _LEFT, _BELOW = 1000, 30, 8, 70, 26
# Kernels that are drawn one by one and can be pointed at: the longest.
MOST_KERNELS = 400
_TICKS = 6
# Units differ by their height as well as by their colour: how far a box is from the edges of its lane.
_INSET = {"cube": 0, "vector": 6, "mte": 10}
_OTHER = 13


def lanes_figure(schedule: Schedule) -> Element:
    """The picture. Kernels beyond the longest ``MOST_KERNELS`` are one path a lane and unit, without words."""
    streams, makespan = schedule.streams, schedule.makespan_us or 1.0
    height = streams * (_LANE + _GAP) + _BELOW
    lanes = [
        h("text", f"stream {number}", x=_LEFT - 8, y=number * (_LANE + _GAP) + round(_LANE * 0.65), text_anchor="end")
        for number in range(streams)
    ]
    units = sorted(dict.fromkeys(schedule.kernels.cores), key=lambda unit: _INSET.get(unit, _OTHER))
    return h(
        "figure",
        h("p", [h("span", _sample(unit), unit) for unit in units], class_="legend"),
        h(
            "div",
            h(
                "svg",
                lanes,
                list(_ticks(makespan, height)),
                list(_boxes(schedule, makespan)),
                viewBox=f"0 0 {_LEFT + _WIDTH + 10} {height}",
                width="100%",
                role="img",
                aria_label=f"{schedule.kernels.launches:,} kernels on {streams} streams in {time_text(makespan / 1e6)}",
            ),
            class_="lanes",
        ),
        class_="card pool",
    )


def _sample(unit: str) -> Element:
    """A box of the legend, half as large as a lane's."""
    inset = _INSET.get(unit, _OTHER) / 2
    box = h("rect", x=0, y=f"{inset:g}", width=14, height=f"{_LANE / 2 - 2 * inset:g}", class_=unit)
    return h("svg", box, width=20, height=_LANE // 2, viewBox=f"0 0 20 {_LANE // 2}", aria_hidden="true")


def _boxes(schedule: Schedule, makespan: float) -> Iterator[Element]:
    start, end = schedule.timeline.start_us, schedule.timeline.end_us
    critical = set(schedule.critical_path)
    nodes, units = schedule.kernels.nodes, schedule.kernels.cores
    longest = set(sorted(range(len(nodes)), key=lambda k: start[k] - end[k])[:MOST_KERNELS])
    plain: dict[str, list[str]] = {}
    for kernel, (node, unit) in enumerate(zip(nodes, units, strict=True)):
        left = _LEFT + _WIDTH * float(start[kernel]) / makespan
        width = max(_WIDTH * float(end[kernel] - start[kernel]) / makespan, 0.2)
        inset = _INSET.get(unit, _OTHER)
        top, height = int(schedule.assigned.stream[kernel]) * (_LANE + _GAP) + inset, _LANE - 2 * inset
        if kernel not in longest:
            plain.setdefault(unit, []).append(f"M{left:.1f} {top}h{width:.1f}v{height}h-{width:.1f}z")
            continue
        took = time_text(float(end[kernel] - start[kernel]) / 1e6)
        path = ", on the critical path" if kernel in critical else ""
        said = f"{node.name} ({node.op})\n{took} from {time_text(float(start[kernel]) / 1e6)}{path}"
        box = h("rect", x=f"{left:.1f}", y=top, width=f"{width:.1f}", height=height, class_=unit)
        yield h("g", h("title", said), box, class_="critical" if path else None)
    for unit, outlines in plain.items():
        yield h("path", d="".join(outlines), class_=unit)


def _ticks(makespan: float, height: int) -> Iterator[Element]:
    for tick in range(_TICKS):
        x = _LEFT + _WIDTH * tick / (_TICKS - 1)
        yield h("path", d=f"M{x:.1f} 0V{height - _BELOW + 4}", class_="grid")
        anchor = "end" if tick == _TICKS - 1 else "middle"
        yield h("text", time_text(makespan * tick / (_TICKS - 1) / 1e6), x=f"{x:.1f}", y=height - 6, text_anchor=anchor)
