"""Containers as they are drawn: their boxes, what flows between them, and runs of equal siblings folded into one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gexplorer.layout.boundary import INPUT, end_of, is_boundary
from gexplorer.layout.box import closed_size
from gexplorer.layout.flow import Atlas
from gexplorer.layout.union import BOTH, CHANGED, Union

_NUMBER = re.compile(r"[ .]?#?[0-9]+(-[0-9]+)?\Z")


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """A container with what is drawn in it; equal siblings are one box. Compared by identity.

    Attributes:
        group: its number in the atlas; of the first of the alike for a repeated block.
        label: for people.
        kind: ``graph``, ``scope``, ``repeat`` or ``nested``.
        look: equal numbers for containers that look the same, labels of their own apart.
        shape: equal numbers for containers that a layout cannot tell apart.
        count: how often it stands there; 1 unless repeated.
        instances: those that are alike, itself not among them.
        boxes: numbers of nodes, inputs and outputs, and rooms.
        names: by box, what it is called from step to step: identity of the node, or -1 - group.
        sizes: width and height of each box, in px.
        status: of each box, see ``Union``.
        edges: rows (from, to, value, status) of boxes of this room.
        stubs: rows (box, side, value).
        on_top: which boxes are inputs of the whole graph, that stand above all else.
        nodes: how many are inside, at any depth; inputs and outputs do not count.
        total: the status of all that is inside.
    """

    group: int
    label: str
    kind: str
    look: int
    shape: int
    count: int
    instances: tuple[Room, ...]
    boxes: tuple[int | Room, ...]
    names: tuple[int, ...]
    sizes: tuple[tuple[float, float], ...]
    status: tuple[int, ...]
    edges: tuple[tuple[int, int, int, int], ...]
    stubs: tuple[tuple[int, int, int], ...]
    on_top: tuple[int, ...]
    nodes: int
    total: int


RoomsState = tuple[dict[int, tuple[object, Room]], dict[tuple[Room, ...], Room]]


@dataclass(slots=True)
class Rooms:
    """Makes rooms of one trace; what is the same as in the picture before is the same object.

    Attributes:
        atlas: of the trace.
    """

    atlas: Atlas
    _looks: dict[object, int] = field(default_factory=dict[object, int])
    _shapes: dict[object, int] = field(default_factory=dict[object, int])
    _last: dict[int, tuple[object, Room]] = field(default_factory=dict[int, "tuple[object, Room]"])
    _repeats: dict[tuple[Room, ...], Room] = field(default_factory=dict["tuple[Room, ...]", Room])

    @property
    def state(self) -> RoomsState:
        """What the next picture will be compared with."""
        return self._last, self._repeats

    def since(self, state: RoomsState, atlas: Atlas) -> Rooms:
        """Others, whose next picture follows an earlier one of these."""
        return Rooms(atlas, dict(self._looks), dict(self._shapes), *state)

    def built(self, union: Union) -> list[Room]:
        """The rooms of a picture, what is inside before what it is inside of; the last one is the whole."""
        slices = _Slices(union)
        groups: list[int] = union.groups.tolist()
        made: list[Room] = []
        by_index: dict[int, Room] = {}
        kept: dict[int, tuple[object, Room]] = {}
        repeats: dict[tuple[Room, ...], Room] = {}
        for index in range(len(groups) - 1, -1, -1):
            inner = slices.rooms[index]
            key = (slices.key(index), tuple([by_index[box] for box in inner]))
            group = groups[index]
            last = self._last.get(group)
            if last is not None and last[0] == key:
                room = last[1]
                for box in room.boxes:
                    if isinstance(box, Room) and box.kind == "repeat":
                        repeats[box.instances] = box
                        made.append(box)
            else:
                room = self._room(group, slices.contents(index), by_index, repeats, made)
            kept[group] = (key, room)
            by_index[index] = room
            made.append(room)
        self._last, self._repeats = kept, repeats
        return made

    def _room(
        self,
        group: int,
        contents: _Contents,
        by_index: dict[int, Room],
        repeats: dict[tuple[Room, ...], Room],
        made: list[Room],
    ) -> Room:
        drawn: list[int | Room] = []
        local: dict[int, int] = {}
        for run in self._folded(contents, by_index):
            for position in run:
                local[contents.boxes[position]] = len(drawn)
            box = contents.boxes[run[0]]
            if box >= 0:
                drawn.append(box)
            elif len(run) == 1:
                drawn.append(by_index[-1 - box])
            else:
                drawn.append(self._repeat(tuple(by_index[-1 - contents.boxes[one]] for one in run), repeats, made))
        first = dict(zip(contents.boxes, contents.status, strict=True))
        names: list[int] = []
        sizes: list[tuple[float, float]] = []
        looks: list[object] = []
        states: list[int] = []
        nodes = 0
        on_top: list[int] = []
        for position, box in enumerate(drawn):
            if isinstance(box, int):
                fact = self.atlas.facts[box]
                names.append(fact.identity)
                sizes.append(fact.size)
                looks.append(fact.kind)
                states.append(first[box])
                if not is_boundary(box):
                    nodes += 1
                elif not group and end_of(box)[1] == INPUT:
                    on_top.append(position)
            else:
                names.append(-1 - box.group)
                sizes.append(_size(box))
                looks.append((box.look, box.count, box.label))
                states.append(box.total)
                nodes += box.nodes * box.count
        status = tuple(states)
        edges = _joined((local[a], local[b], value, bits) for a, b, value, bits in contents.edges)
        stubs = _sorted_stubs({(local[box], side, value) for box, side, value in contents.stubs})
        # Values go by numbers of their own here: containers that look the same number theirs alike.
        number: dict[int, int] = {}
        ends = tuple([(box, side, number.setdefault(value, len(number))) for box, side, value in stubs])
        lines = tuple([(a, b, number.setdefault(value, len(number))) for a, b, value, _ in edges])
        shape = self._shapes.setdefault((tuple(sizes), lines, ends, tuple(on_top)), len(self._shapes))
        look = self._look((shape, tuple(looks), status, tuple([bits for _, _, _, bits in edges])))
        nested = self.atlas.nested[group]
        return Room(
            group=group,
            label=self.atlas.groups[group][-1] if group else "",
            kind="graph" if not group else "nested" if nested else "scope",
            look=look,
            shape=shape,
            count=1,
            instances=(),
            boxes=tuple(drawn),
            names=tuple(names),
            sizes=tuple(sizes),
            status=status,
            edges=edges,
            stubs=stubs,
            on_top=tuple(on_top),
            nodes=nodes,
            total=_total(status),
        )

    def _folded(self, contents: _Contents, by_index: dict[int, Room]) -> list[list[int]]:
        """Runs of equal siblings, as positions among the boxes."""
        if sum([box < 0 for box in contents.boxes]) < 2:
            return [[position] for position in range(len(contents.boxes))]
        place = {box: position for position, box in enumerate(contents.boxes)}
        above: list[list[int]] = [[] for _ in contents.boxes]
        for start, end, _, _ in contents.edges:
            above[place[end]].append(place[start])
        return _runs([by_index[-1 - box] if box < 0 else None for box in contents.boxes], above)

    def _repeat(self, alike: tuple[Room, ...], repeats: dict[tuple[Room, ...], Room], made: list[Room]) -> Room:
        found = self._repeats.get(alike)
        if found is None:
            one = alike[0]
            found = Room(
                group=one.group,
                label=_NUMBER.sub("", one.label) or one.label,
                kind="repeat",
                look=self._look(("repeat", one.look, len(alike))),
                shape=one.shape,
                count=len(alike),
                instances=alike,
                boxes=one.boxes,
                names=one.names,
                sizes=one.sizes,
                status=one.status,
                edges=one.edges,
                stubs=one.stubs,
                on_top=one.on_top,
                nodes=one.nodes,
                total=one.total,
            )
        repeats[alike] = found
        made.append(found)
        return found

    def _look(self, key: object) -> int:
        return self._looks.setdefault(key, len(self._looks))


def _size(room: Room) -> tuple[float, float]:
    return closed_size(room.label, room.nodes * room.count, room.count)


def _runs(rooms: Sequence[Room | None], above: Sequence[Sequence[int]]) -> list[list[int]]:
    """Siblings that look the same, in runs; all others alone. The first of each run stands for its place.

    What stands between two of a run must not lead from one to the other: folding would close a circle.

    Args:
        rooms: by position, the container that stands there; None for a node.
        above: by position, the earlier positions that it is fed from.
    """
    runs: list[list[int]] = []
    open_: dict[tuple[int, str], tuple[list[int], set[int]]] = {}  # by look: the run, and what it leads to
    for position, room in enumerate(rooms):
        fed = above[position]
        key = (room.look, room.kind) if room is not None else None
        for look, (run, behind) in open_.items():
            if look != key and fed and not (behind.isdisjoint(fed) and set(run).isdisjoint(fed)):
                behind.add(position)
        if key is None:
            runs.append([position])
        elif key in open_ and open_[key][1].isdisjoint(fed):
            open_[key][0].append(position)
        else:
            runs.append([position])
            open_[key] = (runs[-1], set())
    return runs


def _joined(edges: Iterable[tuple[int, int, int, int]]) -> tuple[tuple[int, int, int, int], ...]:
    """Edges between the boxes that are drawn: one from each to each, none to itself."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for start, end, value, status in edges:
        if start != end:
            known = found.get((start, end))
            found[start, end] = (value, status) if known is None else (known[0], known[1] | status)
    return tuple([(start, end, value, status) for (start, end), (value, status) in sorted(found.items())])


