"""What no result depends on goes."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class DeadCodeElimination(Pass):
    """Removes nodes and constants that no result depends on.

    before:  a = Relu(x); b = Neg(x); return a
    after:   a = Relu(x); return a

    Runs before kernels are looked for: a reader that nobody reads must not keep a rule from fusing.
    """

    name = "dead_code_elimination"
    ge_name = "PrunePass"
    order = 530
    messages = Map(
        dead=Message("no result depends on {node} ({op})"),
        unused_constants=Message("{count} constants ({bytes:,} bytes) are used by nothing"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """One sweep against program order finds all dead nodes, since users come after producers."""
        for node in reversed(draft.base.order):
            current = draft.current(node)
            if current is None or draft.is_read(current):
                continue
            with log.rewrite(node, "dead", op=node.op):
                draft.remove(current)
        unused = [v for v in draft.unused_constants() if v.constant is not None]
        if unused:
            anchor = draft.anchor() or unused[0]
            size = sum(value.constant.nbytes for value in unused if value.constant is not None)
            with log.rewrite(anchor, "unused_constants", count=len(unused), bytes=size):
                for value in unused:
                    draft.drop_value(value.name)
