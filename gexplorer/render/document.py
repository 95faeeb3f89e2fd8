"""The explorer's document: its parts, packed when somebody asks for them, and taken over where they are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gexplorer.trace.records import Steps
from gexplorer.views.explorer.cost import cost_part
from gexplorer.views.explorer.course import Course, course_of, course_part, known_costs
from gexplorer.views.explorer.far import far_part
from gexplorer.views.explorer.figures import kernels_by_step
from gexplorer.views.explorer.head import head_part
from gexplorer.views.explorer.kernel import kernel_part
from gexplorer.views.explorer.log import log_part
from gexplorer.views.explorer.memory import memory_part
from gexplorer.views.explorer.nodes import nodes_part
from gexplorer.views.explorer.numbering import Numbering, alike
from gexplorer.views.explorer.planners import planners_part
from gexplorer.views.explorer.rules import rules_part
from gexplorer.views.explorer.schedule import schedule_part
from gexplorer.views.explorer.sources import sources_part
from gexplorer.views.explorer.steps import steps_part
from gexplorer.views.explorer.subject import Compiled, Subject, failed, subject_of
from gexplorer.views.explorer.tiling import tiling_part
from gexplorer.views.explorer.values import values_part
from gexplorer.views.pack import pack, part_hash

if TYPE_CHECKING:
    from gexplorer.errors import PassError
    from gexplorer.frontends.onnx import SourceModel
    from gexplorer.layout.scenes import Scenes
    from gexplorer.options import Options
    from gexplorer.trace.records import Step

    Part = Mapping[str, object]


class Document:
    """What an explorer shows, as packed parts by name (``widgets/src/core/document.ts`` says what each holds).

    Args:
        subject: what is shown.
        previous: a document of the same model before a change. Its numbers of nodes and values hold for the steps that
            both have in common; whoever wants to find another node again looks for its name.

    Attributes:
        subject: what is shown.
        numbering: the numbers of its nodes and values.
        parts: every part by name, made and packed when first looked at. A part that does not apply (no memory was
            planned, nothing was costed) is not among them.
        on_demand: names of those that are only wanted by one panel each, and only made for who asks.
        slow: names of those among them that take long to make.
        taken_over: names of those that are the previous document's.
    """

    def __init__(self, subject: Subject, previous: Document | None = None) -> None:
        self.subject = subject
        self.numbering = _numbering(subject, previous)
        names = [name for name, kind in _KINDS.items() if kind.applies(subject)]
        self.on_demand = tuple(name for name in names if _KINDS[name].on_demand(subject))
        self.slow = tuple(name for name in self.on_demand if _KINDS[name].slow)
        same = [name for name in names if previous is not None and self._is_same(name, previous)]
        self.taken_over = frozenset(same)
        made = previous.parts.packed if previous is not None else {}
        known = {name: made[name] for name in same if name in made}
        self.parts = Packed(names, self._make, known)
        self._course: Course = subject.course
        # What the previous one's graphs cost, if anybody asked there.
        self._costed = (previous.subject.steps, previous._course) if previous is not None and previous._course else None
        # Pictures to go on from: the previous one's, until there are own ones.
        self._scenes: Scenes | None = previous._scenes if previous is not None else None

    @property
    def hashes(self) -> dict[str, str]:
        """A hash of each part that is not on demand; equal hashes mean equal parts."""
        return {name: part_hash(self.parts[name]) for name in self.parts if name not in self.on_demand}

    def _make(self, name: str) -> bytes:
        from gexplorer.compiler import paused_gc

        with paused_gc():
            if name == "head":
                return pack(head_part(self.subject, self.numbering))
            if name == "scenes":
                return pack(self._draw())
            if name == "course":
                return pack(self._price())
            make = _KINDS[name].make
            part = make(self.subject, self.numbering) if make is not None else None
            assert part is not None, name  # it applies
            return pack(part)

    def _draw(self) -> Part:
        """The pictures; those of the steps that the previous document has too are taken over."""
        from gexplorer.layout.scenes import scenes_of

        self._scenes = scenes_of(self.subject.steps, self.numbering, self._scenes)
        return self._scenes.part()

    def _price(self) -> Part:
        """The cost after every step; that of the graphs that the previous document has too is taken over."""
        subject = self.subject
        if not self._course and subject.cost is not None:
            known = known_costs(*self._costed, subject.cost) if self._costed is not None else {}
            self._course = course_of(subject.steps, subject.cost, known)
        return course_part(subject.steps, self._course, kernels_by_step(subject, self.numbering))

    def _is_same(self, name: str, previous: Document) -> bool:
        """Whether a part cannot have changed: it is made of the same objects."""
        kind = _KINDS[name]
        if kind.made_of is None or name not in previous.parts or previous.numbering is not self.numbering:
            return False
        old, new = kind.made_of(previous.subject), kind.made_of(self.subject)
        return len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))


class Packed(Mapping[str, bytes]):
    """Packed parts by name, each made when it is first looked at.

    Attributes:
        packed: those that are made.
    """

    def __init__(self, names: Sequence[str], make: Callable[[str], bytes], known: Mapping[str, bytes]) -> None:
        self._names, self._make = tuple(names), make
        self.packed = dict(known)

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        if name not in self.packed:
            self.packed[name] = self._make(name)
        return self.packed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without making it

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def document(
    compilation: Compiled, *, previous: Document | None = None, course: bool = False, asked: Options | None = None
) -> Document:
    """The document of a compilation.

    Args:
        compilation: the compilation.
        previous: the document of the same model before a change; parts that cannot have changed are taken over.
        asked: what the person asked for, where that is not what it was compiled with.
        course: whether the cost after every step is wanted: the course of HBM traffic and latency, and what each rule
            saved. It takes longer than the compilation.
    """
    from gexplorer.compiler import paused_gc

    with paused_gc():
        subject = subject_of(compilation, previous.subject if previous is not None else None, course=course)
        return Document(subject if asked is None else replace(subject, options=asked), previous)


def document_of_failure(
    error: PassError, source: SourceModel | None = None, options: Options | None = None
) -> Document:
    """What can be shown of a compilation that a pass ended: the steps before it.

    Args:
        error: the failure.
        source: the model as read, where it is known.
        options: what was asked for, where it is known.
    """
    return Document(failed(error, source, options))


def document_of_trace(name: str, steps: Sequence[Step]) -> Document:
    """What can be shown of steps that somebody else made, such as the dumps of the real GE.

    Args:
        name: of the model.
        steps: in order.
    """
    return Document(Subject(name, Steps(steps)))


def _numbering(subject: Subject, previous: Document | None) -> Numbering:
    """The previous numbering, if all steps give the same numbers."""
    if previous is None:
        return Numbering(subject.steps)
    old = previous.subject.steps
    same = len(old) == len(subject.steps) and all(alike(a, b) for a, b in zip(old, subject.steps, strict=True))
    return previous.numbering if same else Numbering(subject.steps, previous.numbering)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A part.

    Attributes:
        make: makes it; None where the document itself does.
        made_of: what it is made of besides the numbering: the same objects give the same part. None: always made.
        applies: whether there is such a part.
        on_demand: whether it is only made for those who ask for it.
        slow: whether it takes long to make.
    """

    make: Callable[[Subject, Numbering], Part | None] | None
    made_of: Callable[[Subject], tuple[object, ...]] | None
    applies: Callable[[Subject], bool] = lambda subject: True
    on_demand: Callable[[Subject], bool] = lambda subject: False
    slow: bool = False


