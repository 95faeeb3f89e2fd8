"""The shape of a result is asked of an operand that has the same."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message

_Axes = frozenset[int]


class ShapeHoisting(Pass):
    """Lets Shape read the earliest value that certainly has the dimensions that are asked for.

    before:  y = Div(MatMul(q, k), 8); n = Slice(Shape(y), [-1])
    after:   y = Div(MatMul(q, k), 8); n = Slice(Shape(k), [-1])

    A question about an intermediate's shape costs nothing, but keeps the intermediate from staying inside a kernel.
    Runs behind ``shape_folding``, which does away with all that needs no run.
    """

    name = "shape_hoisting"
    order = 120
    messages = Map(
        hoisted=Message("{node} reads {source}, which has the same dimensions as {value} where they are asked for"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Follows each Shape up, in program order; where one walk came by before, the next need not go on."""
        known: dict[tuple[str, _Axes], str] = {}
        for node in draft.candidates("Shape"):
            value = node.inputs[0]
            type_ = draft.tensor(value)
            if node.domain or node.attributes or type_ is None or type_.shape is None:
                continue
            axes = _asked(node, len(type_.shape), draft)
            source = _source(value, axes, known, draft)
            if source == value:
                continue
            with log.rewrite(node, "hoisted", source=source, value=value):
                if len(axes) == len(type_.shape):
                    draft.update(node, inputs=(source,))
                    continue
                # Other dimensions may differ, so the result is another value, of which less is known.
                made = draft.tensor(node.outputs[0])
                new = draft.insert(node, "Shape", (source,), (made,), origin=node.origin)
                draft.replace_uses(node.outputs[0], new.outputs[0])
                draft.remove(draft.node(node.name))


def _source(value: str, axes: _Axes, known: dict[tuple[str, _Axes], str], draft: Draft) -> str:
    """The first value on the way up that has the same dimensions along the axes."""
    passed: list[str] = []
    while (value, axes) not in known:
        passed.append(value)
        above = _alike(value, axes, draft)
        if above is None:
            known[value, axes] = value
            break
        value = above
    source = known[value, axes]
    known.update(dict.fromkeys(((name, axes) for name in passed), source))
    return source


def _alike(value: str, axes: _Axes, draft: Draft) -> str | None:
    """An operand of the value's node with the same rank and, along the axes, dimensions that are known and the same."""
    node, type_ = draft.producer(value), draft.tensor(value)
    if node is None or type_ is None or type_.shape is None or None in [type_.shape[axis] for axis in axes]:
        return None
    for name in node.inputs:
        other = draft.tensor(name) if name and draft.constant_of(name) is None else None
        if other is None or other.shape is None or len(other.shape) != len(type_.shape):
            continue
        if all(other.shape[axis] == type_.shape[axis] for axis in axes):
            return name
    return None


def _asked(node: Node, rank: int, draft: Draft) -> _Axes:
    """Which dimensions are read of a Shape's result."""
    made, every = node.outputs[0], frozenset(range(rank))
    asked: set[int] = set()
    for user in draft.users(made):
        indices = _indices(user, made, rank, draft)
        if indices is None:
            return every
        asked |= indices
    return every if draft.is_result(made) or not asked else frozenset(asked)


def _indices(user: Node, made: str, rank: int, draft: Draft) -> set[int] | None:
    """Which elements of a list a node takes: a Gather or Slice at places that are constants; None for anything else."""
    if user.domain or user.inputs.count(made) != 1 or user.inputs[0] != made or made in user.captures:
        return None
    if user.op == "Gather":
        data = draft.constant_of(user.inputs[1])
        if data is None or not data.is_small:
            return None
        return {int(index) % rank for index in data.array().reshape(-1)}
    if user.op != "Slice":
        return None
    starts, ends, steps = (
        _numbers(user, place, name, draft) for place, name in ((1, "starts"), (2, "ends"), (4, "steps"))
    )
    if starts is None or ends is None or len(starts) != 1 or (len(user.inputs) > 4 and steps != (1,)):
        return None
    return set(range(rank)[starts[0] : ends[0]])


def _numbers(node: Node, place: int, name: str, draft: Draft) -> tuple[int, ...] | None:
    if place >= len(node.inputs):
        return node.integers(name)
    data = draft.constant_of(node.inputs[place])
    return tuple(int(item) for item in data.array().reshape(-1)) if data is not None and data.is_small else None
