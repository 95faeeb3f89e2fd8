"""The part ``scenes`` of the explorer's document: for every step that changed the graph one picture of both sides.

A picture unites the graph before and after, laid out once, so that looking at one or the other moves nothing. What is
the same as in the picture before keeps its container, its template and its coordinates; the order of what is new in a
container starts from where its boxes stood. Containers that look the same share a template. The stages after the passes
have one picture more, of what they are about: the result alone, without the room that removed nodes took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gexplorer.ir.graph import Graph
from gexplorer.layout.bodies import Bodies
from gexplorer.layout.boundary import KINDS, end_of, is_boundary
from gexplorer.layout.flow import Atlas
from gexplorer.layout.openness import opened
from gexplorer.layout.paths import Paths
from gexplorer.layout.rooms import Room, Rooms, RoomsState
from gexplorer.layout.template import Laid, Sketch, Stood, int32, laid_out
from gexplorer.layout.union import Union, united
from gexplorer.trace.records import Step
from gexplorer.views.explorer.numbering import Numbering

# So many boxes of closed containers are laid out, over all pictures; those of others the front end stands in rows.
IN_ADVANCE = 12_000
_NOTHING = Sketch((), (), ())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A picture: the index of its step (-1 for the result alone) and the two graphs that it unites."""

    step: int
    before: Graph
    after: Graph

    @property
    def of_result(self) -> bool:
        return self.step < 0


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A template, which of a room's edges have a line in it and which have stubs, and where lines go through ranks."""

    number: int
    drawn: tuple[int, ...]
    cut: tuple[int, ...]
    passes: dict[int, tuple[float, ...]]
    shape: int


@dataclass(frozen=True, slots=True)
class _Mark:
    """How things stood when a picture was done: what it takes to go on from there again."""

    of_result: bool
    before: Graph
    after: Graph
    rooms: RoomsState
    drawn: dict[Room, _Drawn]
    by_group: dict[int, tuple[Room, _Drawn]]
    open: set[int]
    containers: int
    templates: int
    strings: int
    spent: int
    bodies: int
    ends: int


