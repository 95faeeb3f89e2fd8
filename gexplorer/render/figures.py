"""Results as plotly figures, for those who want to restyle them. plotly is imported when the first is asked for."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from gexplorer.cost.graph import GraphCost
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.memory.stage import Memory
from gexplorer.render.units import bytes_text, time_text
from gexplorer.schedule.stage import Schedule
from gexplorer.trace.records import Steps
from gexplorer.views.explorer.cost import peaks_of
from gexplorer.views.memory_report import buffer_kinds

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

# Above so many boxes plotly takes seconds to minutes: then the picture is a raster.
MOST_BARS = 2000
RASTER = (240, 600)  # addresses, points in time
# Okabe and Ito's palette, for the colour-blind.
_COLOURS = {
    "cube": "#e69f00",
    "vector": "#56b4e9",
    "mte": "#f0e442",
    "scalar": "#cc79a7",
    "aicpu": "#d55e00",
    "host": "#b3261e",
    "workspace": "#999999",
}
_OTHER = "#7b8896"


@singledispatch
def figure(result: object) -> go.Figure:
    """The figure of a result.

    Raises:
        OptionError: there is none of such a thing.
    """
    raise OptionError(f"{type(result).__name__} has no figure")


@figure.register(Memory)
def _(result: Memory) -> go.Figure:
    problem, offsets = result.plan.problem, result.plan.placement.offsets
    made = _empty(f"{result.graph.name}: memory pool, {bytes_text(result.pool_bytes)}", "operator", "address in bytes")
    if len(problem) > MOST_BARS:
        made.add_heatmap(
            z=occupied(result),
            x0=len(result.program) / RASTER[1] / 2,
            dx=len(result.program) / RASTER[1],
            y0=result.pool_bytes / RASTER[0] / 2,
            dy=result.pool_bytes / RASTER[0],
            colorscale="Cividis",
            zmin=0,
            zmax=1,
            colorbar={"title": "taken"},
        )
    else:
        kinds = np.array(buffer_kinds(result))
        for kind in dict.fromkeys(kinds.tolist()):
            own = np.flatnonzero(kinds == kind)
            made.add_bar(
                name=kind,
                x=(problem.lower[own] + problem.upper[own]) / 2,
                width=problem.upper[own] - problem.lower[own],
                base=offsets[own],
                y=problem.size_bytes[own],
                marker={"color": _COLOURS.get(kind, _OTHER), "line": {"color": "white", "width": 0.5}},
                text=[f"{problem.name(row)}: {bytes_text(int(problem.size_bytes[row]))}" for row in own.tolist()],
                textposition="none",
                hovertemplate="%{text}<extra></extra>",
            )
    for height, name in ((result.pool_bytes, "pool"), (problem.bound_bytes, "bound")):
        made.add_hline(y=height, line={"dash": "dot" if name == "bound" else "solid", "width": 1}, annotation_text=name)
    made.update_layout(barmode="overlay")
    return made


@figure.register(Schedule)
def _(result: Schedule) -> go.Figure:
    start, took = result.timeline.start_us, result.timeline.duration_us
    made = _empty(
        f"{result.memory.graph.name}: {time_text(result.makespan_us / 1e6)}, modelled", "time in µs", "stream"
    )
    units = np.array(result.kernels.cores)
    if len(units) > MOST_BARS:
        made.add_heatmap(
            z=_busy(start, result.timeline.end_us, result.assigned.stream, result.streams, result.makespan_us),
            x0=result.makespan_us / RASTER[1] / 2,
            dx=result.makespan_us / RASTER[1],
            colorscale="Cividis",
            zmin=0,
            zmax=1,
            colorbar={"title": "busy"},
        )
        return made
    for unit in dict.fromkeys(units.tolist()):
        own = np.flatnonzero(units == unit)
        made.add_bar(
            name=unit,
            orientation="h",
            base=start[own],
            x=took[own],
            y=result.assigned.stream[own],
            marker={"color": _COLOURS.get(unit, _OTHER)},
            text=[f"{result.kernels.nodes[k].name} ({result.kernels.nodes[k].op})" for k in own.tolist()],
            textposition="none",
            hovertemplate="%{text}: %{x:.3g} µs<extra></extra>",
        )
    made.update_layout(barmode="overlay", yaxis={"dtick": 1})
    return made


@figure.register(GraphCost)
def _(result: GraphCost) -> go.Figure:
    """A roofline of the kernels: operations a byte, operations a second."""
    made = _empty(f"Roofline on {result.chip.name}, modelled", "operations a byte of HBM", "operations a second")
    rows = [row for row in result.rows if row.flops and row.hbm_bytes and row.total_us]
    intensity = np.array([row.flops / row.hbm_bytes for row in rows])
    rate = np.array([row.flops / row.total_us * 1e6 for row in rows])
    families = np.array([row.family for row in rows])
    for family in dict.fromkeys(families.tolist()):
        own = np.flatnonzero(families == family)
        made.add_scatter(
            name=family,
            mode="markers",
            x=intensity[own],
            y=rate[own],
            text=[f"{rows[k].node} ({rows[k].op}): {time_text(rows[k].total_us / 1e6)}, {rows[k].bound}" for k in own],
            hovertemplate="%{text}<extra></extra>",
        )
    if len(rows):
        reach = np.geomspace(intensity.min() / 2, intensity.max() * 2, 60)
        for name, peak, bandwidth in _roofs(result.chip):
            made.add_scatter(name=name, mode="lines", x=reach, y=np.minimum(peak, bandwidth * reach))
    made.update_xaxes(type="log")
    made.update_yaxes(type="log")
    return made


@figure.register(Steps)
def _(result: Steps) -> go.Figure:
    """Where the time of the compilation goes."""
    made = _empty("Compile time", "ms", "")
    took = [step for step in sorted(result, key=lambda step: step.seconds) if step.seconds > 0][-40:]
    for stage in dict.fromkeys(step.stage for step in result):
        own = [step for step in took if step.stage == stage]
        names = [f"{step.index} {step.name}" for step in own]
        made.add_bar(name=stage, orientation="h", x=[step.seconds * 1e3 for step in own], y=names)
    made.update_layout(yaxis={"categoryorder": "total ascending"})
    return made


def _empty(title: str, x: str, y: str) -> go.Figure:
    import plotly.graph_objects as go

    made = go.Figure()
    made.update_layout(title=title, template="plotly_white", xaxis_title=x, yaxis_title=y)
    return made


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
