"""The graph falls into parts that one engine each can run at a stretch."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.ops.row import Engine, Outcome
from gexplorer.ops.table import lookup
from gexplorer.ops.traits import is_control_flow
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message

# Engines that ride along with whatever they feed: they launch nothing on their own.
_ATTACHED = (Engine.GE_LOCAL, Engine.RTS)


class SubgraphPartition(Pass):
    """Marks every node with its part: control flow, host fallbacks and AI CPU kernels cut the graph.

    before:  a = MatMul(x, w); b = StringNormalizer(s); y = Add(a, If(c, …))
    after:   a in aicore_0, b in host_0, the If in control_0, y in aicore_1

    A part's number is the greatest number of cuts on a path to it, so parts never depend on each other in a circle.
    A graph without cuts stays one part and is not marked.
    """

    name = "subgraph_partition"
    ge_name = "EnginePlacer"
    order = 950
    messages = Map(
        part=Message("{part}: {nodes} nodes for {engine}"),
        fallback=Message("{node} ({op}) runs on the host: {why}", "replace {op}, or cut it off the model"),
        control_flow=Message(
            "{node} ({op}) cuts the graph: nothing is fused across control flow",
            "export the model without data-dependent branches and loops",
        ),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """One sweep in program order gives every node its engine and its number of cuts."""
        parts: dict[str, list[Node]] = {}
        place: dict[str, tuple[str, int]] = {}
        for node in draft.base.order:
            engine = self._engine(node, draft, log)
            before = [place[p.name] for name in node.uses if (p := draft.producer(name)) is not None]
            if engine == "":
                engine, _ = max(before, key=lambda item: item[1], default=("aicore", 0))
            number = max((n if e == engine else n + 1 for e, n in before), default=0)
            place[node.name] = (engine, number)
            parts.setdefault(f"{engine}_{number}", []).append(node)
        if len(parts) < 2:
            return
        for part, nodes in parts.items():
            with log.rewrite(nodes[0], "part", part=part, nodes=len(nodes), engine=part.rpartition("_")[0]):
                for node in nodes:
                    current = draft.node(node.name)
                    if current.partition != part:
                        draft.put_node(replace(current, partition=part))

    def _engine(self, node: Node, draft: Draft, log: Log) -> str:
        if is_control_flow(node):
            log.reject(node, "control_flow", op=node.op)
            return "control"
        inputs, outputs = (
            [value.type if (value := draft.value(name)) is not None else None for name in side]
            for side in (node.inputs, node.outputs)
        )
        lowering = lookup(node, inputs, outputs)
        if lowering.outcome is Outcome.FALLBACK:
            log.reject(node, "fallback", op=node.op, why=lowering.reason)
            return "host"
        if lowering.engine is Engine.AICPU:
            return "aicpu"
        return "" if lowering.engine in _ATTACHED else "aicore"
