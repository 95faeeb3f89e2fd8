"""The rotary embeddings of query and key as one kernel."""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.ops.traits import is_view
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.siblings import SIBLING_MESSAGES, SiblingRule


class RotaryPair(SiblingRule):
    """The rotary embeddings of what one projection gives become one kernel with two results.

    before:  q = RotaryPositionEmbedding(a, cos, sin); k = RotaryPositionEmbedding(b, cos, sin), a, b = QkvMatMul(x, …)
    after:   q, k = ApplyRotaryPosEmb(a, b, cos, sin)

    All layers read the same cos and sin; what tells the pairs apart is the projection, so this runs behind ``qkv``.
    """

    name = "rotary_pair"
    order = 728
    kernel = "ApplyRotaryPosEmb"
    saves = "One of two times that cos and sin are read, and one launch."
    number = 2
    shared = 1
    reads = ("x", "cos", "sin")
    pattern = op.RotaryPositionEmbedding("x", "cos", "sin")
    messages = SIBLING_MESSAGES

    def families(self, readers: Sequence[Node], draft: Draft) -> list[list[Node]]:
        """Embeddings of results of the same kernel, of one mode, with the same sin as well as the same cos."""
        found: dict[tuple[object, ...], list[Node]] = {}
        for reader in readers:
            source = draft.producer(reader.inputs[0])
            while source is not None and is_view(source):
                source = draft.producer(source.inputs[0])
            if source is not None:
                found.setdefault((source.name, reader.attributes, *reader.inputs[2:3]), []).append(reader)
        return list(found.values())
