"""A whole layer of a transformer as one kernel: what over-fusion looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import Match, is_one_of
from gexplorer.passes.fusion.norms import LAYER_NORM, RMS_NORM
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message

_NORMS = tuple(f"{LAYER_NORM}|{RMS_NORM}|AddRmsNorm|AddLayerNorm|NormMatMul|NormQkvMatMul".split("|"))
_PRODUCTS = (
    *("MatMul", "MatMulBias", "Gemm", "GateUpMatMul", "NormMatMul"),
    *("MatMulActivation", "MatMulResidual", "FusedLinearSiLU", "FFN"),
)
_ROUTING = ("TopK", "NonZero", "If", "Loop", "Scan")
# How many nodes are looked at; the layers before are kernels already, as they come first.
_MOST = 1000


class MegaKernel(Rule):
    """Norm, projections, attention, norm and feed-forward block of a layer become one kernel.

    before:  the nine to twelve kernels of a layer
    after:   TransformerLayer(x, weights, …)

    Off for ever, unless asked for by name: it is there to show over-fusion (article A1). The kernel needs the panels
    and weights of its products on the chip at once, which no L1 holds: small tiles and spills cost more than it saves.
    """

    name = "mega_kernel"
    order = 755
    default = False
    kernel = "TransformerLayer"
    costly = True
    saves = "Every round trip of the hidden state within a layer, and all launches but one."
    pattern = op.FlashAttentionScore("q")
    messages = Map(
        no_norm=Message("there is no normalisation before {blocker} where its layer could begin"),
        routed=Message("{blocker} ({op}) behind {node} routes tokens by their content: how much follows is not known"),
        no_end=Message("there is no feed-forward block behind {blocker} with which its layer could end"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The layer begins with a normalisation and ends with the last product of its feed-forward block."""
        if _first(found.root, draft) is None:
            return Reject("no_norm", found.root.name)
        if _last(found.root, draft) is None:
            return Reject("no_end", found.root.name)
        routed = next((node for node in self.extend(found, draft).nodes if is_one_of(node, _ROUTING)), None)
        return Reject("routed", routed.name, op=routed.op, node=found.root.name) if routed is not None else None

    def extend(self, found: Match, draft: Draft) -> Match:
        """All nodes on a way from the beginning to the end: no way out of such a set comes back to it."""
        first, last = _first(found.root, draft), _last(found.root, draft)
        assert first is not None
        assert last is not None
        above = {node.name for node in _walk(last, _above(draft), stop=lambda node: node is first)}
        below = _walk(first, _below(draft), stop=lambda node: node.name not in above)
        inside = [node for node in below if node.name in above and node is not found.root]
        return replace(found, nodes=(found.root, *inside))


def _first(attention: Node, draft: Draft) -> Node | None:
    """The nearest normalisation before an attention."""
    found = _walk(attention, _above(draft), stop=lambda node: is_one_of(node, _NORMS))
    return next((node for node in found if is_one_of(node, _NORMS)), None)


def _last(attention: Node, draft: Draft) -> Node | None:
    """The third product behind an attention, after its own and the wide one; or a block that is one kernel."""
    node: Node | None = attention
    for _ in range(3):
        _, *below = _walk(node, _below(draft), stop=lambda other: is_one_of(other, _PRODUCTS))
        node = next((other for other in below if is_one_of(other, _PRODUCTS)), None)
        if node is None or node.op == "FFN":
            return node
    return node


def _above(draft: Draft) -> Callable[[Node], Iterable[Node]]:
    return lambda node: [producer for name in node.uses if (producer := draft.producer(name)) is not None]


def _below(draft: Draft) -> Callable[[Node], Iterable[Node]]:
    return lambda node: [user for output in node.outputs if output for user in draft.users(output)]


def _walk(start: Node, following: Callable[[Node], Iterable[Node]], *, stop: Callable[[Node], bool]) -> list[Node]:
    """The nodes that can be reached, nearest first; what lies behind those where to stop is not looked at."""
    found = {start.name: start}
    waiting = [start]
    for node in waiting:  # grows while it is walked
        if len(found) > _MOST or (stop(node) and node is not start):
            continue
        for other in following(node):
            if other.name not in found:
                found[other.name] = other
                waiting.append(other)
    return list(found.values())
