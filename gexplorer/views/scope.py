"""A graph with the graphs around it: nested graphs see the values of those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gexplorer.ir.graph import Graph, Graphs, Value
from gexplorer.ir.types import Type
from gexplorer.trace.records import Place


@dataclass(frozen=True, slots=True)
class Scope:
    """A graph and what it lies in.

    Attributes:
        graph: the graph.
        around: the graphs around it, innermost first.
    """

    graph: Graph
    around: tuple[Graph, ...] = ()

    def value(self, name: str) -> Value | None:
        """The value of that name here or around."""
        found = self.graph.values.get(name)
        if found is not None:
            return found
        return next((value for outer in self.around if (value := outer.values.get(name)) is not None), None)

    def type(self, name: str) -> Type | None:
        """The type of a value here or around, None where unknown."""
        value = self.graph.values.get(name) or self.value(name)
        return value.type if value is not None else None

    def nested(self) -> Iterator[Scope]:
        """The graph itself and all graphs nested in it, at any depth, in a fixed order."""
        yield self
        for name in sorted(self.graph.nested):
            for graph in self.graph.nodes[name].graphs:
                yield from Scope(graph, (self.graph, *self.around)).nested()


def scope_at(graph: Graph, path: Sequence[Place]) -> Scope:
    """The graph nested at a path. Raises KeyError where there is none."""
    scope = Scope(graph)
    for place in path:
        held = scope.graph.nodes[place.node].attributes[place.attribute]
        inner = held[place.index] if isinstance(held, Graphs) else held
        if not isinstance(inner, Graph):
            raise KeyError(f"{place.node}.{place.attribute} holds no graph")
        scope = Scope(inner, (scope.graph, *scope.around))
    return scope
