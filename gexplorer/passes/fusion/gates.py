"""What the rules for gated linear units share."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.halves import half_of
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.region import Region
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


class GatedUnit(Rule):
    """An activation of ``gate`` times ``up``."""

    near = 2
    reads = ("gate", "up")
    messages = Map(
        shapes=Message("{blocker} is {type}, but {gate} is {gate_type}: what gates and what is gated must be alike"),
        constant=Message("{blocker} is a constant: {node} scales an activation, it gates nothing"),
        squared=Message("{gate} is multiplied with its own activation: {node} gates nothing else"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Gate and gated must be two tensors of one shape, both computed."""
        gate, up = found["gate"], found["up"]
        a, b = tensor_of(draft, gate), tensor_of(draft, up)
        if gate == up:
            return Reject("squared", found.root.name, gate=gate, node=found.root.name)
        if draft.constant_of(up) is not None:
            return Reject("constant", up, node=found.root.name)
        if a is None or b is None or a.shape is None or a.shape != b.shape:
            return Reject("shapes", up, type=str(b), gate=gate, gate_type=str(a))
        return None

    def extend(self, found: Match, draft: Draft) -> Match:
        """Takes in the Split or the Slices that halve one tensor, where nothing else needs the halves."""
        makers = [draft.producer(found[name]) for name in ("gate", "up")]
        first, second = makers
        if first is None or second is None or first.inputs[:1] != second.inputs[:1] or first.op != second.op:
            return found
        halves = {
            half_of(draft, maker, found[name]) if maker is not None and maker.op in ("Split", "Slice") else None
            for maker, name in zip(makers, ("gate", "up"), strict=True)
        }
        region = Region(draft, found.nodes)
        for name in ("gate", "up"):
            region.up(found[name], ("Split", "Slice"))
        if halves != {0, 1} or not {first.name, second.name} <= {node.name for node in region.nodes}:
            return found
        return replace(found, nodes=region.nodes, values={**found.values, "gate": first.inputs[0]})
