"""Heights of ranks and routes of edges: where lines leave a box, bend, and enter another."""

from __future__ import annotations

import numpy as np

from gexplorer.layout.placement import Floats, Ints, Placement

RANK_GAP = 34.0
MARGIN = 12.0
_PORT_GAP = 14.0


def routed(
    width: Floats,
    height: Floats,
    rank: Ints,
    x: Floats,
    ends: tuple[Ints, Ints],
    joints: tuple[Ints, Ints],
    edges: tuple[Ints, Ints, Ints],
) -> Placement:
    """Gives ranks their heights and drawn edges their points.

    Boxes hang from the top of their rank. A line that leaves one that is shorter than its rank goes straight down to
    the rank's end before it turns, and a line that passes a rank passes it upright: so no line runs through a box.

    Args:
        width: of the boxes.
        height: of the boxes.
        rank: of the boxes.
        x: centres of the boxes, then of the joints.
        ends: upper and lower box of each drawn edge.
        joints: number of the first joint of each drawn edge, and how many it has.
        edges: tail of every edge, numbers of the drawn ones, numbers of the cut ones.
    """
    upper, lower = ends
    tail, drawn, cut = edges
    tallest = np.zeros(int(rank.max()) + 1 if len(rank) else 0)
    np.maximum.at(tallest, rank, height)
    top = MARGIN + np.cumsum(tallest + RANK_GAP) - tallest - RANK_GAP
    bottom = top + tallest
    x = x + MARGIN
    leave = _ports(x, width, upper, _towards(x, lower, joints, first=True))
    enter = _ports(x, width, lower, _towards(x, upper, joints, first=False))
    first, count = joints
    edge = np.repeat(np.arange(len(upper)), count)
    step = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    passed = rank[upper][edge] + 1 + step
    bend_x = x[first[edge] + step]
    border = top[rank[upper]] + height[upper]
    everything = np.arange(len(upper))
    # Points as rows (edge, order along it, x, y); then sorted and thinned out.
    points = np.concatenate(
        [
            _rows(everything, 0, leave, border),
            _rows(everything, 1, leave, bottom[rank[upper]]),
            _rows(edge, 2 * step + 2, bend_x, top[passed]),
            _rows(edge, 2 * step + 3, bend_x, bottom[passed]),
            _rows(everything, 2 * count + 2, enter, top[rank[lower]]),
        ]
    )
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    points = points[_needed(points)]
    straight = (count == 0) & (leave == x[upper]) & (enter == x[lower]) & (border == bottom[rank[upper]])
    points = points[~straight[points[:, 0].astype(np.int64)]]
    owner = points[:, 0].astype(np.int64)
    route = points[:, 2:]
    turned = tail[drawn] != upper
    owner, route = _turned(owner, route, turned)
    passes = x[first[edge] + np.where(turned[edge], count[edge] - 1 - step, step)]
    sizes = np.bincount(owner, minlength=len(upper)) if len(owner) else np.zeros(len(upper), dtype=np.int64)
    edge_of_box = x[: len(width)] + width / 2
    reach = max(edge_of_box.max(initial=0.0), x.max(initial=0.0)) + MARGIN
    total = float(bottom[-1]) + MARGIN if len(bottom) else 2 * MARGIN
    y = top[rank] + height / 2
    return Placement(
        width=float(reach),
        height=total,
        x=x[: len(width)],
        y=y,
        rank=rank,
        drawn=drawn,
        cut=cut,
        route_at=_offsets(sizes),
        route=route,
        pass_at=_offsets(count),
        passes=passes,
    )


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def _rows(edge: Ints, order: Ints | int, x: Floats, y: Floats) -> Floats:
    rows = np.empty((len(edge), 4))
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = edge, order, x, y
    return rows


def _towards(x: Floats, other: Ints, joints: tuple[Ints, Ints], *, first: bool) -> Floats:
    """The x that a line heads for when it leaves (or comes from when it enters) a box."""
    number, count = joints
    beside = number if first else number + count - 1
    return np.where(count > 0, x[np.where(count > 0, beside, 0)], x[other]) if len(other) else np.zeros(0)


def _ports(x: Floats, width: Floats, box: Ints, towards: Floats) -> Floats:
    """Spreads the lines at one side of each box over its middle, in the order of where they lead."""
    if not len(box):
        return np.zeros(0)
    order = np.lexsort((towards, box))
    box = box[order]
    first = box.searchsorted(box)
    sizes = box.searchsorted(box, side="right") - first
    gap = np.minimum(_PORT_GAP, width[box] * 0.7 / sizes)
    found = np.empty(len(box))
    found[order] = x[box] + (np.arange(len(box)) - first - (sizes - 1) / 2) * gap
    return found


def _needed(points: Floats) -> np.ndarray:
    """Points that repeat the one before them, or lie upright between their neighbours, are not."""
    keep = np.ones(len(points), dtype=np.bool_)
    if len(points) > 1:
        same = (points[1:, 0] == points[:-1, 0]) & (np.abs(points[1:, 2:] - points[:-1, 2:]).max(axis=1) < 0.01)
        keep[1:] = ~same
        kept = np.flatnonzero(keep)
        rows = points[kept]
        upright = np.zeros(len(rows), dtype=np.bool_)
        one_edge = (rows[2:, 0] == rows[:-2, 0]) if len(rows) > 2 else np.zeros(0, dtype=np.bool_)
        if len(rows) > 2:
            level = (np.abs(rows[1:-1, 2] - rows[:-2, 2]) < 0.01) & (np.abs(rows[2:, 2] - rows[1:-1, 2]) < 0.01)
            upright[1:-1] = one_edge & level
        keep[kept[upright]] = False
    return keep


def _turned(owner: Ints, route: Floats, turned: np.ndarray) -> tuple[Ints, Floats]:
    """Routes of edges that were turned round, from their own tail to their own head."""
    if not turned.any() or not len(owner):
        return owner, route
    number = np.arange(len(owner))
    order = np.lexsort((np.where(turned[owner], -number, number), owner))
    return owner[order], route[order]
