"""The works of nodes, each found out once: graphs of one trace have nearly all of their nodes in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from gexplorer.cost.kernel_work import NodeWork
from gexplorer.cost.work_of_node import work_of_node
from gexplorer.ir.graph import Graph, Node


@dataclass(slots=True)
class Works:
    """Works of nodes that were asked for already.

    The same node in another graph has the same work, if what it reads and writes has the same types and constants. All
    are told apart by what they are, not by what they equal, which costs less; they are kept, so that no other can come
    in their place.
    """

    _known: dict[tuple[int, ...], tuple[NodeWork, tuple[object, ...]]] = field(
        default_factory=dict["tuple[int, ...]", "tuple[NodeWork, tuple[object, ...]]"]
    )

    def of(self, graph: Graph, node: Node) -> NodeWork:
        """The work of a node in its graph (``work_of_node``)."""
        seen: list[object] = [node]
        for name in (*node.inputs, *node.outputs):
            value = graph.values.get(name)
            seen += (None, None) if value is None else (value.type, value.constant)
        key = tuple(map(id, seen))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (work_of_node(graph, node), tuple(seen))
        return found[0]
