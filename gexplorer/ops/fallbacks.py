"""Which operators of a graph fall back: to the host, or to the chip's own Arm cores (AI CPU), nested graphs included.

The one place where they are found: whatever counts or lists them asks here, so that no two answers differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import Type
from gexplorer.ops.row import Outcome, Unit
from gexplorer.ops.table import Lowering, lookup
from gexplorer.ops.traits import is_control_flow

AICPU_REASON = "it runs on the chip's Arm cores (AI CPU), as compiled C++"


@dataclass(frozen=True, slots=True)
class Fallback:
    """A node that neither an AI Core nor GE itself takes care of.

    Attributes:
        node: the node.
        within: names of the nodes whose graphs hold it, outermost first; empty in the outermost graph.
        lowering: what becomes of it.
    """

    node: Node
    within: tuple[str, ...]
    lowering: Lowering

    @property
    def on_host(self) -> bool:
        """True where it runs on the host, False where on the AI CPU."""
        return self.lowering.outcome is Outcome.FALLBACK

    @property
    def reason(self) -> str:
        """Why, as a sentence without a full stop."""
        return self.lowering.reason if self.on_host else AICPU_REASON

    @property
    def place(self) -> str:
        """Its name, and the nodes that it lies in: ``Strange_1 in If_0``."""
        return " in ".join((self.node.name, *reversed(self.within)))


def fallbacks(graph: Graph) -> tuple[Fallback, ...]:
    """Every node that falls back, at any depth, in execution order. O(nodes).

    Control flow is none, what its graphs hold may be. What the body of a fused kernel holds is part of that kernel.

    Raises:
        VerifyError: a graph has a cycle, so there is no order.
    """
    return tuple(_walk(graph, (), ()))


def fallbacks_text(found: Sequence[Fallback]) -> str:
    """How many fall back and where to: ``3 (host 1, AI CPU 2; 1 in nested graphs)``."""
    host = sum(one.on_host for one in found)
    nested = sum(bool(one.within) for one in found)
    inside = f"; {nested:,} in nested graphs" if nested else ""
    return f"{len(found):,} (host {host:,}, AI CPU {len(found) - host:,}{inside})"


def _walk(graph: Graph, around: tuple[Graph, ...], within: tuple[str, ...]) -> Iterator[Fallback]:
    scopes = (graph, *around)
    nested = frozenset(graph.nested)

    def type_of(name: str) -> Type | None:
        return next((value.type for scope in scopes if (value := scope.values.get(name)) is not None), None)

    for node in graph.order:
        lowering = lookup(node, [type_of(name) for name in node.inputs], [type_of(name) for name in node.outputs])
        aicpu = lowering.unit is Unit.AICPU and not is_control_flow(node)
        if aicpu or lowering.outcome is Outcome.FALLBACK:
            yield Fallback(node, within, lowering)
        if node.name in nested:
            for inner in node.graphs:
                yield from _walk(inner, scopes, (*within, node.name))