@dataclass(slots=True)
class Scenes:
    """Pictures of a trace, made one after the other.

    Attributes:
        numbering: of the trace.
        strings: labels.
        roots: by picture, its outermost container.
        steps: by picture, index of the step; -1 for the result alone.
        containers: of all pictures.
        templates: of all containers.
        ends: inputs and outputs of the graph: the container that stands for it, and its value.
    """

    numbering: Numbering
    atlas: Atlas
    rooms: Rooms
    strings: list[str] = field(default_factory=list[str])
    roots: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    containers: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])
    templates: list[dict[str, object]] = field(default_factory=list["dict[str, object]"])
    ends: list[tuple[int, int]] = field(default_factory=list["tuple[int, int]"])
    _bodies: Bodies = field(init=False)
    _string: dict[str, int] = field(default_factory=dict[str, int])
    _drawn: dict[Room, _Drawn] = field(default_factory=dict[Room, _Drawn])
    _by_group: dict[int, tuple[Room, _Drawn]] = field(default_factory=dict[int, "tuple[Room, _Drawn]"])
    _template: dict[object, _Drawn] = field(default_factory=dict[object, _Drawn])
    _laid: dict[object, Laid] = field(default_factory=dict[object, Laid])  # shared with all that go on from these
    _container: dict[object, int] = field(default_factory=dict[object, int])
    _open: set[int] = field(default_factory=set[int])
    _spent: int = 0
    _marks: list[_Mark] = field(default_factory=list["_Mark"])

    def __post_init__(self) -> None:
        """The bodies of kernels share strings and templates with the pictures."""
        self._bodies = Bodies(self.atlas, self._text, self._template_of)

    @classmethod
    def empty(cls, steps: Sequence[Step], numbering: Numbering) -> Scenes:
        """No pictures yet."""
        changes = numbering.scene_steps
        source = steps[changes[1]].before if len(changes) > 1 else steps[-1].after if steps else None
        atlas = Atlas(Paths(source), numbering)
        return cls(numbering, atlas, Rooms(atlas))

    def up_to(self, wanted: Sequence[_Wanted], numbering: Numbering) -> Scenes | None:
        """The pictures that another trace has too, to go on from; None where there are none. Nothing changes here."""
        same = 0
        for one, mark in zip(wanted, self._marks, strict=False):
            if one.of_result != mark.of_result or one.before is not mark.before or one.after is not mark.after:
                break
            same += 1
        if not same:
            return None
        mark = self._marks[same - 1]
        atlas = self.atlas.renumbered(numbering)
        made = Scenes(numbering, atlas, self.rooms.since(mark.rooms, atlas))
        made.roots, made._marks = self.roots[:same], self._marks[:same]
        made.steps = [one.step for one in wanted[:same]]  # what changes nothing may have come or gone between
        made.containers, made.templates = self.containers[: mark.containers], self.templates[: mark.templates]
        made.strings, made.ends = self.strings[: mark.strings], self.ends[: mark.ends]
        made._string = {text: number for text, number in self._string.items() if number < mark.strings}
        made._container = {key: number for key, number in self._container.items() if number < mark.containers}
        made._template = {key: drawn for key, drawn in self._template.items() if drawn.number < mark.templates}
        made._drawn, made._by_group, made._open, made._spent = mark.drawn, mark.by_group, mark.open, mark.spent
        made._bodies.made += self._bodies.made[: mark.bodies]
        made._laid = self._laid
        return made

    def add(self, wanted: _Wanted) -> int:
        """Adds the picture of a step, or of the result; returns its number."""
        before, after = wanted.before, wanted.after
        union = united(self.atlas, self.atlas.flow(before), self.atlas.flow(after))
        drawn, by_group = self.picture(union, wanted.step)
        sizes = (len(self.containers), len(self.templates), len(self.strings), self._spent)
        sizes = (*sizes, len(self._bodies.made), len(self.ends))
        self._marks.append(
            _Mark(wanted.of_result, before, after, self.rooms.state, drawn, by_group, self._open, *sizes)
        )
        return len(self.roots) - 1

    def picture(self, union: Union, index: int) -> tuple[dict[Room, _Drawn], dict[int, tuple[Room, _Drawn]]]:
        """Adds a picture of any two graphs as one; returns how its containers are drawn, also by group."""
        made = self.rooms.built(union)
        whole = made[-1]
        drawn: dict[Room, _Drawn] = {}
        self._open, looks = opened(whole, self._open, lambda room: self._height(self._draw(room, drawn)))
        by_group: dict[int, tuple[Room, _Drawn]] = {}
        numbers: dict[Room, int] = {}
        for room in made:
            where = drawn.get(room)
            if where is None and (room in self._drawn or self._spent < IN_ADVANCE):
                where = self._draw(room, drawn)
            if where is not None:
                by_group.setdefault(room.group, (room, where))
            numbers[room] = self._emit(room, where, room.look in looks or room is whole, numbers)
        self._bodies.add(union.nodes, self.numbering)
        self._drawn, self._by_group = drawn, by_group
        self.roots.append(numbers[whole])
        self.steps.append(index)
        return drawn, by_group

    def part(self) -> dict[str, object]:
        """The part as the document has it."""
        return {
            "strings": list(self.strings),
            "roots": int32(self.roots),
            "steps": int32(self.steps),
            "containers": list(self.containers),
            "templates": list(self.templates),
            "ends": {
                "container": int32([one for one, _ in self.ends]),
                "value": int32([value for _, value in self.ends]),
            },
            "bodies": self._bodies.part(),
        }

    def _draw(self, room: Room, drawn: dict[Room, _Drawn]) -> _Drawn:
        found = self._drawn.get(room)
        if found is None and room.kind == "repeat":
            found = self._draw(room.instances[0], drawn)
        if found is None:
            last = self._by_group.get(room.group)
            found = last[1] if last is not None and last[1].shape == room.shape else self._laid_out(room, last)
        drawn[room] = found
        return found

    def _laid_out(self, room: Room, last: tuple[Room, _Drawn] | None) -> _Drawn:
        stood = None if last is None else _stood(room, *last, self.templates[last[1].number])
        places = None if stood is None else (stood.x.tobytes(), tuple(stood.passes.items()))
        key = (room.shape, places)
        found = self._template.get(key)
        if found is None:
            laid = self._lay(_sketch(room), stood, places)
            found = self._template[key] = _Drawn(len(self.templates), laid.drawn, laid.cut, laid.passes, room.shape)
            ends = [(box, side) for box, side, _ in _stubs(room, laid.cut)]
            self.templates.append(_with_stubs(laid.template, ends))
            self._spent += len(room.boxes)
        return found

    def _lay(self, sketch: Sketch, stood: Stood | None = None, places: object = None) -> Laid:
        """Lays a sketch out; what these pictures, or others that they go on from, had at the same places is known."""
        found = self._laid.get((sketch, places))
        if found is None:
            found = self._laid[sketch, places] = laid_out(sketch, stood)
        return found

    def _emit(self, room: Room, where: _Drawn | None, is_open: bool, numbers: dict[Room, int]) -> int:
        # A room has the same nodes whenever it is emitted; the rooms in it may have other containers.
        inner = tuple([numbers[box] for box in room.boxes if isinstance(box, Room)])
        key = (room, is_open, -1 if where is None else where.number, inner)
        found = self._container.get(key)
        if found is None:
            members = [
                (box if not is_boundary(box) else -1 - self._end(box)) if isinstance(box, int) else -1 - numbers[box]
                for box in room.boxes
            ]
            found = self._container[key] = len(self.containers)
            self.containers.append(
                {
                    "label": self._text(room.label),
                    "kind": room.kind,
                    "count": room.count,
                    "instances": int32([numbers[one] for one in room.instances]),
                    "open": is_open,
                    "members": int32(members),
                    "status": np.array(room.status, dtype=np.uint8),
                    "nodes": room.nodes,
                    **self._lines(room, where),
                }
            )
        return found

    def _end(self, number: int) -> int:
        """The container that stands for an input or output of the graph: there is nothing in it."""
        found = self._container.get(number)
        if found is None:
            found = self._container[number] = len(self.containers)
            value, side = end_of(number)
            self.ends.append((found, value))
            self.containers.append(
                {
                    "label": self._text(self.numbering.values[value]),
                    "kind": KINDS[side],
                    "count": 1,
                    "instances": int32([]),
                    "open": False,
                    "members": int32([]),
                    "status": np.zeros(0, dtype=np.uint8),
                    "nodes": 0,
                    "template": self._template_of(_NOTHING)[0],
                    "edge_values": int32([]),
                    "edge_status": np.zeros(0, dtype=np.uint8),
                    "stub_values": int32([]),
                }
            )
        return found

    def _template_of(self, sketch: Sketch) -> tuple[int, tuple[int, ...]]:
        """The template of what is no room (the body of a kernel, or nothing), and which edges are stubs in it."""
        found = self._template.get(sketch)
        if found is None:
            laid = self._lay(sketch)
            found = self._template[sketch] = _Drawn(len(self.templates), laid.drawn, laid.cut, laid.passes, -1)
            cut = [end for one in laid.cut for end in ((sketch.edges[one][0], 1), (sketch.edges[one][1], 0))]
            self.templates.append(_with_stubs(laid.template, [*sketch.ends, *cut]))
        return found.number, found.cut

    def _lines(self, room: Room, where: _Drawn | None) -> dict[str, object]:
        """What a container's entry says of its template."""
        edges = room.edges
        drawn, cut = (where.drawn, where.cut) if where is not None else ((), ())
        stubs = _stubs(room, cut) if where is not None else []
        return {
            "template": -1 if where is None else where.number,
            "edge_values": int32([edges[one][2] for one in drawn]),
            "edge_status": np.array([edges[one][3] for one in drawn], dtype=np.uint8),
            "stub_values": int32([value for _, _, value in stubs]),
        }

    def _height(self, where: _Drawn) -> float:
        height = self.templates[where.number]["height"]
        assert isinstance(height, int)
        return height

    def _text(self, text: str) -> int:
        found = self._string.get(text)
        if found is None:
            found = self._string[text] = len(self.strings)
            self.strings.append(text)
        return found


