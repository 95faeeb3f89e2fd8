"""What pictures need to know of nodes: one by one, and as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.ir.graph import Graph
from gexplorer.layout.paths import Path
from gexplorer.layout.placement import Bools, Ints


@dataclass(frozen=True, slots=True)
class Facts:
    """What a picture needs to know of one node, or of one input or output of the graph.

    Attributes:
        identity: equal numbers for versions of one node.
        group: the container that it belongs to.
        kind: equal numbers for nodes that do the same to tensors of the same type and shape.
        size: width and height of its box, in px.
        inputs: numbers of the values that it uses; those of nested graphs have their own, see ``Atlas``.
        outputs: numbers of the values that it makes.
        nested: the graphs nested in it, with the path of each.
        order: place in program order; those of nested graphs last.
    """

    identity: int
    group: int
    kind: int
    size: tuple[float, float]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nested: tuple[tuple[Path, Graph], ...]
    order: int


class Table:
    """Facts of nodes as arrays, so that a graph of which most nodes are known costs no loop over them.

    Args:
        nodes: how many there are.

    Attributes:
        known: by node, whether its facts are here.
        rows: by node: identity, group, order, and where its values begin, how many it uses and how many it makes.
    """

    def __init__(self, nodes: int) -> None:
        self.known: Bools = np.zeros(nodes, dtype=np.bool_)
        self.rows: Ints = np.zeros((nodes, 6), dtype=np.int64)
        self._values: Ints = np.zeros(0, dtype=np.int64)
        self._new: list[int] = []

    def add(self, node: int, fact: Facts) -> None:
        """Adds the facts of a node."""
        at = len(self._values) + len(self._new)
        self.known[node] = True
        self.rows[node] = (fact.identity, fact.group, fact.order, at, len(fact.inputs), len(fact.outputs))
        self._new += (*fact.inputs, *fact.outputs)

    def first(self, nodes: int, size: int) -> Table:
        """The facts of the first so many nodes, with room for others."""
        made = Table(size)
        made.known[:nodes], made.rows[:nodes] = self.known[:nodes], self.rows[:nodes]
        made._values = self._every()
        return made

    def inputs(self, nodes: Ints) -> tuple[Ints, Ints]:
        """What nodes use: identity of the node, and number of the value."""
        rows = self.rows[nodes]
        return self._ragged(rows[:, 0], rows[:, 3], rows[:, 4])

    def outputs(self, nodes: Ints) -> tuple[Ints, Ints]:
        """What nodes make: identity of the node, and number of the value."""
        rows = self.rows[nodes]
        return self._ragged(rows[:, 0], rows[:, 3] + rows[:, 4], rows[:, 5])

    def _ragged(self, who: Ints, start: Ints, count: Ints) -> tuple[Ints, Ints]:
        end = np.cumsum(count)
        places = np.arange(end[-1] if len(end) else 0) + np.repeat(start - end + count, count)
        return np.repeat(who, count), self._every()[places]

    def _every(self) -> Ints:
        if self._new:
            self._values = np.concatenate([self._values, np.array(self._new, dtype=np.int64)])
            self._new = []
        return self._values
