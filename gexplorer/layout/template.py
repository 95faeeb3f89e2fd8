"""A container's picture as the document has it: where its boxes stand, and the lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gexplorer.layout.layered import lay_out


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a layout needs to know; equal sketches give equal templates.

    Attributes:
        sizes: width and height of each box, in px.
        edges: rows (from, to, value); values go by any numbers.
        ends: rows (box, side) of what comes in (0) and goes out (1).
        on_top: boxes that stand above all else.
    """

    sizes: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int, int], ...]
    ends: tuple[tuple[int, int], ...]
    on_top: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Laid:
    """A template, and which edges of the sketch it draws, and which have stubs in their place.

    Attributes:
        template: as the document has it.
        drawn: numbers of the edges that have a line.
        cut: numbers of the edges that have none.
        passes: where the lines that go through ranks do so, by number of the edge; see ``Placement``.
    """

    template: dict[str, object]
    drawn: tuple[int, ...]
    cut: tuple[int, ...]
    passes: dict[int, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Stood:
    """How a sketch stood in an earlier picture.

    Attributes:
        x: of each box, NaN for one that is new.
        passes: by number of the edge, where its line went through ranks.
    """

    x: NDArray[np.float64]
    passes: dict[int, tuple[float, ...]]


def laid_out(sketch: Sketch, stood: Stood | None = None) -> Laid:
    """Lays a sketch out.

    Stubs of the template are those of the sketch, then two for every edge that is not drawn: where it begins, where it
    ends. The same value at the same side of a box has one: see ``stubs_of``.
    """
    sizes = np.array(sketch.sizes, dtype=np.float64).reshape(-1, 2)
    edges = np.array(sketch.edges, dtype=np.int64).reshape(-1, 3)
    on_top = np.zeros(len(sizes), dtype=np.bool_)
    on_top[list(sketch.on_top)] = True
    placed = lay_out(
        sizes[:, 0],
        sizes[:, 1],
        edges[:, 0],
        edges[:, 1],
        values=edges[:, 2],
        seeds=None if stood is None else stood.x,
        passes=None if stood is None else _ragged(stood.passes, len(edges)),
        on_top=on_top,
    )
    # The front end draws from box to box; the template holds the points between.
    counts = np.diff(placed.route_at)
    inner = np.ones(len(placed.route), dtype=np.bool_)
    inner[placed.route_at[:-1][counts > 0]] = inner[placed.route_at[1:][counts > 0] - 1] = False
    route_at = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.maximum(counts - 2, 0))])
    template: dict[str, object] = {
        "width": round(placed.width),
        "height": round(placed.height),
        "x": whole(placed.x),
        "y": whole(placed.y),
        "w": whole(sizes[:, 0]),
        "h": whole(sizes[:, 1]),
        "rank": int32(placed.rank),
        "edge_from": int32(edges[placed.drawn, 0]),
        "edge_to": int32(edges[placed.drawn, 1]),
        "route_at": int32(route_at),
        "route": whole(placed.route[inner].reshape(-1)),
    }
    drawn: list[int] = placed.drawn.tolist()
    at: list[int] = placed.pass_at.tolist()
    x: list[float] = placed.passes.tolist()
    passes = {edge: tuple(x[at[n] : at[n + 1]]) for n, edge in enumerate(drawn) if at[n] < at[n + 1]}
    return Laid(template, tuple(drawn), tuple(placed.cut.tolist()), passes)


def _ragged(passes: dict[int, tuple[float, ...]], edges: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    sizes = np.zeros(edges + 1, dtype=np.int64)
    for edge, places in passes.items():
        sizes[edge + 1] = len(places)
    return np.cumsum(sizes), np.array([x for edge in sorted(passes) for x in passes[edge]])


def whole(lengths: NDArray[np.float64]) -> NDArray[np.float32]:
    """Whole px: they compress."""
    return np.rint(lengths).astype(np.float32)


def int32(numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
    """A column of the document."""
    return np.array(numbers, dtype=np.int32)
