"""Identity goes; its users read what it read."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class IdentityElimination(Pass):
    """Removes Identity nodes.

    before:  y = Identity(x); z = Relu(y)
    after:   z = Relu(x)
    """

    name = "identity_elimination"
    ge_name = "IdentityPass"
    order = 210
    messages = Map(identity=Message("{node} gives its input unchanged"))

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Looks at every Identity."""
        for node in draft.candidates("Identity"):
            if node.domain:
                continue
            with log.rewrite(node, "identity"):
                draft.replace_uses(node.outputs[0], draft.node(node.name).inputs[0])
                draft.remove(draft.node(node.name))
