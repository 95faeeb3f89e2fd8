"""Numbers for every node and every value of a trace, so that all parts of a document mean the same by a number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property

from gexplorer.errors import VerifyError
from gexplorer.ir.draft import changed_nodes
from gexplorer.ir.graph import Graph, Graphs, Node, Value, program_key
from gexplorer.trace.records import Rewrite, Step

_STILL_THERE = -1
# Stages whose steps are about how the graph becomes another.
_CHANGING = ("parse", "passes")


class Numbering:
    """Numbers nodes by identity (a node that a pass changed is another one) and values by name.

    Numbers go by the step in which something first appears, then by program order, so they are the same in every run,
    and steps that two traces have in common give the same numbers in both. Nodes of nested graphs count, those in the
    bodies of fused kernels do not. Steps that leave the graph as it is cost nothing.

    Args:
        steps: of one trace, in order. Nothing is asked of them but their graphs and their rewrites.
        previous: the numbering of another trace; what it says of the first steps, where they are the same, is kept.

    Attributes:
        nodes: every node, by number.
        values: the name of every value, by number.
        typed: by value, what the last graph that has it says of it; None for a name that no graph defines.
        born: by node, index into ``steps`` of the first step that has it after it, -1 for one that was there before.
        gone: by node, index of the first step that has it no more, the number of steps for one that is there at the
            end. A node that a rewrite made and a later one of the same step took away is born and gone in that step.
        holder: by node, name of the node whose nested graph it is in, "" for none.
        scene_steps: indices of the steps that changed which nodes there are, or what goes in or out, and of the first.
    """

    def __init__(self, steps: Iterable[Step], previous: Numbering | None = None) -> None:
        self.steps: tuple[Step, ...] = tuple(steps)
        self.nodes: list[Node] = []
        self.values: list[str] = []
        self.typed: list[Value | None] = []
        self.born: list[int] = []
        self.gone: list[int] = []
        self.holder: list[str] = []
        self.scene_steps: list[int] = []
        self._node: dict[int, int] = {}  # by id: all nodes are kept alive by ``nodes``
        self._value: dict[str, int] = {}
        self._counts: list[tuple[int, int, int]] = []  # after each step: nodes, values, scenes
        self._read(0 if previous is None else self._take_over(previous))

    def node(self, node: Node) -> int:
        """The number of a node. Raises KeyError for a node of no graph of the trace."""
        return self._node[id(node)]

    def find(self, node: Node | None) -> int:
        """The number of a node, -1 for None and for a node of no graph of the trace."""
        return -1 if node is None else self._node.get(id(node), -1)

    def value(self, name: str) -> int:
        """The number of a value; -1 for a name that no graph of the trace has, such as that of an absent input."""
        return self._value.get(name, -1)

    @cached_property
    def result_from(self) -> int:
        """Index of the first of the steps after the passes, which are about the result; how many steps, for none."""
        found = len(self.steps)
        while found and self.steps[found - 1].stage not in _CHANGING and found - 1 not in self.scene_steps[-1:]:
            found -= 1
        return found

    @cached_property
    def last(self) -> dict[str, int]:
        """Numbers of the nodes after the last step by name; of equal names the outermost graph's."""
        found: dict[str, int] = {}
        graphs = [self.steps[-1].after] if self.steps else []
        for graph in graphs:  # grows while it is walked
            for name, node in graph.nodes.items():
                found.setdefault(name, self._node[id(node)])
            for name in sorted(graph.nested):
                graphs += _graphs(graph.nodes[name])
        return found

    def _take_over(self, previous: Numbering) -> int:
        """Copies what an earlier numbering says of the steps that are the same; returns how many of its own those are.

        Steps that leave the graph as it is may come and go: what follows them keeps its numbers, at other indices.
        """
        old, new = _telling(previous.steps), _telling(self.steps)
        same = 0
        for one, other in zip(old, new, strict=False):
            moved = one != other and not _goes_on(self.steps, other)
            if moved or not alike(previous.steps[one], self.steps[other]):
                break
            same += 1
        if not same:
            return 0
        end, first = (
            told[same] if same < len(told) else len(steps) for told, steps in ((old, previous.steps), (new, self.steps))
        )

        def index(one: int) -> int:
            at = max(bisect_right(old, one) - 1, 0)
            return one - old[at] + new[at]

        nodes, values, scenes = previous._counts[end - 1]
        self.nodes, self.holder = previous.nodes[:nodes], previous.holder[:nodes]
        self.born = [index(one) for one in previous.born[:nodes]]
        self.gone = [_STILL_THERE if one >= end else index(one) for one in previous.gone[:nodes]]
        self.values, self.typed = previous.values[:values], previous.typed[:values]
        self.scene_steps = [index(one) for one in previous.scene_steps[:scenes]]
        self._counts = [previous._counts[old[bisect_right(new, one) - 1]] for one in range(first)]
        self._node = {id(node): number for number, node in enumerate(self.nodes)}
        self._value = {name: number for number, name in enumerate(self.values)}
        return first

    def _read(self, first: int) -> None:
        graph = self.steps[first - 1].after if first else None
        held = set(map(id, graph.nodes.values())) if graph is not None else set[int]()
        for index, step in enumerate(self.steps[first:], first):
            changed = False
            for one, when in ((step.before, index - 1), (step.after, index)):
                if one is graph:
                    continue
                now = set(map(id, one.nodes.values()))
                if graph is None:
                    self._begin(one, now, when)
                    self._name_rest(one)
                else:
                    changed |= held != now or graph.outputs != one.outputs or graph.inputs != one.inputs
                    self._end(held - now, graph, one, max(when, 0))
                    self._begin(one, now - held, when)
                graph, held = one, now
            for rewrite in step.rewrites:
                self._add_passing(rewrite, index)
            if changed or not index:
                self.scene_steps.append(index)
            self._counts.append((len(self.nodes), len(self.values), len(self.scene_steps)))
        if graph is not None:
            self._name_rest(graph)
        self.gone = [len(self.steps) if end == _STILL_THERE else end for end in self.gone]

    def _add_passing(self, rewrite: Rewrite, index: int) -> None:
        """Nodes that a rewrite made and a later one of the same step changed or took away: they are in no graph."""
        inside = rewrite.path[-1].node if rewrite.path else ""
        for pair in changed_nodes(rewrite.changes):
            for node in pair:
                if node is not None and id(node) not in self._node:
                    self._add(node, index, inside, passing=True)
        for change in rewrite.changes:
            if isinstance(value := change.new, Value) and value.name:
                self._add_value(value.name)
                number = self._value[value.name]
                if self.typed[number] is None:
                    self.typed[number] = value

    def _begin(self, graph: Graph, fresh: set[int], when: int) -> None:
        """Numbers what a graph has that the one before it had not."""
        for name in graph.inputs:
            self._add_value(name)
        if fresh:
            for node in _in_order(graph, fresh):
                self._add(node, when, "")
        for name in graph.outputs:
            self._add_value(name)

    def _end(self, gone: set[int], graph: Graph, following: Graph, when: int) -> None:
        """Notes what a graph has and the following one has no more; nested nodes go with those that hold them."""
        values, later = graph.values, following.values
        waiting = [self.nodes[self._node[one]] for one in gone]
        while waiting:
            node = waiting.pop()
            self.gone[self._node[id(node)]] = when
            for name in (*node.inputs, *node.outputs):
                if name and name not in later and (value := values.get(name)) is not None:
                    self.typed[self._value[name]] = value
            if node.attributes:
                waiting += [inner for held in node.graphs for inner in held.nodes.values()]

    def _add(self, node: Node, when: int, holder: str, *, passing: bool = False) -> None:
        """Numbers a node and all that its nested graphs hold; what is passing is gone in the step that made it."""
        waiting: list[tuple[Node, str]] = [(node, holder)]
        while waiting:
            one, inside = waiting.pop()
            number = self._node.get(id(one))
            if number is None:
                self._add_node(one, when, inside, when if passing else _STILL_THERE)
            elif not passing:  # it is back, or was held by a node that was replaced
                self.gone[number] = _STILL_THERE
            if one.attributes:
                for inner in reversed(_graphs(one)):
                    for name in (*inner.inputs, *inner.outputs):
                        self._add_value(name)
                    self._name_rest(inner)
                    waiting += [(n, one.name) for n in sorted(inner.nodes.values(), key=program_key, reverse=True)]

    def _add_node(self, node: Node, when: int, holder: str, gone: int) -> None:
        self._node[id(node)] = len(self.nodes)
        self.nodes.append(node)
        self.born.append(when)
        self.gone.append(gone)
        self.holder.append(holder)
        for name in node.inputs:
            if name not in self._value:
                self._add_value(name)
        for name in node.outputs:
            if name not in self._value:
                self._add_value(name)

    def _add_value(self, name: str) -> None:
        if name and name not in self._value:
            self._value[name] = len(self.values)
            self.values.append(name)
            self.typed.append(None)

    def _name_rest(self, graph: Graph) -> None:
        """Numbers values that no node has, and notes what the graph says of all."""
        number, values = self._value, graph.values
        for name in sorted(name for name in values if name not in number):
            self._add_value(name)
        for name, value in values.items():
            if name:
                self.typed[number[name]] = value


