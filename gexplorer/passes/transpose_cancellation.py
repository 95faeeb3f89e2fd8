"""Two transposes in a row become one or none."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints, Node, joined_origin
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class TransposeCancellation(Pass):
    """Merges Transpose(Transpose(x)) by composing the permutations.

    before:  a = Transpose(x, perm=[0, 2, 1]); y = Transpose(a, perm=[0, 2, 1])
    after:   users of y read x
    """

    name = "transpose_cancellation"
    ge_name = "TransOpWithoutReshapeFusionPass"
    order = 410
    messages = Map(
        inverse=Message("{node} undoes {inner}"),
        merged=Message("{inner} and {node} are one permutation, {perm}"),
        inner_used=Message("{blocker} is also used elsewhere, so merging it into {node} would save nothing"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Looks at every Transpose whose input is another; program order makes a chain collapse in one sweep."""
        log.settle(lambda: self._sweep(draft, log))

    def _sweep(self, draft: Draft, log: Log) -> None:
        for node in draft.candidates("Transpose"):
            current = draft.current(node)
            if current is None or node.domain:
                continue
            inner = draft.producer(current.inputs[0])
            if inner is None or inner.op != "Transpose" or inner.domain:
                continue
            first, second = _permutation(inner, draft), _permutation(current, draft)
            if first is None or second is None or len(first) != len(second):
                continue
            perm = [first[axis] for axis in second]
            alone = draft.use_count(inner.outputs[0]) == 1
            if perm == sorted(perm):
                with log.rewrite(node, "inverse", inner=inner.name):
                    draft.replace_uses(current.outputs[0], inner.inputs[0])
                    draft.remove(draft.node(node.name))
                    if alone:
                        draft.remove(draft.node(inner.name))
            elif alone:
                with log.rewrite(node, "merged", inner=inner.name, perm=perm):
                    attributes = current.attributes.set("perm", Ints(perm))
                    origin = joined_origin(inner, current)
                    draft.update(current, inputs=inner.inputs, attributes=attributes, origin=origin)
                    draft.remove(inner)
            else:
                log.reject(node, "inner_used", blocker=inner.name)


def _permutation(node: Node, draft: Draft) -> tuple[int, ...] | None:
    perm = node.integers("perm")
    if perm is None:
        value = draft.value(node.inputs[0])
        rank = value.tensor.rank if value is not None and value.tensor is not None else None
        return None if rank is None else tuple(reversed(range(rank)))
    return perm if sorted(perm) == list(range(len(perm))) else None
