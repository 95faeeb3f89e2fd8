"""Attention in pieces becomes FlashAttention: the scores never leave the chip."""

from __future__ import annotations

from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.attention import is_causal, scale_of
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, either, op, through
from gexplorer.passes.fusion.region import MOVES, Region
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_SCORES = through("Add|Sub|Mul|Div|Where|Cast|Max|Tanh", op.MatMul("q", "k", name="scores"), any_input=True)
_WEIGHTS = through("Cast", op.Softmax(_SCORES, name="softmax"))
# What torch writes against rows that are masked wholly: Where(IsNaN(weights), 0, weights).
_GUARDED = through("Cast", op.Where(op.IsNaN("weights"), const(number=0.0), _WEIGHTS, name="guard"))


class FlashAttention(Rule):
    """softmax(q·kᵀ · scale + mask)·v becomes one kernel that reads q, k and v as they lie in memory.

    before:  MatMul(Softmax(Add(Mul(MatMul(q, Transpose(k)), scale), mask)), v)
    after:   FlashAttentionScore(q, k, scale, mask, v)

    The scale may stand on q, on k, on both or behind the product. Transposes, reshapes, casts, and the Expand that repeats
    the heads of k and v for grouped queries, move into the kernel where nothing else needs what they make; so does the
    transposition of the result. Masks, key-value caches and their Concat stay outside. A rule of ours: GE's list has none
    of that name, as attention usually enters GE as this operator.
    """

    name = "flash_attention"
    order = 650
    kernel = "FlashAttentionScore"
    saves = "The score matrix, queries times keys for every head, is neither written nor read."
    near = 2
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
        widens=Message("{blocker} ({op}) makes {type} of {scores}: more scores than q and k give"),
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
        for node, operand in _between(found):
            refused = _step(node, operand, scores, draft)
            if refused is not None:
                return refused
        return None

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
        q, k, v = (tensor_of(draft, name) for name in (*found.named["scores"].inputs, found.root.inputs[1]))
        shapes = [t.shape for t in (q, k, v) if t is not None and t.shape is not None and len(t.shape) >= 4]
        heads = next((shape[-3] for shape in shapes if isinstance(shape[-3], int)), None)
        repeats = [tensor_of(draft, n.outputs[0]) for n in found.nodes if n.op == "Expand"]
        grouped = next((t.shape[-4] for t in repeats if t is not None and t.shape and len(t.shape) == 5), None)
        size = q.shape[-1] if q is not None and q.shape else None
        single = [name for node in found.nodes for name in node.inputs if _is_single(draft, name)]
        known: dict[str, object] = {
            "heads": heads,
            "kv_heads": grouped or next((s[-3] for s in shapes[1:] if isinstance(s[-3], int)), None),
            "head_dim": size,
            "scale": scale_of(draft, found.nodes, single),
        }
        for node, operand in _between(found):
            masks = [name for i, name in enumerate(node.inputs) if i != operand] if node.op in ("Add", "Where") else []
            if any(is_causal(draft, mask) for mask in masks):
                known["causal"] = 1
        return Map({key: value for key, value in known.items() if isinstance(value, int | float)})


def _is_single(draft: Draft, name: str) -> bool:
    type_ = tensor_of(draft, name)
    return type_ is not None and type_.elements == 1


def _between(found: Match) -> list[tuple[Node, int]]:
    """The nodes between softmax and scores, last one first, each with which of its inputs the scores are."""
    nodes = list(found.nodes)
    path = nodes[nodes.index(found.named["softmax"]) : nodes.index(found.named["scores"]) + 1]
    return [(node, node.inputs.index(below.outputs[0])) for node, below in zip(path[1:], path[2:], strict=False)]


def _step(node: Node, operand: int, scores: Node, draft: Draft) -> Reject | None:
    """What is wrong with one operator between softmax and scores."""
    before, after = tensor_of(draft, scores.outputs[0]), tensor_of(draft, node.outputs[0])
    others = [name for i, name in enumerate(node.inputs) if i != operand]
    if node.op in ("Div", "Sub") and operand != 0:
        return Reject("divides", node.name, op=node.op)
    if node.op == "Where" and operand == 0:
        return Reject("condition", node.name)
    if node.op in ("Mul", "Div", "Max") and not all(_is_single(draft, name) for name in others):
        return Reject("scale", node.name, op=node.op, type=str(tensor_of(draft, others[0])), node=scores.name)
    if node.op == "Cast" and after is not None and not after.dtype.is_float:
        return Reject("retypes", node.name, type=after.dtype.label)
    if before is not None and after is not None and before.shape and after.shape:
        known = [(a, b) for a, b in zip(before.shape[-2:], after.shape[-2:], strict=False) if a is not None and b is not None]
        if any(a != b for a, b in known) or len(after.shape) > len(before.shape):
            return Reject("widens", node.name, op=node.op, type=str(after), scores=str(before))
    return None
