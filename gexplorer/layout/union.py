"""The graph before and after a step as one: every node of either, in containers, and what flows between boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.layout.flow import Atlas, Flow
from gexplorer.layout.placement import Bools, Ints

BEFORE, AFTER, BOTH, CHANGED = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Union:
    """Boxes and what flows between them; boxes are nodes, then containers, by number.

    Attributes:
        nodes: number of each node in the document: of the version after, where it has both; inputs and outputs of the
            graph are among them, see ``boundary``.
        identity: of each node.
        status: of each node: 1 before, 2 after, 3 both, and 4 more where it changed.
        groups: containers that are drawn, by their number in the atlas, outer ones first.
        home: by node, then by container: the container that it is drawn in, as index of ``groups``; the root's is -1.
        order: by node, then by container: place in program order.
        edges: rows (container, from box, to box, value, status), bundled; sorted.
        stubs: rows (container, box, side, value); sorted.
    """

    nodes: Ints
    identity: Ints
    status: Ints
    groups: Ints
    home: Ints
    order: Ints
    edges: Ints
    stubs: Ints


def united(atlas: Atlas, before: Flow, after: Flow, chosen: Ints | None = None) -> Union:
    """Unites two flows.

    Args:
        atlas: of the trace.
        before: the flow before.
        after: the flow after.
        chosen: identities of the nodes to be drawn, in one container; all of them in theirs without it.
    """
    size = int(max(before.identity.max(initial=-1), after.identity.max(initial=-1))) + 1
    old, new = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    old[before.identity] = np.arange(len(before.nodes))
    new[after.identity] = np.arange(len(after.nodes))
    only_before = np.flatnonzero(new[before.identity] < 0)
    column = {
        name: np.concatenate([getattr(after, name), getattr(before, name)[only_before]])
        for name in ("nodes", "identity", "group", "order")
    }
    sorted_ = np.lexsort((column["identity"], column["order"]))
    if chosen is not None:
        sorted_ = sorted_[np.isin(column["identity"][sorted_], chosen)]
    nodes, identity, group = (column[name][sorted_] for name in ("nodes", "identity", "group"))
    was, is_ = old[identity], new[identity]
    status = (was >= 0) * BEFORE + (is_ >= 0) * AFTER
    both = np.flatnonzero(status == BOTH)
    status[both[before.nodes[was[both]] != after.nodes[is_[both]]]] += CHANGED
    box = np.full(size, -1, dtype=np.int64)
    box[identity] = np.arange(len(nodes))
    if chosen is not None:
        group = np.zeros_like(group)
    places = _Places(atlas, group, np.arange(len(nodes)))
    flows = [_Mapped(flow, box, bit) for flow, bit in ((before, BEFORE), (after, AFTER))]
    edges, stubs = places.lifted(np.concatenate([flow.edges for flow in flows]))
    ends = np.concatenate([flow.ends for flow in flows])
    stubs = np.concatenate([stubs, places.lifted_out(ends)])
    return Union(
        nodes,
        identity,
        status,
        places.groups,
        places.home,
        places.order,
        _bundled(edges),
        _distinct(stubs),
    )


class _Mapped:
    """A flow in terms of boxes: edges as rows (from, to, value, status), ends as rows (box, side, value)."""

    def __init__(self, flow: Flow, box: Ints, bit: int) -> None:
        start, end, value = box[flow.edges[:, 0]], box[flow.edges[:, 1]], flow.edges[:, 2]
        whole = (start >= 0) & (end >= 0) & (start != end)
        self.edges = np.stack([start, end, value, np.full_like(value, bit)], axis=1)[whole]
        # What flows between a drawn node and one that is not is a stub of the drawn one.
        comes = (start < 0) & (end >= 0)
        goes = (start >= 0) & (end < 0)
        ends = [
            _ends(box[flow.enters[:, 0]], 0, flow.enters[:, 1]),
            _ends(box[flow.leaves[:, 0]], 1, flow.leaves[:, 1]),
            _ends(end[comes], 0, value[comes]),
            _ends(start[goes], 1, value[goes]),
        ]
        every = np.concatenate(ends)
        self.ends = every[every[:, 0] >= 0]


def _ends(box: Ints, side: int, value: Ints) -> Ints:
    return np.stack([box, np.full_like(box, side), value], axis=1)


class _Places:
    """The containers of a picture: those with one box in them are left out, the box stands in their place."""

    def __init__(self, atlas: Atlas, group: Ints, order: Ints) -> None:
        used, counts = np.unique(group, return_counts=True)
        loose: dict[int, int] = dict(zip(used.tolist(), counts.tolist(), strict=True))
        around = atlas.around
        seen = {0}
        for one in loose:
            while one not in seen:
                seen.add(one)
                one = around[one]
        active = sorted(seen)
        inside = dict.fromkeys(active, 0)
        for one in active[1:]:
            inside[around[one]] += 1
        kept = [one for one in active if not one or inside[one] + loose.get(one, 0) > 1]
        index = {one: position for position, one in enumerate(kept)}
        home = {0: 0}
        for one in active[1:]:
            home[one] = index[one] if one in index else home[around[one]]
        self.groups = np.array(kept, dtype=np.int64)
        self._nodes = len(group)
        to_home = np.full(active[-1] + 1, -1, dtype=np.int64)
        to_home[active] = [home[one] for one in active]
        outer = np.array([-1, *(home[around[one]] for one in kept[1:])], dtype=np.int64)
        self.home = np.concatenate([to_home[group], outer])
        depth = [0] * len(kept)
        for position, above in enumerate(outer.tolist()[1:], 1):
            depth[position] = depth[above] + 1
        self._outer, self._depth = outer, np.array(depth, dtype=np.int64)
        first = np.full(len(kept), np.iinfo(np.int64).max)
        np.minimum.at(first, to_home[group], order)
        for position in range(len(kept) - 1, 0, -1):
            above = outer[position]
            first[above] = min(first[above], first[position])
        self.order = np.concatenate([order, first])

    def lifted(self, edges: Ints) -> tuple[Ints, Ints]:
        """Edges between the boxes of one container, and stubs where something goes in or out of a container."""
        start, end, value, bit = edges.T
        here, there = self.home[start], self.home[end]
        stubs: list[Ints] = []
        while (apart := here != there).any():
            up, down = self._depth[here], self._depth[there]
            for lift, where, box, side in (
                (apart & (up >= down), here, start, 1),
                (apart & (down >= up), there, end, 0),
            ):
                at = np.flatnonzero(lift)
                stubs.append(np.stack([where[at], box[at], np.full_like(at, side), value[at]], axis=1))
            lift, drop = apart & (up >= down), apart & (down >= up)
            start, here = np.where(lift, self._nodes + here, start), np.where(lift, self._outer[here], here)
            end, there = np.where(drop, self._nodes + there, end), np.where(drop, self._outer[there], there)
        every = np.concatenate(stubs) if stubs else np.zeros((0, 4), dtype=np.int64)
        return np.stack([here, start, end, value, bit], axis=1), every

    def lifted_out(self, ends: Ints) -> Ints:
        """Stubs for what comes from or goes to the outside of the graph, on every container around the box."""
        box, side, value = ends.T
        stubs: list[Ints] = []
        while len(box):
            where = self.home[box]
            stubs.append(np.stack([where, box, side, value], axis=1))
            inner = where > 0
            box, side, value = self._nodes + where[inner], side[inner], value[inner]
        return np.concatenate(stubs) if stubs else np.zeros((0, 4), dtype=np.int64)


def _distinct(rows: Ints) -> Ints:
    """Sorted, none twice."""
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[_firsts(rows)]


def _firsts(rows: Ints) -> Bools:
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return first


def _bundled(edges: Ints) -> Ints:
    """One row for all that flows from one box to another: the value with the fewest users, the lowest of equals."""
    if not len(edges):
        return edges
    users = np.bincount(edges[:, 3] + 1)[edges[:, 3] + 1]
    rows = edges[np.lexsort((edges[:, 3], users, edges[:, 2], edges[:, 1], edges[:, 0]))]
    starts = np.flatnonzero(_firsts(rows[:, :3]))
    status = np.bitwise_or.reduceat(rows[:, 4], starts)
    bundled = rows[starts]
    bundled[:, 4] = status
    return bundled
