"""The works of nodes, each found out once: layers repeat, and graphs of one trace have nearly all nodes in common."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from gexplorer.cost.kernel_work import KernelWork, NodeWork, NoKernel
from gexplorer.cost.work_of_node import work_of_node
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.signature import signature
from gexplorer.ops.work import types_of


@dataclass(slots=True)
class Works:
    """Works of nodes that were asked for already.

    The same node in another graph has the same work, if what it reads and writes has the same types and constants. All
    are told apart by what they are, not by what they equal, which costs less; they are kept, so that no other can come
    in their place. Other nodes have the same work where they are the same but for names; a work that says a name (of
    what is not known, or why the host does it) is each node's own.
    """

    _known: dict[tuple[int, ...], tuple[NodeWork, tuple[object, ...]]] = field(
        default_factory=dict["tuple[int, ...]", "tuple[NodeWork, tuple[object, ...]]"]
    )
    _alike: dict[Hashable, NodeWork] = field(default_factory=dict[Hashable, NodeWork])

    def of(self, graph: Graph, node: Node) -> NodeWork:
        """The work of a node in its graph (``work_of_node``)."""
        seen: list[object] = [node]
        for name in (*node.inputs, *node.outputs):
            value = graph.values.get(name)
            seen += (None, None) if value is None else (value.type, value.constant)
        key = tuple(map(id, seen))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (self._of_its_kind(graph, node), tuple(seen))
        return found[0]

    def continued(self) -> Works:
        """Works for graphs of another trace: what nodes that are alike have in common stays, no node is kept."""
        return Works(_alike=self._alike)

    def _of_its_kind(self, graph: Graph, node: Node) -> NodeWork:
        # What a fused kernel's body says of its inputs is as old as the kernel.
        inputs, outputs = types_of(graph, node)
        key = signature(graph, node), tuple(inputs), tuple(outputs)
        found = self._alike.get(key)
        if found is None:
            found = work_of_node(graph, node)
            if isinstance(found, KernelWork | NoKernel):
                self._alike[key] = found
        return found
