"""Which stream each kernel runs on. Kernels of one stream run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.ops.row import Engine, Unit
from gexplorer.schedule.dependencies import Dependencies
from gexplorer.schedule.list_schedule import list_schedule
from gexplorer.schedule.modes import Mode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# Engines that have no stream of their own, but ride along with what they follow ("attach").
# Source: CANN 8.1 engine_conf.json.
ATTACHED = frozenset((Engine.AICPU, Engine.RTS, Engine.GE_LOCAL, Engine.HOST_CPU))
# Those of them that count as whatever engine they follow ("skip_assign_stream"). Source: the same.
PASSED_OVER = frozenset((Engine.GE_LOCAL, Engine.HOST_CPU))
# GE prefers to follow the engine of higher priority. Source: GE's engine design document (compute cost).
_PRIORITY = {Engine.AICORE: 0, Engine.AICPU: 1, Engine.RTS: 2}


@dataclass(frozen=True, eq=False)
class Assignment:
    """Where kernels run, and in which order.

    Attributes:
        stream: [k] the stream of each kernel, numbered from 0 in the order in which they are first used.
        order: [k] the kernels in the order in which they are launched; no kernel comes before one that it waits for,
            and the kernels of a stream run in this order.
    """

    stream: Ints
    order: Ints

    @property
    def streams(self) -> int:
        """How many streams are used."""
        return int(self.stream.max(initial=-1)) + 1


def assign(edges: Dependencies, durations_ps: Sequence[int], mode: Mode) -> Assignment:
    """Gives each kernel a stream. O((k + e) log k).

    * ``single``: one stream, in execution order. GE's way with a plain model.
    * ``dependency``: GE's dependency pass; see ``_by_dependency``.
    * ``cube_vector``: kernels of the cube unit on one stream, those of the vector unit and of the data movers on
      another, all others with what they follow. GE's mode ``cv``.
    * ``streams``: list scheduling, see ``list_schedule``. GE's mode ``LoadBalance``.

    Args:
        edges: what must come before what.
        durations_ps: [k] how long each kernel runs.
        mode: how.
    """
    in_order = np.arange(len(edges.kernels), dtype=np.int64)
    match mode.rule:
        case "single":
            return _assignment([0] * len(in_order), in_order)
        case "dependency":
            return _assignment(_by_dependency(edges), in_order)
        case "cube_vector":
            return _assignment(_by_core(edges), in_order)
        case _:
            stream, order = list_schedule(edges, durations_ps, mode.streams)
            return _assignment(stream, np.array(order, dtype=np.int64))


def _assignment(stream: Sequence[int], order: Ints) -> Assignment:
    """Numbers the streams by first use."""
    numbers: dict[int, int] = {}
    for kernel in order.tolist():
        numbers.setdefault(stream[kernel], len(numbers))
    found = np.array([numbers[number] for number in stream], dtype=np.int64)
    found.flags.writeable = order.flags.writeable = False
    return Assignment(found, order)


def _by_core(edges: Dependencies) -> list[int]:
    own = {Unit.CUBE: 0, Unit.VECTOR: 1, Unit.MTE: 1}
    stream: list[int] = []
    for core, sources in zip(edges.kernels.cores, edges.data_only().waits_for, strict=True):
        followed = stream[sources[-1]] if sources else 0
        stream.append(own.get(core, followed))
    return stream


@dataclass(slots=True)
class _Part:
    """Kernels that one engine runs at a stretch.

    Attributes:
        engine: GE's engine.
        before: parts that it takes data from, in order.
        after: parts that take data from it.
        stream: -1 while it has none.
        rides: the engine whose stream it uses, where that is not its own.
    """

    engine: Engine
    before: dict[int, None]
    after: dict[int, None]
    stream: int = -1
    rides: Engine | None = None


def _by_dependency(edges: Dependencies) -> list[int]:
    """GE's dependency pass: a part of the graph goes on on the stream of the part before it, or opens one.

    A part is what one engine runs at a stretch; its number is the greatest number of changes of engine on a path to
    it. What runs on the host or is no task at all is part of what it follows. A part may go on where the part before
    has no other follower of that one's own engine (that follower has the older claim), and is of the same engine, or
    rides along on a stream of it; an attached engine may follow any.

    Source: GE's stream allocator, AssignByDependencyPass. Labels, independent engines (HCCL) and forced attachment,
    which it knows as well, do not come up here.
    """
    part_of, parts = _parts(edges)
    opened = 0
    for part in parts:
        followed = [
            source
            for number in part.before
            if _may_follow(part, source := parts[number]) and not _is_claimed(source, part, parts)
        ]
        if not followed:
            part.stream, opened = opened, opened + 1
            continue
        source = min(followed, key=lambda one: _PRIORITY[one.engine])
        part.stream, part.rides = source.stream, source.rides or source.engine
    return [parts[number].stream for number in part_of]


def _may_follow(part: _Part, source: _Part) -> bool:
    return part.engine in (source.engine, source.rides) or part.engine in ATTACHED


def _is_claimed(source: _Part, part: _Part, parts: list[_Part]) -> bool:
    return any(parts[n] is not part and parts[n].engine is source.engine for n in source.after)


def _parts(edges: Dependencies) -> tuple[list[int], list[_Part]]:
    """The part of each kernel, and the parts, none before one that it takes data from."""
    engines: list[Engine] = []
    depth: list[int] = []
    data = edges.data_only().waits_for
    for engine, sources in zip(edges.kernels.engines, data, strict=True):
        if engine in PASSED_OVER:
            engine = engines[max(sources, key=lambda one: (depth[one], one))] if sources else Engine.AICORE
        engines.append(engine)
        depth.append(max((depth[s] + (engines[s] is not engine) for s in sources), default=0))
    names = sorted({(number, engine) for number, engine in zip(depth, engines, strict=True)})
    numbers = {name: number for number, name in enumerate(names)}
    parts = [_Part(engine, {}, {}) for _, engine in names]
    part_of = [numbers[name] for name in zip(depth, engines, strict=True)]
    for own, sources in zip(part_of, data, strict=True):
        for source in sources:
            if part_of[source] != own:
                parts[own].before[part_of[source]] = None
                parts[part_of[source]].after[own] = None
    return part_of, parts