def _sorted_stubs(stubs: set[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Stubs by box, side, and where else the value comes or goes: so equal blocks agree; then by value."""
    where: dict[int, list[tuple[int, int]]] = {}
    for box, side, value in stubs:
        where.setdefault(value, []).append((box, side))
    for ends in where.values():
        ends.sort()
    return tuple(sorted(stubs, key=lambda stub: (stub[0], stub[1], where[stub[2]], stub[2])))


def _total(status: Iterable[int]) -> int:
    sides = change = 0
    for one in status:
        sides |= one & BOTH
        change |= CHANGED if one != BOTH else 0
    return sides | change


@dataclass(frozen=True, slots=True)
class _Contents:
    """What is in one container: boxes as numbers of nodes, inputs and outputs, or -1 - index of a container."""

    boxes: list[int]
    status: list[int]
    edges: list[tuple[int, int, int, int]]
    stubs: list[tuple[int, int, int]]


class _Slices:
    """The contents of every container of a union, cut from its arrays.

    Attributes:
        rooms: by container, the containers in it.
    """

    def __init__(self, union: Union) -> None:
        groups = len(union.groups)
        order = np.lexsort((np.arange(len(union.home)), union.order, union.home))
        order = order[union.home[order] >= 0]
        number = np.concatenate([union.nodes, -1 - np.arange(groups)])
        lasting = np.concatenate([union.nodes, -1 - union.groups])
        status = np.concatenate([union.status, np.zeros(groups, dtype=np.int64)])
        self._boxes, self._status = number[order], status[order]
        cuts = np.arange(groups + 1)
        self._at: list[int] = np.searchsorted(union.home[order], cuts).tolist()
        self.rooms: list[list[int]] = [[] for _ in range(groups)]
        inner = self._boxes < 0
        for outer, box in zip(union.home[order][inner].tolist(), self._boxes[inner].tolist(), strict=True):
            self.rooms[outer].append(-1 - box)
        edges, stubs = union.edges, union.stubs
        self._edge_at: list[int] = np.searchsorted(edges[:, 0], cuts).tolist()
        self._stub_at: list[int] = np.searchsorted(stubs[:, 0], cuts).tolist()
        self._edges = np.column_stack([number[edges[:, 1:3]], edges[:, 3:]]) if len(edges) else edges[:, 1:]
        self._stubs = np.column_stack([number[stubs[:, 1]], stubs[:, 2:]]) if len(stubs) else stubs[:, 1:]
        # The same with names that mean the same in every picture.
        self._keys = (
            np.column_stack([lasting[order], self._status]),
            np.column_stack([lasting[edges[:, 1:3]], edges[:, 3:]]) if len(edges) else edges[:, 1:],
            np.column_stack([lasting[stubs[:, 1]], stubs[:, 2:]]) if len(stubs) else stubs[:, 1:],
        )

    def contents(self, index: int) -> _Contents:
        """What is in one container."""
        boxes, edges, stubs = self._cuts(index)
        return _Contents(
            boxes=self._boxes[boxes].tolist(),
            status=self._status[boxes].tolist(),
            edges=list(map(tuple, self._edges[edges].tolist())),
            stubs=list(map(tuple, self._stubs[stubs].tolist())),
        )

    def key(self, index: int) -> tuple[bytes, ...]:
        """Equal for containers that hold the same in two pictures, as far as it is no container itself."""
        boxes, edges, stubs = self._cuts(index)
        lasting, lines, ends = self._keys
        return lasting[boxes].tobytes(), lines[edges].tobytes(), ends[stubs].tobytes()

    def _cuts(self, index: int) -> tuple[slice, slice, slice]:
        return (
            slice(self._at[index], self._at[index + 1]),
            slice(self._edge_at[index], self._edge_at[index + 1]),
            slice(self._stub_at[index], self._stub_at[index + 1]),
        )
