"""What the rules for a normalisation and the linear layers behind it share."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.norms import LAYER_NORM, RMS_NORM
from gexplorer.passes.fusion.pattern import Op, op
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message

_ADDED = {"AddRmsNorm": "add_rms_norm", "AddLayerNorm": "add_layer_norm"}


def after_norm(ops: str) -> tuple[Op, ...]:
    """Linear layers that read a normalisation, alone or with the Add before it."""
    return (
        op(ops, op(f"{LAYER_NORM}|{RMS_NORM}", "x", name="norm"), name="linear"),
        *(op(ops, op("|".join(_ADDED), name="added", absorbed=False, output=output)) for output in (0, 1)),
    )


class NormLinear(Rule):
    """A normalisation and what reads it; only the normalised value may be read, and by nothing else."""

    near = 2
    reads = ("x",)
    messages = Map(
        added=Message(
            "{blocker} ({op}) has the normalisation, with the Add before it",
            "switch {rule} off, and see whether it costs less with {node}",
        ),
        turned=Message(
            "{blocker} reads its first operand transposed, so that no tile of it holds whole rows of the norm"
        ),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """A norm that is one kernel with its Add is left there, and so is one whose result is read transposed."""
        added = found.named.get("added")
        if added is None:
            linear = found.named["linear"]
            return Reject("turned", linear.name) if linear.attribute("transpose_a", 0) else None
        return Reject("added", added.name, op=added.op, rule=_ADDED[added.op], node=found.root.name)

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Which normalisation it is, and what the linear layer said of itself."""
        linear = found.named["linear"]
        attributes = linear.attributes if linear.body is not None else NO_ATTRIBUTES
        return attributes.set("norm", found.named["norm"].op)
