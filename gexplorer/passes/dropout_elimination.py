"""Dropout does nothing at inference, nor where its ratio is 0."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class DropoutElimination(Pass):
    """Removes Dropout where it is certain to drop nothing and its mask is not used.

    before:  y = Dropout(x, ratio); z = Relu(y)
    after:   z = Relu(x)
    """

    name = "dropout_elimination"
    ge_name = "DropOutPass"
    order = 200
    messages = Map(
        inference=Message("{node} is in inference mode, where Dropout gives its input"),
        ratio=Message("{node} drops nothing: its ratio is 0"),
        mask_used=Message("the mask of {node} is used by {blocker}", "remove the use of the mask"),
        training=Message("{node} may run in training mode", "export the model in inference mode"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Looks at every Dropout."""
        for candidate in draft.candidates("Dropout"):
            node = draft.current(candidate)  # its input may have been a Dropout that is gone
            if node is None or node.domain:
                continue
            result, *masks = node.outputs
            mask = masks[0] if masks else ""
            if mask and draft.use_count(mask):
                users = draft.users(mask)
                log.reject(node, "mask_used", blocker=users[0].name if users else mask)
                continue
            code = "inference" if _is_inference(node, draft) else "ratio" if _has_no_ratio(node, draft) else ""
            if not code:
                log.reject(node, "training")
                continue
            with log.rewrite(node, code):
                draft.replace_uses(result, node.inputs[0])
                draft.remove(node)


def _is_inference(node: Node, draft: Draft) -> bool:
    version = draft.opsets.get("", 0)
    if version < 7:
        return bool(node.attribute("is_test", 0))
    if version < 12 or len(node.inputs) < 3 or not node.inputs[2]:
        return True
    return _is_zero(draft.constant_of(node.inputs[2]))


def _has_no_ratio(node: Node, draft: Draft) -> bool:
    """From version 12 on an input says it, and before that only the mode matters."""
    return draft.opsets.get("", 0) >= 12 and bool(node.inputs[1]) and _is_zero(draft.constant_of(node.inputs[1]))


def _is_zero(data: Constant | None) -> bool:
    return data is not None and data.is_small and data.elements == 1 and not bool(data.array().reshape(-1)[0])
