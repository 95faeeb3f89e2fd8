"""Lays small graphs out: with Graphviz's ``dot``, all in one process with a time limit; else with our own layout.

``dot`` is asked for positions only (``-Tplain``) and is told boxes by number: no name or label of the model ever
reaches it, so none can be mistaken for its syntax. Drawing is ``render/picture.py``'s.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT_S = 10.0
_POINTS = 72.0
_GRAPH = {"nodesep": "0.22", "ranksep": "0.34", "splines": "true"}


@dataclass(frozen=True, slots=True)
class Sketch:
    """A graph to be laid out: the sizes of its boxes in pixels, and edges between them by number."""

    sizes: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are, in pixels from the top left corner.

    Attributes:
        width: of the whole.
        height: of the whole.
        centres: the middle of each box.
        curves: the Bézier points of each edge, in the order of the sketch's edges.
    """

    width: float
    height: float
    centres: tuple[tuple[float, float], ...]
    curves: tuple[tuple[tuple[float, float], ...], ...]


def find_dot() -> str | None:
    """The ``dot`` program: ``$GEXPLORER_DOT``, else on the PATH, else graphviz-pure's; None where there is none."""
    named = os.environ.get("GEXPLORER_DOT")
    if named is not None:
        return shutil.which(named)
    beside = Path(sys.executable).parent
    return shutil.which("dot") or shutil.which("graphviz-pure") or shutil.which("graphviz-pure", path=str(beside))


def placed(sketches: Sequence[Sketch], dot: str | None = None) -> list[Layout]:
    """Lays out all graphs, by ``dot`` where there is one that answers, else by our own layout."""
    return lay_out(sketches, dot) or [own_layout(sketch) for sketch in sketches]


def own_layout(sketch: Sketch) -> Layout:
    """Lays a graph out without Graphviz; edges that would be too long are straight."""
    from gexplorer.layout.layered import lay_out as layered

    edges = [(tail, head) for tail, head in sketch.edges if tail != head]
    widths, heights = [size[0] for size in sketch.sizes], [size[1] for size in sketch.sizes]
    found = layered(
        widths,
        heights,
        [tail for tail, _ in edges],
        [head for _, head in edges],
        values=range(len(edges)),
    )
    centres = tuple(zip(found.x.tolist(), found.y.tolist(), strict=True))
    at, route = found.route_at.tolist(), found.route.tolist()
    points = {edges[one]: route[at[n] : at[n + 1]] for n, one in enumerate(found.drawn.tolist())}
    curves = tuple(
        _smooth(points.get((tail, head)) or _between(centres, heights, tail, head)) for tail, head in sketch.edges
    )
    return Layout(found.width, found.height, centres, curves)


def _between(
    centres: Sequence[tuple[float, float]], heights: Sequence[float], tail: int, head: int
) -> list[tuple[float, float]]:
    """From the middle of one box's lower side to the middle of another's upper side."""
    (x, y), (to_x, to_y) = centres[tail], centres[head]
    return [(x, y + heights[tail] / 2), (to_x, to_y - heights[head] / 2)]


def _smooth(points: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    """Bézier points through the given ones: upright at each."""
    x, y = points[0]
    curve = [(x, y)]
    for to_x, to_y in points[1:]:
        middle = (y + to_y) / 2
        curve += [(x, middle), (to_x, middle), (to_x, to_y)]
        x, y = to_x, to_y
    return tuple(curve)


def lay_out(
    sketches: Sequence[Sketch], dot: str | None = None, time_limit_s: float = TIME_LIMIT_S
) -> list[Layout] | None:
    """Lays out all graphs in one process; None where there is no ``dot``, or it fails, or takes too long."""
    dot = dot or find_dot()
    if dot is None:
        return None
    if not sketches:
        return []
    try:
        done = subprocess.run(
            [dot, "-Tplain"],
            input="".join(dot_source(sketch) for sketch in sketches),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=time_limit_s,
            check=True,
        )
        layouts = list(_read_plain(done.stdout, sketches))
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        return None
    return layouts if len(layouts) == len(sketches) else None


def dot_source(sketch: Sketch) -> str:
    """A graph in the DOT language: fixed-size boxes named by their numbers, without labels."""
    import graphviz

    graph = graphviz.Digraph(
        graph_attr=_GRAPH,
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"arrowhead": "none"},
    )
    for number, (width, height) in enumerate(sketch.sizes):
        graph.node(str(number), width=f"{width / _POINTS:.4f}", height=f"{height / _POINTS:.4f}")
    for tail, head in sketch.edges:
        graph.edge(str(tail), str(head))
    return graph.source


def _read_plain(output: str, sketches: Sequence[Sketch]) -> Iterator[Layout]:
    """Reads ``graph``, ``node``, ``edge`` and ``stop`` lines; lengths are inches, y grows upwards."""
    numbers = iter(sketches)
    width = height = 0.0
    centres: dict[int, tuple[float, float]] = {}
    curves: dict[tuple[int, int], tuple[tuple[float, float], ...]] = {}
    for line in output.splitlines():
        kind, *words = line.split()
        if kind == "graph":
            width, height = float(words[1]) * _POINTS, float(words[2]) * _POINTS
            centres, curves = {}, {}
        elif kind == "node":
            centres[int(words[0])] = (float(words[1]) * _POINTS, height - float(words[2]) * _POINTS)
        elif kind == "edge":
            count = int(words[2])
            flat = [float(word) * _POINTS for word in words[3 : 3 + 2 * count]]
            points = tuple((x, height - y) for x, y in zip(flat[::2], flat[1::2], strict=True))
            curves[int(words[0]), int(words[1])] = points
        elif kind == "stop":
            sketch = next(numbers, None)
            if sketch is None:
                raise ValueError("more graphs came back than were sent")
            yield Layout(
                width,
                height,
                tuple(centres[number] for number in range(len(sketch.sizes))),
                tuple(curves[edge] for edge in sketch.edges),
            )
