"""An If whose condition is known is its taken branch."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import POSITION_STEP, Draft
from gexplorer.ir.graph import Graph, Node, joined_origin
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class BranchElimination(Pass):
    """Puts the taken branch of an If in its place where the condition is a constant.

    before:  const c = true; y = If(c, then: {a = Relu(x)}, else: {b = Neg(x)})
    after:   y = Relu(x)

    Names are unique over nested graphs, so the branch moves as it is.
    """

    name = "branch_elimination"
    ge_name = "CondRemovePass"
    order = 310
    messages = Map(
        taken=Message("the condition of {node} is always {condition}, so only its {branch} runs"),
        unknown=Message("{blocker}, the condition of {node}, is known only at run time"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Looks at every If."""
        for node in draft.candidates("If"):
            if node.domain:
                continue
            current = draft.node(node.name)
            condition = draft.constant_of(current.inputs[0])
            if condition is None or not condition.is_small or condition.elements != 1:
                log.reject(node, "unknown", blocker=current.inputs[0])
                continue
            holds = bool(condition.array().reshape(-1)[0])
            name = "then_branch" if holds else "else_branch"
            branch = current.attribute(name)
            if isinstance(branch, Graph) and len(branch) < POSITION_STEP // 2:
                with log.rewrite(node, "taken", condition=str(holds).lower(), branch=name):
                    _inline(draft, current, branch)


def _inline(draft: Draft, node: Node, branch: Graph) -> None:
    # values have names of their own in all nested graphs, nodes only within their graph
    names = {name: draft.fresh(name) if name in draft else name for name in branch.nodes}
    first = node.position - len(branch)
    for value in branch.values.values():
        draft.put_value(replace(value, producer=names.get(value.producer, "")))
    for index, inner in enumerate(branch.order):
        draft.put_node(
            replace(
                inner,
                name=names[inner.name],
                position=first + index,
                origin=joined_origin(inner, node),
                partition=node.partition,
            )
        )
    for output, result in zip(node.outputs, branch.outputs, strict=True):
        if output:
            draft.replace_uses(output, result)
    draft.remove(draft.node(node.name))
