"""Rewrites, near misses and steps: plain records that every stage returns and every view reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import overload

from gexplorer.display import Charted, Displayed
from gexplorer.ir.draft import Change, Draft, changed_nodes
from gexplorer.ir.graph import Graph, Graphs, Node

STAGES = ("parse", "passes", "memory", "schedule", "kernels", "validation")


@dataclass(frozen=True, slots=True)
class Message:
    """What a person reads for one code: templates over the parameters of a record.

    Attributes:
        reason: what happened, or why nothing did.
        hint: the edit that would cure it, "" where there is none.
    """

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A nested graph: the node that holds it, the attribute, and the index in a list of graphs (else -1)."""

    node: str
    attribute: str
    index: int = -1


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite of a pass, small: the graph after it is made by replaying its changes.

    Attributes:
        node: name of the node that it is about; of a value where there is no node.
        code: key into the pass's messages.
        parameters: values for the message.
        changes: what it did to the graph's maps.
        path: the nested graph that it changed, outermost first; empty for the graph itself.
    """

    node: str
    code: str
    parameters: Mapping[str, object]
    changes: tuple[Change, ...]
    path: tuple[Place, ...] = ()

    def __repr__(self) -> str:
        did = f"{len(self.removed)} removed, {len(self.added)} added, {len(self.changed)} changed"
        return f"Rewrite({self.node!r}, {self.code!r}, {did})"

    @property
    def removed(self) -> tuple[Node, ...]:
        """Nodes that were there before and are not after."""
        return tuple(old for old, new in changed_nodes(self.changes) if old is not None and new is None)

    @property
    def added(self) -> tuple[Node, ...]:
        """Nodes that are there after and were not before."""
        return tuple(new for old, new in changed_nodes(self.changes) if old is None and new is not None)

    @property
    def changed(self) -> tuple[tuple[Node, Node], ...]:
        """Nodes whose inputs or attributes are different: before and after."""
        return tuple((old, new) for old, new in changed_nodes(self.changes) if old is not None and new is not None)


@dataclass(frozen=True, slots=True)
class Reject:
    """A near miss: a place that a pass looked at and left alone.

    Attributes:
        node: the place.
        code: key into the pass's messages.
        parameters: values for the message.
        blocker: the node or value that stood in the way, None where there is no single one.
        path: the nested graph that it lies in.
    """

    node: str
    code: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    blocker: str | None = None
    path: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Step(Displayed):
    """One step of a compilation.

    Attributes:
        index: place in the trace.
        stage: one of ``STAGES``.
        name: of the pass or action.
        ge_name: what the real GE calls it, None where it has no such thing.
        before: the graph before.
        after: the graph after; the same object where nothing changed.
        seconds: wall-clock time.
        rewrites: what it did, in order.
        rejects: what it left alone, and why.
        messages: sentences for the codes of rewrites and rejects.
        summary: what it does, as a sentence.
        is_fusion: whether the step is a fusion rule, not a general pass.
        tried: places that it looked at; 0 for passes that sweep the whole graph.
        nodes_before: nodes before, nested graphs included.
    """

    index: int
    stage: str
    name: str
    ge_name: str | None
    before: Graph
    after: Graph
    seconds: float
    rewrites: tuple[Rewrite, ...] = ()
    rejects: tuple[Reject, ...] = ()
    messages: Mapping[str, Message] = field(default_factory=dict)
    summary: str = ""
    is_fusion: bool = False
    tried: int = 0

    def __repr__(self) -> str:
        did = f"{len(self.rewrites):,} rewrites, {len(self.rejects):,} near misses"
        return f"Step({self.index}, {self.name!r}, {did}, {self.nodes_before:,} -> {self.nodes_after:,} nodes)"

    @cached_property
    def nodes_before(self) -> int:
        """Nodes before the step, nested graphs included."""
        return self.before.nodes_deep

    @cached_property
    def nodes_after(self) -> int:
        """Nodes after the step, nested graphs included."""
        return self.after.nodes_deep

    @property
    def changed(self) -> bool:
        """True when the step gave another graph."""
        return self.after is not self.before

    def graph_after(self, rewrites: int) -> Graph:
        """The graph after the first so many rewrites of the step; costs what they touched."""
        graph = self.before
        for rewrite in self.rewrites[:rewrites]:
            graph = replay(graph, rewrite.path, rewrite.changes)
        return graph

    def reason(self, record: Rewrite | Reject) -> str:
        """The sentence for a record of this step. Names stand in it as the model has them, whatever is in them."""
        message = self.messages.get(record.code)
        return message.reason.format_map(_Shown(record)) if message else record.code

    def hint(self, reject: Reject) -> str | None:
        """The edit that would cure a near miss, None where none is known."""
        message = self.messages.get(reject.code)
        return message.hint.format_map(_Shown(reject)) if message and message.hint else None


class Steps(Charted, Sequence[Step]):
    """The steps of a compilation, by number or by name (the last of that name)."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    @overload
    def __getitem__(self, key: int | str) -> Step: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Step | tuple[Step, ...]:
        if isinstance(key, str):
            found = [step for step in self._steps if key in (step.name, step.ge_name)]
            if not found:
                raise KeyError(f"no step {key!r}; there are: {', '.join(step.name for step in self._steps)}")
            return found[-1]
        return self._steps[key]

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def __repr__(self) -> str:
        lines = [
            f"{s.index:3} {s.stage:10} {s.name:28} {s.nodes_before:7,} -> {s.nodes_after:7,} nodes"
            f"  {len(s.rewrites):6,} rewrites  {s.seconds * 1e3:8.1f} ms"
            for s in self._steps
        ]
        return "\n".join(lines)


def replay(graph: Graph, path: Sequence[Place], changes: Sequence[Change]) -> Graph:
    """A graph with recorded changes made to it, or to a graph nested in it."""
    draft = Draft(graph)
    if not path:
        draft.apply(changes)
    else:
        place, *rest = path
        node = draft.node(place.node)
        held = node.attributes[place.attribute]
        if isinstance(held, Graphs):
            graphs = list(held)
            graphs[place.index] = replay(graphs[place.index], rest, changes)
            new: object = Graphs(graphs)
        else:
            assert isinstance(held, Graph)
            new = replay(held, rest, changes)
        draft.put_node(replace(node, attributes=node.attributes.set(place.attribute, new)))
    return draft.finish()


class _Shown(dict[str, object]):
    """Parameters of a record for a template; ``{node}`` and ``{blocker}`` are always there."""

    def __init__(self, record: Rewrite | Reject) -> None:
        blocker = record.blocker if isinstance(record, Reject) else None
        named = None if blocker is None else _Name(blocker)
        super().__init__({"node": _Name(record.node), "blocker": named, **record.parameters})

    def __missing__(self, key: str) -> str:
        return _Unknown(f"{{{key}}}")


class _Name(str):
    """A name of the model's; ``{blocker:q}`` is one word of a shell's, whatever is in it."""

    def __format__(self, spec: str) -> str:
        return quote(self) if spec == "q" else super().__format__(spec)


class _Unknown(str):
    """A name that has no value: it stands for itself, however its value would be written."""

    def __format__(self, spec: str) -> str:
        return str(self)
