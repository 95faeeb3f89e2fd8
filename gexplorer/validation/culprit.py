"""Cuts the smallest part out of a model that shows what one rewrite did wrong.

The part has two sides: the nodes before the rewrite and those after it. Both are given the same values, taken from a
run of the whole model before the rewrite, and give the same results; those after it are wrong. It grows from what the
rewrite touched until the error shows, then shrinks, node by node, as long as it still shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from immutables import Map

from gexplorer.errors import ModelError
from gexplorer.ir.constant import constant
from gexplorer.ir.graph import Graph, Node, Value, make_graph
from gexplorer.ir.types import TensorType
from gexplorer.validation.deviation import Deviation, deviation_of
from gexplorer.validation.run import Evaluator, giving, prepare

if TYPE_CHECKING:
    Feed = Mapping[str, np.ndarray]

# Runs of small parts that shrinking may take; each is a few milliseconds.
MOST_TRIES = 300


@dataclass(frozen=True, eq=False)
class Culprit:
    """The smallest part that shows an error.

    Attributes:
        before: the part before the rewrite; its inputs have defaults, so it runs without being given anything. Result
            ``NAME`` is called ``NAME/result``.
        after: the part after it, with the same inputs and results.
        deviation: how far the worst result of ``after`` is from that of ``before``.
        result: which one that is.
        results: names of the results.
        is_whole: whether nothing could be cut away: the error shows in the whole model only.
    """

    before: Graph
    after: Graph
    deviation: Deviation
    result: str
    results: tuple[str, ...]
    is_whole: bool

    @property
    def nodes(self) -> tuple[int, int]:
        """Nodes before and after."""
        return len(self.before), len(self.after)

    def graph(self) -> Graph:
        """One graph that holds both sides: a node ``before`` and a node ``after``, fed with the same values.

        Its results are those of both sides, ``NAME/before`` and ``NAME/after``. Exported, the sides are functions of
        the model; inputs have the captured values as defaults.
        """
        sides = (("before", self.before), ("after", self.after))
        inputs = [self.before.values[name] for name in self.before.inputs]
        nodes: list[Node] = []
        values: list[Value] = []
        for side, graph in sides:
            names = tuple([f"{name}/{side}" for name in self.results])
            body = replace(graph, name=side, defaults=Map())
            nodes.append(Node(side, side, graph.inputs, names, domain="ge", position=len(nodes), body=body))
            values += [
                Value(name, _type_of(graph, inner), producer=side)
                for name, inner in zip(names, graph.outputs, strict=True)
            ]
        results = tuple(value.name for value in values)
        return make_graph(
            "culprit",
            inputs=inputs,
            nodes=nodes,
            values=values,
            outputs=results,
            opsets={**self.after.opsets, **self.before.opsets, "ge": 1},
            defaults=self.before.defaults,
        )


def cut_out(before: Graph, after: Graph, feed: Feed, evaluator: Evaluator, tolerance: float | None) -> Culprit | None:
    """The smallest part that shows the error; None where not even the whole model can be run in parts.

    Args:
        before: the graph before the rewrite.
        after: the graph after it.
        feed: the inputs of the whole model.
        evaluator: what runs it.
        tolerance: greatest relative error that is taken for rounding; None for that of each type.
    """
    search = _Search(before, after, feed, evaluator, tolerance)
    found = search.grow()
    if found is None:
        return None
    shown = search.shrink(found)
    whole = len(shown.common) >= len(search.common)
    return Culprit(shown.before, shown.after, shown.deviation, shown.result, shown.results, whole)


@dataclass(frozen=True, eq=False)
class _Part:
    """A part that was run.

    Attributes:
        common: nodes of it that the rewrite did not touch.
        before: one side.
        after: the other.
        results: names of the results, on the side before.
        deviation: of the worst result.
        result: which one.
    """

    common: frozenset[str]
    before: Graph
    after: Graph
    results: tuple[str, ...]
    deviation: Deviation
    result: str


class _Search:
    def __init__(self, before: Graph, after: Graph, feed: Feed, evaluator: Evaluator, tolerance: float | None) -> None:
        self._before, self._after, self._feed = before, after, feed
        self._evaluator: Evaluator = evaluator
        self._tolerance = tolerance
        self._captured: dict[str, Any] = dict(feed)
        self._tries = 0
        same = {name for name, node in before.nodes.items() if after.nodes.get(name) is node}
        self.common = frozenset(same)
        self._touched = (
            [node for name, node in before.nodes.items() if name not in same],
            [node for name, node in after.nodes.items() if name not in same],
        )
        # A result of the model that is another value from now on, by the value that it was.
        self._renamed = {
            a: b for a, b in zip(before.outputs, after.outputs, strict=True) if a != b and a not in after.values
        }

    def grow(self) -> _Part | None:
        """Takes in what reads the part's results, twice as far each time, until the error shows."""
        chosen: set[str] = set()
        front = {name for side in self._touched for node in side for name in node.outputs if name}
        reach = 1
        while True:
            part = self._try(frozenset(chosen))
            if part is not None and part.deviation.fault:
                return part
            grown = self._downstream(front, reach)
            if grown <= chosen:
                break
            chosen |= grown
            reach *= 2
        part = self._try(self.common)
        return part if part is not None and part.deviation.fault else None

    def shrink(self, part: _Part) -> _Part:
        """Leaves results away, then nodes, the last first, as long as the error shows."""
        part = self._one_result(part)
        order = [node.name for node in self._before.order if node.name in part.common]
        for name in (*reversed(order), *order):
            if self._tries >= MOST_TRIES:
                break
            if name not in part.common:
                continue
            smaller = self._try(part.common - {name})
            if smaller is not None and smaller.deviation.fault:
                part = self._one_result(smaller)
        return part

    def _one_result(self, part: _Part) -> _Part:
        if len(part.results) < 2:
            return part
        single = self._try(part.common, (part.result,))
        return single if single is not None and single.deviation.fault else part

    def _downstream(self, front: Iterable[str], reach: int) -> set[str]:
        """Untouched nodes that read these values, or the results of those that do, so many steps on."""
        found: set[str] = set()
        names = set(front)
        for _ in range(reach):
            users = {
                user
                for name in names
                for graph in (self._before, self._after)
                for user in graph.users.get(name, ())
                if user in self.common
            }
            new = users - found
            if not new:
                break
            found |= new
            names = {output for user in new for output in self._before.nodes[user].outputs if output}
        return found

    def _try(self, common: frozenset[str], results: Sequence[str] | None = None) -> _Part | None:
        """Builds a part and runs both sides; None where that cannot be done."""
        self._tries += 1
        shared = [self._before.nodes[name] for name in common]
        sides = ([*self._touched[0], *shared], [*self._touched[1], *shared])
        made = {name for node in sides[0] for name in node.outputs if name}
        made_after = {name for node in sides[1] for name in node.outputs if name}
        if results is None:
            results = self._results(made, made_after, common)
        if not results:
            return None
        needed = (tuple(results), tuple([self._renamed.get(name, name) for name in results]))
        kept = tuple(
            _reaching(graph, nodes, wanted)
            for graph, nodes, wanted in zip((self._before, self._after), sides, needed, strict=True)
        )
        try:
            inputs = self._inputs(kept, needed)
            before, after = (
                self._side(graph, nodes, wanted, results, inputs)
                for graph, nodes, wanted in zip((self._before, self._after), kept, needed, strict=True)
            )
            expected, actual = (prepare(side, self._evaluator)({}) for side in (before, after))
        except ModelError:
            return None
        each = [deviation_of(a, b, self._tolerance) for a, b in zip(expected, actual, strict=True)]
        worst = max(range(len(each)), key=lambda i: each[i].badness)
        left = frozenset(node.name for side in kept for node in side if node.name in self.common)
        return _Part(left, before, after, tuple(results), each[worst], results[worst])

    def _results(self, made: set[str], made_after: set[str], common: frozenset[str]) -> tuple[str, ...]:
        """What both sides know, one of them at least makes, and somebody outside the part reads."""
        before, after = self._before, self._after
        found: list[str] = []
        for name in sorted(made | made_after):
            other = self._renamed.get(name, name)
            if name not in before.values or other not in after.values:
                continue
            users = {*before.users.get(name, ()), *after.users.get(other, ())}
            inside = {node.name for side in self._touched for node in side} | common
            if users - inside or name in before.outputs or other in after.outputs or not users:
                found.append(name)
        return tuple(found)

    def _inputs(self, sides: Sequence[Sequence[Node]], wanted: Sequence[Sequence[str]]) -> dict[str, Any]:
        """The values that a part is given, by name, as they were in the whole model before the rewrite."""
        names: dict[str, None] = {}
        for graph, nodes, results in zip((self._before, self._after), sides, wanted, strict=True):
            made = {output for node in nodes for output in node.outputs}
            for name in (*(name for node in nodes for name in node.uses), *results):
                if name not in made and graph.values[name].constant is None:
                    names[name] = None
        unknown = [name for name in names if name not in self._before.values]
        if unknown:
            raise ModelError(f"{unknown[0]} is not known before the rewrite")
        self._capture(names)
        found = {name: self._captured[name] for name in names}
        if not all(isinstance(value, np.ndarray) for value in found.values()):
            raise ModelError("a value between is no tensor")
        return found

    def _capture(self, names: Iterable[str]) -> None:
        """Runs the whole model before the rewrite and keeps these values."""
        defaults = self._before.defaults
        for name in names:
            if name in defaults and name not in self._captured:
                self._captured[name] = defaults[name].array()
        missing = [name for name in names if name not in self._captured]
        if missing:
            values = prepare(giving(self._before, missing), self._evaluator)(self._feed)
            self._captured.update(zip(missing, values, strict=True))

    def _side(
        self,
        graph: Graph,
        nodes: Sequence[Node],
        results: Sequence[str],
        names: Sequence[str],
        inputs: Mapping[str, Any],
    ) -> Graph:
        values = {output: graph.values[output] for node in nodes for output in node.outputs if output}
        for name in (*(name for node in nodes for name in node.uses), *results):
            if name not in inputs and name not in values:
                values[name] = graph.values[name]  # a constant
        defaults = {name: constant(array) for name, array in inputs.items()}
        return make_graph(
            graph.name,
            inputs=[Value(name, TensorType(data.dtype, data.shape)) for name, data in defaults.items()],
            nodes=nodes,
            values=values.values(),
            outputs=tuple(results),
            output_names=tuple([f"{name}/result" for name in names]),
            opsets=graph.opsets,
            defaults=defaults,
        )


def _reaching(graph: Graph, nodes: Sequence[Node], results: Sequence[str]) -> list[Node]:
    """Those of some nodes that the results need, in program order."""
    maker = {output: node for node in nodes for output in node.outputs if output}
    waiting, found = list(results), dict[str, Node]()
    while waiting:
        node = maker.get(waiting.pop())
        if node is not None and node.name not in found:
            found[node.name] = node
            waiting += node.uses
    return sorted(found.values(), key=lambda node: node.position)


def _type_of(graph: Graph, name: str) -> Any:
    value = graph.values.get(name)
    return value.type if value is not None else None