def scenes_part(steps: Sequence[Step], numbering: Numbering, previous: Scenes | None = None) -> dict[str, object]:
    """The pictures of a trace.

    Args:
        steps: of the trace, in order.
        numbering: of its nodes and values.
        previous: the pictures of another trace of the same model, see ``scenes_of``.

    Returns:
        The part ``scenes`` of the document: plain data and numpy arrays.
    """
    return scenes_of(steps, numbering, previous).part()


def scenes_of(steps: Sequence[Step], numbering: Numbering, previous: Scenes | None = None) -> Scenes:
    """The pictures of a trace, with what is needed to make more of them.

    Args:
        steps: of the trace, in order.
        numbering: of its nodes and values; of the first steps the same as in ``previous``, where these are the same.
        previous: the pictures of another trace of the same model; those of the first steps, as long as their graphs are
            the same objects, are taken over.
    """
    wanted = [_Wanted(index, steps[index].before, steps[index].after) for index in numbering.scene_steps]
    if numbering.result_from < len(steps):
        wanted.append(_Wanted(-1, steps[-1].after, steps[-1].after))
    scenes = previous.up_to(wanted, numbering) if previous is not None else None
    if scenes is None:
        scenes = Scenes.empty(steps, numbering)
    for one in wanted[len(scenes.roots) :]:
        scenes.add(one)
    return scenes


