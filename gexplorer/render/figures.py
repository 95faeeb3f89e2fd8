"""Results as plotly figures, for those who want to restyle them. plotly is imported when the first is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from gexplorer.cost.graph import GraphCost
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.landscape import Landscape
from gexplorer.memory.stage import Memory
from gexplorer.schedule.stage import Schedule
from gexplorer.trace.records import Steps
from gexplorer.units import bytes_text, plural_text, time_text
from gexplorer.views.explorer.cost import peaks_of
from gexplorer.views.memory_report import buffer_kinds

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

# Above so many boxes plotly takes seconds to minutes: then the picture is a raster.
MOST_BARS = 2000
RASTER = (240, 600)  # addresses, points in time
# Okabe and Ito's palette, for the colour-blind; what shares a picture differs by a pattern or a symbol, too.
_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_UNITS = {  # colour, pattern, name
    "cube": ("#d55e00", "", "cube"),
    "vector": ("#56b4e9", "-", "vector"),
    "mte": ("#009e73", "|", "data movement"),
    "scalar": ("#cc79a7", ".", "scalar"),
    "aicpu": ("#e69f00", "x", "AI CPU"),
    "host": ("#b3261e", "/", "host"),
}
_OTHER = ("#999999", "\\")
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# Steps that are shown: the longest.
MOST_STEPS = 40
# A tile so much slower than the best is as dark as any slower one.
_SLOWEST = 3.0


@singledispatch
def figure(result: object) -> go.Figure:
    """The figure of a result.

    Raises:
        OptionError: there is none of such a thing.
    """
    raise OptionError(f"{type(result).__name__} has no figure")


@figure.register(Memory)
def _(result: Memory) -> go.Figure:
    """Every buffer of the pool: from when to when, from which address to which."""
    problem, offsets = result.plan.problem, result.plan.placement.offsets
    proved = ", no plan of these buffers is smaller" if result.proved_optimal else ""
    title = f"Memory pool of {result.graph.name}: {bytes_text(result.pool_bytes)}{proved}"
    made = _empty(title, "operator, in order of execution", "address")
    if len(problem) > MOST_BARS:
        made.add_heatmap(
            z=occupied(result),
            x0=len(result.program) / RASTER[1] / 2,
            dx=len(result.program) / RASTER[1],
            y0=result.pool_bytes / RASTER[0] / 2,
            dy=result.pool_bytes / RASTER[0],
            **_shares("taken"),
        )
    else:
        kinds = np.array(buffer_kinds(result))
        for kind in dict.fromkeys(kinds.tolist()):
            own = np.flatnonzero(kinds == kind)
            made.add_bar(
                x=(problem.lower[own] + problem.upper[own]) / 2,
                width=problem.upper[own] - problem.lower[own],
                base=offsets[own],
                y=problem.size_bytes[own],
                text=[f"{problem.name(row)}: {bytes_text(int(problem.size_bytes[row]))}" for row in own.tolist()],
                textposition="none",
                hovertemplate="%{text}<extra></extra>",
                **_bars(kind),
            )
    equal = result.pool_bytes == problem.bound_bytes
    lines = [(result.pool_bytes, "pool = bound" if equal else "pool", "solid")]
    lines += [] if equal else [(problem.bound_bytes, "bound", "dot")]
    for height, name, dash in lines:
        made.add_hline(y=height, line={"dash": dash, "width": 1.5}, annotation_text=name)
    at = _ticks(result.pool_bytes)
    made.update_layout(barmode="overlay", yaxis={"tickvals": at, "ticktext": [bytes_text(tick) for tick in at]})
    return made


@figure.register(Schedule)
def _(result: Schedule) -> go.Figure:
    """A lane a stream, every kernel as long as it runs."""
    start, took = result.timeline.start_us, result.timeline.duration_us
    title = f"Schedule of {result.memory.graph.name}: {time_text(result.makespan_us / 1e6)}, modelled"
    made = _empty(title, "time in µs", "stream")
    units = np.array(result.kernels.cores)
    if len(units) > MOST_BARS:
        made.add_heatmap(
            z=_busy(start, result.timeline.end_us, result.assigned.stream, result.streams, result.makespan_us),
            x0=result.makespan_us / RASTER[1] / 2,
            dx=result.makespan_us / RASTER[1],
            **_shares("busy"),
        )
    else:
        for unit in dict.fromkeys(units.tolist()):
            own = np.flatnonzero(units == unit)
            made.add_bar(
                orientation="h",
                base=start[own],
                x=took[own],
                y=result.assigned.stream[own],
                text=[f"{result.kernels.nodes[k].name} ({result.kernels.nodes[k].op})" for k in own.tolist()],
                textposition="none",
                hovertemplate="%{text}: %{x:.3g} µs<extra></extra>",
                **_bars(unit),
            )
    made.update_layout(barmode="overlay", yaxis={"dtick": 1, "range": [result.streams - 0.5, -0.5]})
    made.update_layout(height=220 + 60 * result.streams)
    return made


@figure.register(GraphCost)
def _(result: GraphCost) -> go.Figure:
    """A roofline of the kernels: operations a byte, operations a second."""
    rows = [row for row in result.rows if row.flops and row.hbm_bytes and row.total_us]
    left = sum(1 for row in result.rows if row.flops) - len(rows)
    without = f"; {plural_text(left, 'kernel')} without HBM traffic not shown" if left else ""
    title = f"Roofline on {result.chip.name}, modelled{without}"
    made = _empty(title, "operations per byte of HBM traffic", "operations per second")
    intensity = np.array([row.flops / row.hbm_bytes for row in rows])
    rate = np.array([row.flops / row.total_us * 1e6 for row in rows])
    families = np.array([row.family for row in rows])
    for number, family in enumerate(dict.fromkeys(families.tolist())):
        own = np.flatnonzero(families == family)
        made.add_scatter(
            name=family,
            mode="markers",
            x=intensity[own],
            y=rate[own],
            marker={"color": _turn(_PALETTE, number), "symbol": _turn(_SYMBOLS, number), "size": 9},
            text=[f"{rows[k].node} ({rows[k].op}): {time_text(rows[k].total_us / 1e6)}, {rows[k].bound}" for k in own],
            hovertemplate="%{text}<extra></extra>",
        )
    if len(rows):
        reach = np.geomspace(intensity.min() / 2, intensity.max() * 2, 60)
        for number, (name, peak, bandwidth) in enumerate(_roofs(result.chip)):
            line = {"color": _turn(_PALETTE, number), "dash": _turn(_DASHES, number), "width": 1.5}
            made.add_scatter(name=name, mode="lines", x=reach, y=np.minimum(peak, bandwidth * reach), line=line)
    made.update_xaxes(type="log", dtick=1)
    made.update_yaxes(type="log", dtick=1)
    return made


@figure.register(Steps)
def _(result: Steps) -> go.Figure:
    """Where the time of the compilation goes."""
    took = [step for step in sorted(result, key=lambda step: step.seconds) if step.seconds > 0][-MOST_STEPS:]
    most = f"the {len(took)} longest of {plural_text(len(result), 'step')}"
    made = _empty(f"Compile time, {time_text(sum(step.seconds for step in result))}: {most}", "time in ms", "")
    for number, stage in enumerate(dict.fromkeys(step.stage for step in result)):
        own = [step for step in took if step.stage == stage]
        names = [f"{step.index} {step.name}" for step in own]
        marker = {"color": _turn(_PALETTE, number), "pattern": {"shape": _turn(("", "-", "|", "/", "x", "."), number)}}
        made.add_bar(name=stage, orientation="h", x=[step.seconds * 1e3 for step in own], y=names, marker=marker)
    made.update_layout(yaxis={"categoryorder": "total ascending", "dtick": 1}, height=180 + 17 * len(took))
    return made


@figure.register(Landscape)
def _(result: Landscape) -> go.Figure:
    """The time of the best tile of so many rows and columns; where none fits, nothing."""
    times, _ = result.plane()
    made = _empty("Tiles of a product: time of the best of each size, modelled", "columns n", "rows m")
    most = _SLOWEST * result.best_us if result.best is not None else 1.0
    made.add_heatmap(
        z=times,
        x=result.space.n,
        y=result.space.m,
        zmin=result.best_us if result.best is not None else 0.0,
        zmax=most,
        colorscale="Cividis_r",
        colorbar={"title": "µs"},
        hovertemplate="%{y} rows, %{x} columns: %{z:.4g} µs<extra></extra>",
    )
    marks = (("fastest", result.best, "circle-open"), ("taken", result.chosen, "x-thin-open"))
    for name, number, symbol in marks:
        if number is not None:
            tile = result.space.tile(number)
            marker = {"symbol": symbol, "size": 13, "color": "#d55e00", "line": {"width": 2.5}}
            made.add_scatter(name=name, mode="markers", x=[tile.n], y=[tile.m], marker=marker)
    made.update_layout(legend={"orientation": "h", "y": 1.1, "x": 1, "xanchor": "right"})
    return made


def _empty(title: str, x: str, y: str) -> go.Figure:
    import plotly.graph_objects as go

    made = go.Figure()
    made.update_layout(title=title, template="plotly_white", xaxis_title=x, yaxis_title=y)
    return made


def _bars(kind: str) -> dict[str, Any]:
    """Name and look of the bars of a unit, or of another kind of thing."""
    colour, pattern, name = _UNITS.get(kind, (*_OTHER, kind))
    look = {"shape": pattern, "fgcolor": "white", "bgcolor": colour, "size": 6, "solidity": 0.2}
    return {"name": name, "marker": {"color": colour, "line": {"color": "white", "width": 0.5}, "pattern": look}}


def _shares(title: str) -> dict[str, Any]:
    """Scale of a raster whose cells are shares of 1."""
    return {"colorscale": "Cividis", "zmin": 0, "zmax": 1, "colorbar": {"title": title, "tickformat": ".0%"}}


def _ticks(limit_bytes: int) -> list[int]:
    """Four to eight round addresses, powers of two apart."""
    step = 1 << max((limit_bytes // 4).bit_length() - 1, 0)
    return list(range(0, limit_bytes + 1, step))


def _turn(of: Sequence[str], number: int) -> str:
    return of[number % len(of)]


def _roofs(chip: Chip) -> list[tuple[str, float, float]]:
    """Name, operations a second, bytes a second that kernels reach."""
    hbm = chip.hbm.achieved_bytes_per_us * 1e6
    return [(str(row["label"]), float(str(row["flops_per_s"])), hbm) for row in peaks_of(chip)]


def occupied(memory: Memory) -> Floats:
    """[addresses, points] how much of each cell of the pool is taken, from 0 to 1 (more where buffers clash)."""
    problem, offsets = memory.plan.problem, memory.plan.placement.offsets
    across, down = RASTER[1] / max(len(memory.program), 1), RASTER[0] / max(memory.pool_bytes, 1)
    low, high = offsets * down, (offsets + problem.size_bytes) * down
    return _areas(problem.lower * across, problem.upper * across, low, high, RASTER)


def _busy(start: Floats, end: Floats, stream: NDArray[np.int64], streams: int, makespan: float) -> Floats:
    """[streams, points] how much of each stretch of time a stream is busy."""
    across = RASTER[1] / (makespan or 1.0)
    return _areas(start * across, end * across, stream.astype(float), stream + 1.0, (streams, RASTER[1]))


def _areas(
    left: Floats,
    right: Floats,
    low: Floats,
    high: Floats,
    shape: tuple[int, int],
) -> Floats:
    """How much of each cell rectangles cover: O(rectangles + cells), by the corners' shares summed up twice."""
    rows, columns = shape
    corner = np.zeros((rows + 2, columns + 2))
    for x, sign_x in ((left, 1.0), (right, -1.0)):
        for y, sign_y in ((low, 1.0), (high, -1.0)):
            at_x, at_y = np.minimum(x.astype(int), columns), np.minimum(y.astype(int), rows)
            part_x, part_y = x - at_x, y - at_y
            for step_x, share_x in ((0, 1 - part_x), (1, part_x)):
                for step_y, share_y in ((0, 1 - part_y), (1, part_y)):
                    np.add.at(corner, (at_y + step_y, at_x + step_x), sign_x * sign_y * share_x * share_y)
    return corner.cumsum(0).cumsum(1)[:rows, :columns]
