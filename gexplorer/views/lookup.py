"""Finds a node or value by name, in a graph and in those nested in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from immutables import Map

from gexplorer.errors import OptionError
from gexplorer.ir.graph import Graph, Node
from gexplorer.trace.records import Step

# From so many names on, only those that contain what was asked for are suggested: comparing all takes seconds.
_COMPARED = 5000


def find_node(graph: Graph, name: str) -> Node | None:
    """The node of that name, in nested graphs too; None where there is none."""
    return next((found for inner in _all(graph) if (found := inner.nodes.get(name)) is not None), None)


def require_name(steps: Iterable[Step], name: str) -> None:
    """Refuses a name that no node and no value has at any step.

    Raises:
        OptionError: it names nothing; similar names are suggested.
    """
    graphs = {id(graph): graph for step in steps for graph in (step.before, step.after)}
    if not any(name in inner.nodes or name in inner.values for graph in graphs.values() for inner in _all(graph)):
        first = next(iter(graphs.values()), None)
        raise OptionError(f"no node or value {name!r}{_suggestion(name, first)}")


def require_matches(
    off: Mapping[str, frozenset[str]],
    steps: Iterable[Step],
    earlier: Iterable[Step] = (),
    accepted: Mapping[str, frozenset[str]] = Map(),
) -> None:
    """Refuses a match that is switched off at a node that there is at no step.

    Args:
        off: for a rule by name, the nodes at which it must not fuse.
        steps: the steps of the compilation.
        earlier: those of the one before it.
        accepted: the matches that were off there: they stay, though another switch may since have taken a node away.

    Raises:
        OptionError: a node is none; similar names are suggested.
    """
    wanted = [(rule, node) for rule in off for node in sorted(off[rule] - accepted.get(rule, frozenset()))]
    graphs = {id(graph): graph for step in (*steps, *earlier) for graph in (step.before, step.after)} if wanted else {}
    for rule, node in wanted:
        if not any(node in inner.nodes for graph in graphs.values() for inner in _all(graph)):
            first = next(iter(graphs.values()), None)
            raise OptionError(f"{rule}:{node} is switched off, but there is no node {node!r}{_suggestion(node, first)}")


def _all(graph: Graph) -> Iterator[Graph]:
    yield graph
    for holder in graph.nested:
        for inner in graph.nodes[holder].graphs:
            yield from _all(inner)


def _suggestion(name: str, graph: Graph | None) -> str:
    names = sorted({node for inner in _all(graph) for node in inner.nodes}) if graph is not None else []
    near = [known for known in names if name and name.lower() in known.lower()][:3]
    if not near and len(names) <= _COMPARED:
        near = get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
