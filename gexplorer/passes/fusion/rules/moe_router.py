"""The router of a mixture of experts."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import const, op, optional
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message

_K = const("k", wanted="a constant number of experts")
_LOGITS = optional("Cast", "logits")
_SHARES = op.Softmax(_LOGITS, name="softmax")
_TOP = op.TopK(optional("Cast", _SHARES), _K, name="top", exposed=True)
_SCALED = op.Div(_TOP, op.ReduceSum(_TOP, name="sum"))
_TOP_LOGITS = op.TopK(_LOGITS, _K, name="top", exposed=True)


class MoeRouter(Rule):
    """Softmax and the choice of the experts with the largest shares, in either order, become one kernel.

    before:  t, chosen = TopK(Softmax(logits), k); shares = Div(t, ReduceSum(t))
             t, chosen = TopK(logits, k); shares = Softmax(t)
    after:   shares, chosen = MoeGatingTopKSoftmax(logits)
    """

    name = "moe_router"
    order = 660
    kernel = "MoeGatingTopKSoftmax"
    saves = "Up to five launches on tensors of a few kilobytes."
    near = 2
    telling = frozenset(("TopK",))
    latest_first = True
    pattern = (
        op.Cast(_SCALED),
        _SCALED,
        op.Cast(op.Softmax(_TOP_LOGITS, name="softmax")),
        op.Softmax(_TOP_LOGITS, name="softmax"),
        op.Cast(_TOP),
        _TOP,
    )
    messages = Map(
        axis=Message("{blocker} ({op}) works along axis {axis}: the router's is the last"),
        smallest=Message("{blocker} takes the smallest, a router the largest"),
        no_router=Message("no node reads which entries {blocker} took: it routes nothing"),
        sum=Message("{blocker} does not add up the shares of one token, which the router divides by"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """All along the last axis; the largest; and somebody must want to know which."""
        top = found.named["top"]
        rank = _rank(top, draft)
        for node in (found.named["softmax"], top):
            axis = node.attribute("axis", -1)
            if axis not in (-1, None if rank is None else rank - 1):
                return Reject("axis", node.name, op=node.op, axis=axis)
        if not top.integer("largest", 1):
            return Reject("smallest", top.name)
        if len(top.outputs) < 2 or not draft.users(top.outputs[1]):
            return Reject("no_router", top.name)
        total = found.named.get("sum")
        if total is not None and not _sums_rows(total, top, draft):
            return Reject("sum", total.name)
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """How many experts a token takes."""
        data = draft.constant_of(found["k"])
        return Map(k=int(data.array().reshape(-1)[0])) if data is not None and data.is_small else Map()


def _rank(node: Node, draft: Draft) -> int | None:
    type_ = tensor_of(draft, node.inputs[0])
    return type_.rank if type_ is not None else None


def _sums_rows(total: Node, top: Node, draft: Draft) -> bool:
    """True when the sum is over the last axis alone, which is kept."""
    made, shares = tensor_of(draft, total.outputs[0]), tensor_of(draft, top.outputs[0])
    if made is None or shares is None or not shares.shape or made.shape != (*shares.shape[:-1], 1):
        return False
    axes = total.integers("axes")
    if axes is None and len(total.inputs) > 1 and total.inputs[1]:
        data = draft.constant_of(total.inputs[1])
        axes = tuple(int(axis) for axis in data.array().reshape(-1)) if data is not None and data.is_small else None
    return axes is not None and len(axes) == 1 and axes[0] in (-1, len(shares.shape) - 1)
