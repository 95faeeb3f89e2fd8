"""The experts of a mixture, as exporters unroll the loop over them."""

from __future__ import annotations

from collections.abc import Sequence

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node, program_key
from gexplorer.passes.base import Context, Log
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.matcher import Failure, Match, match
from gexplorer.passes.fusion.pattern import Op, Pattern, const, either, op
from gexplorer.passes.fusion.rule import Rule, count_places, declined, tensor_of
from gexplorer.trace.records import Message

_ACTIVATION = "Swish|Silu|Gelu|FastGelu|Relu"
_WEIGHT = const(wanted="a constant weight")


def _matmul(x: Pattern, name: str = "") -> Op:
    """A product with weights as they are, or transposed because nobody could fold that into bytes that are missing."""
    return op.MatMul(x, either(op.Transpose(_WEIGHT, name=f"{name} transpose" if name else ""), _WEIGHT), name=name)


def _is_first(axis: object) -> bool:
    return not axis


# Which tokens chose the expert, and their states.
_PLACES = op.Transpose(
    op.NonZero(op.Equal("chosen", const(wanted="the number of an expert"), name="route equal"), name="route nonzero"),
    name="route transpose",
)
_TOKENS = op.Gather(_PLACES, 0, name="route tokens", attributes={"axis": 1})
_STATE = op.Gather("rows", _TOKENS, name="route state", attributes={"axis": _is_first})
# What the expert makes of them.
_GATE, _UP = _matmul(_STATE), _matmul(_STATE)
_SILU = op.Mul(_GATE, op.Sigmoid(_GATE))
_HIDDEN = either(
    op("SwiGlu|GeGluV2", _GATE, _UP),
    op.Mul(either(op(_ACTIVATION, _GATE), _SILU), _UP),
    op(_ACTIVATION, _UP),
)
_RESULT = _matmul(_HIDDEN, "down")
# The results go back into their places.
_SHARE = op.Unsqueeze(op.GatherND("shares", "places", name="finish shares"), name="finish share")
_WEIGHTED = op.Mul(_RESULT, _SHARE, name="finish weighted")
_AT = op.Unsqueeze("tokens", name="finish at")
_SUM = op.Add(op.Gather("total", "tokens", name="finish old"), _WEIGHTED, name="finish sum")

_ADDED = op.ScatterND("total", _AT, _SUM, name="finish scatter")
_REDUCED = op.ScatterND("total", _AT, _WEIGHTED, name="finish scatter", attributes={"reduction": "add"})


class MoeExperts(Rule):
    """A loop over experts becomes four kernels: sort the tokens, two grouped products, and put the results back.

    before:  for each expert: t = tokens that chose it; ScatterND(total, t, total[t] + share * FFN(rows[t]))
    after:   MoeInitRouting; GroupedMatmul (with the activation); GroupedMatmul; MoeFinalizeRouting

    All experts of a layer that add to one total are taken together. Runs behind SwiGLU.
    """

    name = "moe_experts"
    order = 662
    kernel = "GroupedMatmul"
    costly = True
    saves = "Four launches a layer instead of about eighteen for each expert, and small products run side by side."
    near = 4
    pattern = (_ADDED, _REDUCED)
    messages = Map(
        grouped=Message("{experts} experts become four kernels: {names}"),
        alone=Message("{blocker} adds the results of one expert alone: there is nothing to group"),
        places=Message("{blocker} puts the results into other rows than the expert's tokens came from"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Finds single experts by the last node of each, then takes those together that add to one total."""
        off = context.matches_off.get(self.name, frozenset())
        tried = draft.tried + count_places(draft.base, self.roots())
        places = self.places(draft)
        known: dict[str, Failure] = {}
        spared: dict[str, str] = {}
        for experts in _chains([*self._experts(places, draft, log, known)], draft):
            root = experts[-1].root
            if len(experts) < 2:
                log.reject(root, "alone", root.name)
            elif root.name in off:
                spared |= {expert.root.name: root.name for expert in experts}
                log.reject(root, "match_off", root.name, rule=self.name)
            else:
                parts = [_parts(experts, part) for part in ("route", "up", "down", "finish")]
                names = ", ".join(part[-1].name for part in parts)
                with log.rewrite(root, "grouped", experts=len(experts), names=names) as edit:
                    attributes = _attributes(experts, draft)
                    for part, kernel in zip(parts, _KERNELS, strict=True):
                        group(draft, part, kernel, anchor=part[-1], attributes=attributes)
                if edit.declined is not None:
                    said = declined(edit.declined, root, experts[-1].nodes)
                    known |= {expert.root.name: said for expert in experts}
                    log.reject(root, said.code, said.blocker, **said.parameters)
        draft.tried = tried
        if self.every:
            self.tell_rest(places, log, known, spared)

    def _experts(self, places: Sequence[Node], draft: Draft, log: Log, known: dict[str, Failure]) -> Sequence[Match]:
        """The single experts; ``known`` gets what stood in the way elsewhere."""
        experts: list[Match] = []
        for node in places:
            found = match(_ADDED, node, draft)
            if isinstance(found, Failure):
                other = match(_REDUCED, node, draft)
                found = other if isinstance(other, Match) or other.matched > found.matched else found
            if isinstance(found, Failure):
                known[node.name] = found
                if found.matched >= self.near:
                    log.reject(node, found.code, found.blocker, **found.parameters)
            elif _same_places(found):
                experts.append(found)
            else:
                log.reject(node, "places", node.name)
        return experts


_KERNELS = ("MoeInitRouting", "GroupedMatmul", "GroupedMatmul", "MoeFinalizeRouting")


def _same_places(found: Match) -> bool:
    """The rows that are read are the rows that are written, and the shares are those of the same choices."""
    tokens, places = (found.named[f"route {name}"].outputs[0] for name in ("tokens", "transpose"))
    return found["tokens"] == tokens and found["places"] == places


def _chains(experts: Sequence[Match], draft: Draft) -> Sequence[Sequence[Match]]:
    """Experts that add to one total in turn, for the same tokens and choices, nobody looking at the sums between."""
    chains: dict[str, list[Match]] = {}
    for expert in experts:
        chain = chains.pop(expert["total"], [])
        inside = {node.name for node in expert.nodes}
        same = chain and all(chain[0][name] == expert[name] for name in ("rows", "chosen", "shares"))
        seen = draft.is_result(expert["total"]) or any(u.name not in inside for u in draft.users(expert["total"]))
        if chain and (seen or not same):
            chains[f"{expert['total']} of {chain[-1].root.name}"] = chain
            chain = []
        chains[expert.root.outputs[0]] = [*chain, expert]
    return list(chains.values())


def _parts(experts: Sequence[Match], part: str) -> list[Node]:
    """The nodes of all experts that belong to one kernel, in program order."""
    found: dict[str, Node] = {}
    for expert in experts:
        named = {node.name: name.partition(" ")[0] for name, node in expert.named.items()}
        found |= {node.name: node for node in expert.nodes if named.get(node.name, "up") == part}
    return sorted(found.values(), key=program_key)


def _attributes(experts: Sequence[Match], draft: Draft) -> Map[str, object]:
    """How many experts, and how many rows go to all of them together: that is known, their shares are not."""
    chosen = tensor_of(draft, experts[0]["chosen"])
    rows = chosen.elements if chosen is not None else None
    return Map(experts=len(experts)) if rows is None else Map(experts=len(experts), rows=rows)
