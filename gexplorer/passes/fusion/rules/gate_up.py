"""The gate and up projections of a gated unit as one MatMul."""

from __future__ import annotations

from collections.abc import Sequence

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.passes.fusion.siblings import SIBLING_MESSAGES, SiblingRule, columns
from gexplorer.trace.records import Message

_STEPS = 3


class GateUp(SiblingRule):
    """Two linear layers of one input whose results meet again become one kernel with two results.

    before:  gate = MatMul(x, wg); up = MatMul(x, wu); y = SwiGlu(gate, up)
    after:   gate, up = GateUpMatMul(x, wg, wu); y = SwiGlu(gate, up)
    """

    name = "gate_up"
    order = 721
    kernel = "GateUpMatMul"
    saves = "One of two times that the hidden state is read, and one launch."
    reads = ("x",)
    number = 2
    pattern = op("MatMul|MatMulBias|Gemm", "x", const("weight", wanted="a constant weight"))
    messages = Map(
        {
            **SIBLING_MESSAGES,
            "apart": Message("what {node} and {blocker} make does not meet soon: they are no branches of a gated unit"),
        }
    )

    def check_family(self, family: Sequence[Match], draft: Draft) -> Reject | None:
        """The results meet in the activation, or a few operators on."""
        first, second = (_below(draft, member.root.outputs[0]) for member in family)
        if first.isdisjoint(second):
            return Reject("apart", family[1].root.name, node=family[0].root.name)
        return None

    def describe_family(self, family: Sequence[Match], draft: Draft) -> Map[str, object]:
        """How many columns each result has."""
        return Map(columns=Ints(columns(family, draft)))


def _below(draft: Draft, value: str) -> set[str]:
    """Names of the nodes within a few steps of a value."""
    found: set[str] = set()
    values = [value]
    for _ in range(_STEPS):
        users = [user for name in values for user in draft.users(name)]
        found |= {user.name for user in users}
        values = [output for user in users for output in user.outputs]
    return found
