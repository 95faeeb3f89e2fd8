"""Attention in pieces becomes FlashAttention: the scores never leave the chip."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.attention import check_step, heads_of, is_causal, masks_of, scale_of, steps_between
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op, through
from gexplorer.passes.fusion.region import MOVES, Region
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_SCORES = through("Add|Sub|Mul|Div|Where|Cast|Max|Tanh|Reshape", op.MatMul("q", "k", name="scores"), any_input=True)
_WEIGHTS = through("Cast", op.Softmax(_SCORES, name="softmax"))
# What torch writes against rows that are masked wholly: Where(IsNaN(weights), 0, weights).
_GUARDED = through("Cast", op.Where(op.IsNaN("weights"), const(number=0.0), _WEIGHTS, name="guard"))


class FlashAttention(Rule):
    """softmax(q·kᵀ · scale + mask)·v becomes one kernel that reads q, k and v as they lie in memory.

    before:  MatMul(Softmax(Add(Mul(MatMul(q, Transpose(k)), scale), mask)), v)
    after:   FlashAttentionScore(q, k, scale, mask, v)

    The scale may stand on q, on k, on both or behind the product. Transposes, reshapes, casts, and the Expand that
    repeats the heads of k and v for grouped queries, move into the kernel where nothing else needs what they make; so
    does the transposition of the result. Masks, key-value caches and their Concat stay outside. A rule of ours: GE's
    list has none of that name, as attention usually enters GE as this operator.
    """

    name = "flash_attention"
    order = 650
    kernel = "FlashAttentionScore"
    saves = "The score matrix, queries times keys for every head, is neither written nor read."
    near = 2
    telling = frozenset(("Softmax",))
    reads = ("q", "k", "v")
    pattern = (op.MatMul(_GUARDED, "v"), op.MatMul(_WEIGHTS, "v"))
    messages = Map(
        axis=Message("{blocker} is taken over axis {axis}, not over the keys, which are the last"),
        guard=Message("{blocker} looks for NaN in {other}, not in the weights that it guards"),
        constant=Message("{blocker} is a constant: {node} is a linear layer, not a product of queries and keys"),
        scale=Message(
            "{blocker} ({op}) scales the scores by {type}, FlashAttentionScore by one number",
            "scale q or k by it before {node}",
        ),
        divides=Message("{blocker} ({op}) has the scores as its second operand"),
        condition=Message("{blocker} (Where) has the scores as its condition"),
        retypes=Message("{blocker} (Cast) makes the scores {type}"),
        widens=Message(
            "{blocker} ({op}) makes {type} of {scores}: other scores than those of {node}",
            "where a dimension of {blocker}'s operands has two names and one size, give it one name or a number",
        ),
        itself=Message("{blocker} is made inside of the attention that reads it"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The softmax must be over the keys, and what stands between it and the product must be scale or mask."""
        softmax, scores = found.named["softmax"], found.named["scores"]
        type_ = tensor_of(draft, scores.outputs[0])
        axis = softmax.integer("axis", -1 if draft.opsets.get("", 13) >= 13 or softmax.body is not None else 1)
        if axis != -1 and (type_ is None or type_.rank is None or axis != type_.rank - 1):
            return Reject("axis", softmax.name, axis=axis)
        guard = found.named.get("guard")
        if guard is not None and guard.inputs[2] != found["weights"]:
            return Reject("guard", guard.name, other=found["weights"])
        if draft.constant_of(found["k"]) is not None:
            return Reject("constant", found["k"], node=scores.name)
        made = {output for node in found.nodes for output in node.outputs}
        for name in ("q", "k", "v"):
            if found[name] in made:
                return Reject("itself", found[name])
        refused = (check_step(node, operand, scores, draft) for node, operand in steps_between(found))
        return next((reject for reject in refused if reject is not None), None)

    def extend(self, found: Match, draft: Draft) -> Match:
        """Takes in how q, k, v and the result are laid out."""
        region = Region(draft, found.nodes)
        read = {name: region.up(found[name], MOVES, scaling=("Mul", "Div")) for name in ("q", "k")}
        read["v"] = region.up(found["v"])
        region.down(found.root.outputs[0])
        region.settle()
        return replace(found, nodes=region.nodes, values={**found.values, **read})

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Heads, head size, scale and causality, each where it is known."""
        known: dict[str, object] = {**heads_of(draft, found.named["scores"], found.root, found.nodes)}
        scale = scale_of(draft, found.nodes)
        if scale is not None:
            known["scale"] = scale
        if any(is_causal(draft, mask) for mask in masks_of(found)):
            known["causal"] = 1
        return Map(known)
