"""Attention that the model holds as one operator already."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Rule

# Attributes of these operators, and what our attention kernels call the same.
_NAMES = (
    ("num_heads", "heads"),
    ("q_num_heads", "heads"),
    ("kv_num_heads", "kv_heads"),
    ("scale", "scale"),
    ("is_causal", "causal"),
    ("unidirectional", "causal"),
)


class AttentionOperator(Rule):
    """ONNX's Attention and onnxruntime's become the kernel that the pieces of attention become.

    before:  Attention(q, k, v); com.microsoft MultiHeadAttention(q, k, v, …)
    after:   FlashAttentionScore(q, k, v)

    The operator is the kernel's body, so nothing of it is lost; onnxruntime's Attention keeps its projections in it.
    """

    name = "attention_operator"
    order = 651
    kernel = "FlashAttentionScore"
    saves = "Nothing by itself: it makes one kind of kernel of all attention, for the rules and costs behind."
    pattern = (
        op("Attention"),
        op("com.microsoft::Attention"),
        op("com.microsoft::MultiHeadAttention"),
        op("com.microsoft::GroupQueryAttention"),
    )

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Heads, scale and causality, as far as the operator says."""
        known = {ours: found.root.attributes.get(theirs) for theirs, ours in _NAMES if theirs in found.root.attributes}
        return Map({name: value for name, value in known.items() if value})