def _has_memory(subject: Subject) -> bool:
    return subject.memory is not None


def _has_cost(subject: Subject) -> bool:
    return subject.cost is not None


def _always(subject: Subject) -> bool:
    del subject
    return True


_KINDS: dict[str, _Kind] = {
    "head": _Kind(None, None),
    "steps": _Kind(steps_part, lambda s: (s.cost, *s.steps)),
    "nodes": _Kind(nodes_part, lambda s: ()),
    "values": _Kind(values_part, lambda s: (s.memory and s.memory.program,)),
    "scenes": _Kind(None, lambda s: (), lambda s: len(s.steps) > 0),
    "memory": _Kind(memory_part, lambda s: (s.memory,), _has_memory),
    "planners": _Kind(
        planners_part, lambda s: (s.memory and s.memory.plan.problem,), _has_memory, on_demand=_always, slow=True
    ),
    "schedule": _Kind(schedule_part, lambda s: (s.schedule, s.cost), lambda s: s.schedule is not None),
    "cost": _Kind(cost_part, lambda s: (s.cost, s.unfused), _has_cost),
    "course": _Kind(None, lambda s: (s.cost, *s.steps), _has_cost, on_demand=lambda s: not s.course),
    "tiling": _Kind(
        tiling_part,
        lambda s: (s.kernels, s.cost),
        lambda s: s.cost is not None and (s.kernels is not None or s.memory is not None),
        on_demand=_always,
        slow=True,
    ),
    "kernel": _Kind(
        kernel_part,
        lambda s: (s.kernels, s.cost),
        lambda s: s.cost is not None and (s.kernels is not None or s.memory is not None),
        on_demand=_always,
        slow=True,
    ),
    "rules": _Kind(rules_part, lambda s: (s.cost, s.course, *s.steps)),
    "far": _Kind(
        far_part, lambda s: (s.plan, s.context, *s.steps), lambda s: s.plan is not None, on_demand=_always, slow=True
    ),
    "sources": _Kind(sources_part, lambda s: tuple(s.steps), lambda s: bool(s.passes), on_demand=_always),
    "log": _Kind(log_part, lambda s: (s.memory, *s.steps), on_demand=_always),
}