def _stubs(room: Room, cut: Sequence[int]) -> list[tuple[int, int, int]]:
    """Stubs of what comes and goes, and of the edges that are not drawn: box, side, value."""
    found = list(room.stubs)
    for one in cut:
        start, end, value, _ = room.edges[one]
        found += [(start, 1, value), (end, 0, value)]
    return list(dict.fromkeys(found))


def _sketch(room: Room) -> Sketch:
    """What is laid out of a room. What flows goes by numbers of the room: those that look the same number it alike."""
    number: dict[int, int] = {}
    edges = tuple([(start, end, number.setdefault(value, len(number))) for start, end, value, _ in room.edges])
    return Sketch(room.sizes, edges, (), room.on_top)


def _with_stubs(template: dict[str, object], ends: Sequence[tuple[int, int]]) -> dict[str, object]:
    """A template with its stubs as (box, side)."""
    return {
        **template,
        "stub_box": int32([box for box, _ in ends]),
        "stub_side": np.array([side for _, side in ends], dtype=np.uint8),
    }


def _stood(room: Room, was: Room, drawn: _Drawn, template: dict[str, object]) -> Stood | None:
    """How a room stood in the picture before, None where too little of it was there."""
    x = template["x"]
    assert isinstance(x, np.ndarray)
    known: dict[int, float] = dict(zip(was.names, x.tolist(), strict=True))
    seeds = np.array([known.get(name, np.nan) for name in room.names])
    if np.isfinite(seeds).sum() < 2:
        return None
    lines = {_ends(was, edge): places for edge, places in drawn.passes.items()}
    numbers = range(len(room.edges)) if lines else ()
    return Stood(seeds, {edge: lines[ends] for edge in numbers if (ends := _ends(room, edge)) in lines})


def _ends(room: Room, edge: int) -> tuple[int, int]:
    """What an edge's ends are called from step to step."""
    start, end, _, _ = room.edges[edge]
    return room.names[start], room.names[end]
