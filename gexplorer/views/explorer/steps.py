"""The part ``steps``: every step with its rewrites and near misses."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from gexplorer.ir.draft import changed_nodes
from gexplorer.views.explorer.columns import NOTHING, Texts, floats, ints, ragged
from gexplorer.views.explorer.places import place_of
from gexplorer.views.scope import Scope, scope_at
from gexplorer.views.why import near_misses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gexplorer.cost.between import Between
    from gexplorer.ir.graph import Graph, Node
    from gexplorer.trace.records import Place, Step
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject
    from gexplorer.views.why import Miss


def steps_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """Every step, in order.

    ``scene`` is the number of the last picture up to the step: the first step has one, and each that changed which
    nodes there are; the stages after the passes have that of the result. Of a rewrite, ``removed``, ``added`` and
    ``changed`` are the nodes as they are before and after the whole step; where a later rewrite took one away again, it
    is the passing one that no graph has. ``traffic_bytes`` is what fusing could save of memory traffic, through L2 or
    HBM, at most; ``saved_bytes`` is HBM's part of it; NaN where nobody knows.
    """
    texts = Texts()
    rows: list[dict[str, object]] = []
    for position, step in enumerate(subject.steps):
        pass_class = subject.passes.get(step.name) if step.stage == "passes" else None
        sides = _Sides(step, numbering)
        rows.append(
            {
                "index": step.index,
                "stage": step.stage,
                "name": step.name,
                "ge_name": step.ge_name,
                "kind": "rule" if step.is_fusion else "pass" if step.stage == "passes" else "stage",
                "seconds": step.seconds,
                "nodes_before": step.nodes_before,
                "nodes_after": step.nodes_after,
                "changed": step.changed,
                "tried": step.tried,
                "summary": step.summary,
                "source": place_of(pass_class) if pass_class is not None else None,
                "scene": _picture(numbering, position),
                "rewrites": _rewrites(step, sides, texts),
                "rejects": _rejects(step, sides, subject.between, texts),
            }
        )
    return {"steps": rows, "strings": texts.strings}


def _picture(numbering: Numbering, position: int) -> int:
    changes = numbering.scene_steps
    return len(changes) if position >= numbering.result_from else bisect_right(changes, position) - 1


def _rewrites(step: Step, sides: _Sides, texts: Texts) -> dict[str, object]:
    node: list[int] = []
    removed: list[list[int]] = []
    added: list[list[int]] = []
    changed: list[list[int]] = []
    for rewrite in step.rewrites:
        gone: list[int] = []
        come: list[int] = []
        other: list[int] = []
        for old, new in changed_nodes(rewrite.changes):
            if new is not None:
                (come if old is None else other).append(sides.after(new, rewrite.path))
            elif old is not None:
                gone.append(sides.before(old, rewrite.path))
        removed.append(gone)
        added.append(come)
        changed.append(other)
        node.append(sides.named(rewrite.node, rewrite.path))
    columns: dict[str, object] = {"node": ints(node), "reason": texts.column(map(step.reason, step.rewrites))}
    for name, rows in (("removed", removed), ("added", added), ("changed", changed)):
        columns[f"{name}_at"], columns[name] = ragged(rows)
    return columns


def _rejects(step: Step, sides: _Sides, between: Between | None, texts: Texts) -> dict[str, object]:
    rejects = step.rejects
    misses = _misses(step, between)
    return {
        "node": ints(sides.named(reject.node, reject.path) for reject in rejects),
        "place": texts.column(reject.node for reject in rejects),
        "code": texts.column(reject.code for reject in rejects),
        "reason": texts.column(map(step.reason, rejects)),
        "hint": ints(texts.maybe(step.hint(reject)) for reject in rejects),
        "blocker": ints(sides.named(reject.blocker or "", reject.path) for reject in rejects),
        "blocker_value": ints(sides.value(reject.blocker) for reject in rejects),
        "blocker_name": ints(texts.maybe(reject.blocker) for reject in rejects),
        "saved_bytes": floats(None if miss is None else miss.saved_bytes for miss in misses),
        "traffic_bytes": floats(None if miss is None else miss.traffic_bytes for miss in misses),
    }


def _misses(step: Step, between: Between | None) -> Sequence[Miss | None]:
    if not step.is_fusion or not step.rejects:
        return [None] * len(step.rejects)
    return near_misses([step], step.name, between=between)


class _Sides:
    """The nodes of a step's two graphs by name and place."""

    def __init__(self, step: Step, numbering: Numbering) -> None:
        self._step, self._numbering = step, numbering
        self._scopes: dict[tuple[bool, tuple[Place, ...]], Scope | None] = {}

    def before(self, node: Node, path: tuple[Place, ...]) -> int:
        """The node as it is before the step; itself where it is not there."""
        return self._version(node, path, after=False)

    def after(self, node: Node, path: tuple[Place, ...]) -> int:
        """The node as it is after the step; itself where it is not there."""
        return self._version(node, path, after=True)

    def named(self, name: str, path: tuple[Place, ...]) -> int:
        """The node of that name there or in a graph around it, after the step if it is there, else before; or -1."""
        for after in (True, False):
            scope = self._scope(path, after=after)
            for graph in () if scope is None else (scope.graph, *scope.around):
                if (node := graph.nodes.get(name)) is not None:
                    return self._numbering.node(node)
        return NOTHING

    def value(self, name: str | None) -> int:
        """The value of that name, -1 for none."""
        return NOTHING if name is None else self._numbering.value(name)

    def _version(self, node: Node, path: tuple[Place, ...], *, after: bool) -> int:
        scope = self._scope(path, after=after)
        there = scope.graph.nodes.get(node.name) if scope is not None else None
        return self._numbering.find(there if there is not None else node)

    def _scope(self, path: tuple[Place, ...], *, after: bool) -> Scope | None:
        key = (after, path)
        if key not in self._scopes:
            graph: Graph = self._step.after if after else self._step.before
            try:
                self._scopes[key] = scope_at(graph, path)
            except (KeyError, IndexError):  # the node that held it is gone
                self._scopes[key] = None
        return self._scopes[key]
