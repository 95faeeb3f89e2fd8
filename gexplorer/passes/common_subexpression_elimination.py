"""The same operator on the same inputs is computed once."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import joined_origin, operation_key
from gexplorer.ops.table import entry_of
from gexplorer.ops.traits import is_deterministic
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class CommonSubexpressionElimination(Pass):
    """Merges nodes that have the same operator, inputs and attributes.

    before:  a = Sqrt(x); b = Sqrt(x); y = Add(a, b)
    after:   a = Sqrt(x); y = Add(a, a)

    Random operators and nodes with nested graphs are never merged.
    """

    name = "common_subexpression_elimination"
    ge_name = "CommonSubexpressionEliminationPass"
    order = 510
    outer_first = True
    messages = Map(
        same=Message("{node} ({op}) computes what {kept} computes"),
        random=Message("{node} ({op}) draws random numbers, so it is not the same as {blocker}"),
        unknown=Message("nobody knows whether {node} ({op}) gives the same twice, so {blocker} stays beside it"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """One sweep in program order: when a node is reached, its inputs are merged already."""
        seen: dict[object, str] = {}
        for node in draft.base.order:
            current = draft.current(node)
            if current is None:
                continue
            operation = operation_key(current)
            if operation is None:
                continue
            kept = seen.setdefault((operation, current.inputs), current.name)
            if kept == current.name:
                continue
            if not is_deterministic(current, draft.constant_of):
                code = "unknown" if entry_of(current) is None else "random"
                log.reject(node, code, blocker=kept, op=node.op)
                continue
            first = draft.node(kept)
            with log.rewrite(node, "same", op=node.op, kept=kept):
                for old, new in zip(current.outputs, first.outputs, strict=True):
                    if old:
                        draft.replace_uses(old, new)
                draft.remove(draft.node(current.name))
                draft.put_node(draft.with_origin(first.name, joined_origin(first, current)))
