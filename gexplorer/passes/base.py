"""What a pass is, and the log that it writes while it works."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from immutables import Map

from gexplorer.ir.draft import Change, Draft
from gexplorer.ir.graph import Node, Value
from gexplorer.ir.symbols import Dim
from gexplorer.trace.records import Message, Place, Reject, Rewrite


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a pass may go.

    Attributes:
        fold_read_bytes: a fold reads at most so many bytes of constants; larger ones are weights and stay unread.
        fold_growth_bytes: a fold may add at most so many bytes to the model.
    """

    fold_read_bytes: int = 1 << 20
    fold_growth_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a rewrite that was tried was taken back.

    Attributes:
        code: key into the messages of the pass.
        parameters: values for the message.
    """

    code: str
    parameters: Mapping[str, object]


# Says of a draft with a rewrite in it, and of the changes that made it, whether it stays (None).
Judge = Callable[[Draft, Sequence[Change]], Declined | None]


@dataclass(slots=True)
class Edit:
    """What became of a rewrite, once its block has ended.

    Attributes:
        declined: why it was taken back; None where it stays.
    """

    declined: Declined | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What every pass may know besides the graph.

    Attributes:
        limits: bounds on what folding may read and add.
        contents: elements of small integer tensors that shape inference found, by value; entries may be symbolic.
        matches_off: for a rule by name, the nodes at which it must not fuse.
        allowed: for a rule by name, the values that an attribute of its kernel may have.
        judge: asked about every rewrite of a fusion rule; None for no questions.
    """

    limits: Limits = field(default_factory=Limits)
    contents: Mapping[str, tuple[Dim, ...]] = field(default_factory=dict)
    matches_off: Mapping[str, frozenset[str]] = field(default_factory=dict)
    allowed: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    judge: Judge | None = None


class Log:
    """Collects what a pass does to one graph.

    Args:
        draft: the graph being edited.
        path: where the graph is nested.
        judge: asked about every rewrite; one that it declines is taken back.
    """

    def __init__(self, draft: Draft, path: tuple[Place, ...] = (), judge: Judge | None = None) -> None:
        self._draft = draft
        self._path = path
        self._judge = judge
        self.rewrites: list[Rewrite] = []
        self.rejects: list[Reject] = []

    @contextmanager
    def rewrite(self, node: Node | Value, code: str, /, **parameters: object) -> Generator[Edit]:
        """Records all edits made inside the block as one rewrite, about a node (a value where there is no node).

        Yields:
            What says, behind the block, whether the rewrite was taken back; then whoever made it rejects the place.
        """
        start = len(self._draft.changes)
        edit = Edit()
        yield edit
        changes = tuple(self._draft.changes[start:])
        if changes and self._judge is not None:
            edit.declined = self._judge(self._draft, changes)
        if edit.declined is not None:
            self._draft.take_back(start)
        elif changes:
            self.rewrites.append(Rewrite(node.name, code, parameters, changes, self._path))

    def settle(self, sweep: Callable[[], None]) -> None:
        """Runs a sweep until it rewrites nothing more; only what the last one rejects is kept."""
        rejects, count = len(self.rejects), -1
        while count < len(self.rewrites):
            count = len(self.rewrites)
            del self.rejects[rejects:]
            sweep()

    def reject(self, node: Node, code: str, /, blocker: str | None = None, **parameters: object) -> None:
        """Records a place that was looked at and left alone."""
        self.rejects.append(Reject(node.name, code, parameters, blocker, self._path))


class Pass(ABC):
    """One pass over a graph.

    A subclass in a file of this package is found by itself. Its docstring shows a graph before and after. It is
    given every graph of the model in turn, nested ones first, and must leave each valid and numerically the same.

    Attributes:
        name: snake_case, unique.
        ge_name: what the real GE calls it, None where it has no such pass.
        order: passes run by ascending order.
        default: whether it is on unless asked otherwise.
        outer_first: whether a graph comes before those nested in it; for passes whose finds flow inwards with the
            values that nested graphs capture.
        messages: a sentence for every code that it logs.
    """

    name: ClassVar[str]
    ge_name: ClassVar[str | None] = None
    order: ClassVar[int]
    default: ClassVar[bool] = True
    outer_first: ClassVar[bool] = False
    messages: ClassVar[Mapping[str, Message]] = Map()

    @abstractmethod
    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Edits the draft and logs what it did."""

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what the pass does."""
        return (cls.__doc__ or "").strip().partition("\n")[0]
