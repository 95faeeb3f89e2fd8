"""A chain of operators that only change the shape becomes one Reshape or none."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node, joined_origin
from gexplorer.ir.types import TensorType
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message

VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


class ReshapeMerging(Pass):
    """Merges Reshape, Flatten, Squeeze and Unsqueeze that follow each other.

    before:  a = Reshape(x: float32[2, 3, 4], [6, 4]); y = Unsqueeze(a, [0])
    after:   y = Reshape(x, [1, 6, 4])

    before:  a = Flatten(x: float32[2, 3, 4]); y = Reshape(a, [2, 3, 4])
    after:   users of y read x
    """

    name = "reshape_merging"
    ge_name = "ReshapeRemovePass"
    order = 420
    messages = Map(
        inverse=Message("{node} gives back the shape that {inner} changed"),
        merged=Message("{inner} and {node} are one reshape to {shape}"),
        inner_used=Message("{blocker} is also used elsewhere, so merging it into {node} would save nothing"),
        empty=Message("{node} gives the shape {shape}, but a 0 in the shape of a Reshape means another thing"),
        dynamic=Message("the shape that {node} gives is not known before run time", "bind the dimensions with --shape"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Looks at every view whose input is another; program order makes a chain collapse in one sweep."""
        log.settle(lambda: self._sweep(draft, log))

    def _sweep(self, draft: Draft, log: Log) -> None:
        if draft.opsets.get("", 0) < 7:
            return
        for node in draft.candidates(*VIEWS):
            current = draft.current(node)
            inner = draft.producer(current.inputs[0]) if current is not None else None
            if current is None or node.domain or inner is None or inner.op not in VIEWS or inner.domain:
                continue
            source = draft.tensor(inner.inputs[0])
            result = draft.tensor(current.outputs[0])
            if source is None or result is None or result.shape is None:
                continue
            if source == result and all(dim is not None for dim in source.shape or ()):
                with log.rewrite(node, "inverse", inner=inner.name):
                    draft.replace_uses(current.outputs[0], inner.inputs[0])
                    draft.remove(draft.node(node.name))
                    _remove_if_unused(draft, inner)
            elif draft.use_count(inner.outputs[0]) > 1:
                log.reject(node, "inner_used", blocker=inner.name)
            else:
                self._merge(draft, log, current, inner, result)

    def _merge(self, draft: Draft, log: Log, node: Node, inner: Node, result: TensorType) -> None:
        import numpy as np

        shape = result.shape or ()
        unknown = [axis for axis, dim in enumerate(shape) if not isinstance(dim, int)]
        if 0 in shape:
            log.reject(node, "empty", shape=list(shape))
            return
        if len(unknown) > 1:  # one of them can be -1
            log.reject(node, "dynamic")
            return
        target = [dim if isinstance(dim, int) else -1 for dim in shape]
        with log.rewrite(node, "merged", inner=inner.name, shape=target):
            name = draft.add_constant(np.array(target, np.int64), f"{node.name}/shape")
            merged = Node(
                name=node.name,
                op="Reshape",
                inputs=(inner.inputs[0], name),
                outputs=node.outputs,
                attributes=Map(),
                origin=joined_origin(inner, node),
                position=node.position,
                scope=node.scope,
                partition=node.partition,
            )
            draft.put_node(merged)
            draft.remove(draft.node(inner.name))


def _remove_if_unused(draft: Draft, node: Node) -> None:
    if not draft.use_count(node.outputs[0]):
        draft.remove(draft.node(node.name))