def _graphs(node: Node) -> list[Graph]:
    """The nested graphs of a node by the names of their attributes: the attributes themselves are in no order."""
    found: list[Graph] = []
    for name in sorted(node.attributes):
        held = node.attributes[name]
        found += [held] if isinstance(held, Graph) else held if isinstance(held, Graphs) else []
    return found


def _goes_on(steps: Sequence[Step], index: int) -> bool:
    """Whether a step begins with the graph that the one before it left; the first does."""
    return not index or steps[index].before is steps[index - 1].after


def _telling(steps: Sequence[Step]) -> list[int]:
    """Indices of the first step, and of those that say anything of nodes and values."""
    return [
        index
        for index, step in enumerate(steps)
        if not index or step.before is not step.after or step.rewrites or not _goes_on(steps, index)
    ]


def alike(old: Step, new: Step) -> bool:
    """Whether two steps give the same numbers: nothing but graphs and rewrites counts."""
    return old.before is new.before and old.after is new.after and old.rewrites is new.rewrites


def _in_order(graph: Graph, fresh: set[int]) -> Sequence[Node]:
    if len(fresh) == len(graph):
        try:
            return graph.order
        except VerifyError:  # a graph from elsewhere may have a cycle: it is shown all the same
            pass
    return sorted((node for node in graph.nodes.values() if id(node) in fresh), key=program_key)
