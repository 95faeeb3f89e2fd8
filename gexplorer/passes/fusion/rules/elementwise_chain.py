"""Runs of vector operators become one kernel each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.ir.symbols import Shape
from gexplorer.ops.traits import is_elementwise, is_view
from gexplorer.passes.base import Context, Log
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.matcher import Failure, listed
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Rule, declined, off_the_ai_core, read, tensor_of
from gexplorer.trace.records import Message

_REDUCTIONS = op(
    "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceSumSquare|ReduceLogSumExp"
)
# Kernels that other rules made of elementwise operators, and which are small enough to ride along.
_KERNELS = frozenset(("Gelu", "FastGelu", "Silu", "Swish", "HardSwish", "Mish"))


# What kept a producer from joining: code, blocker, values for the sentence.
_Blocked = tuple[str, str, Mapping[str, object]]


@dataclass(slots=True)
class _Region:
    """Nodes of one kernel, from the last one up.

    Attributes:
        nodes: its nodes; all but the first are used by these alone.
        blocked: what kept the first producer that might have joined from doing so.
    """

    nodes: list[Node] = field(default_factory=list[Node])
    blocked: _Blocked | None = None


class ElementwiseChain(Rule):
    """Elementwise operators of one shape, each used by the next alone, become one kernel; a reduction may end it.

    before:  Mul(Tanh(Add(x, y)), z)
    after:   ElementwiseChain(x, y, z)

    A region with several inputs is as good as a chain. A smaller tensor that is broadcast stays outside, since every
    tile would compute it again, unless it is a single number. Runs last and takes what no other rule wanted.
    """

    name = "elementwise_chain"
    ge_name = "TbeEltwiseFusionPass"
    order = 745
    kernel = "ElementwiseChain"
    costly = True
    kind = "ub"
    saves = "One round trip through memory for each intermediate."
    pattern = _REDUCTIONS
    messages = Map(
        broadcast=Message(
            "{blocker} makes {type}, which {user} broadcasts to {wanted}: each tile would compute it again"
        ),
        view=Message(
            "{blocker} ({op}) stands between {behind} and {user}", "move {blocker} before {behind} or behind {user}"
        ),
        alone=Message("{node} ({op}) reads nothing that an operator makes which could join it"),
    )

    kinds = Map(alone="{op} behind nothing that could join it")

    @classmethod
    def roots(cls) -> tuple[str, ...]:
        """Whatever is elementwise, and reductions."""
        return ()

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Grows a region up from each node that is in none, the last in program order first."""
        names = tuple({*_REDUCTIONS.ops, *draft.ops()})
        taken: dict[str, str] = {}
        known: dict[str, Failure] = {}
        places: list[Node] = []
        may = _Members(draft, context)
        for root in reversed(read(draft, *names)):
            if root.name not in taken and not (may.join(root) or may.end(root)):
                draft.tried -= 1
                continue
            places.append(root)
            if root.name in taken:
                continue
            region = self._grow(root, draft, may)
            taken.update((node.name, root.name) for node in region.nodes)
            if len(region.nodes) < 2:
                if region.blocked is not None:
                    code, blocker, values = region.blocked
                    log.reject(root, code, blocker, **values)
                elif self.every:
                    known[root.name] = Failure(1, "alone", root.name, {"op": root.op})
            elif root.name in context.matches_off.get(self.name, frozenset()):
                log.reject(root, "match_off", root.name, rule=self.name)
            else:
                members = listed(region.nodes[::-1])
                with log.rewrite(root, "fused", kernel=self.kernel, members=members, count=len(region.nodes)) as edit:
                    group(draft, region.nodes, self.kernel, anchor=root)
                if edit.declined is not None:
                    said = declined(edit.declined, root, region.nodes)
                    known |= {node.name: said for node in region.nodes}
                    log.reject(root, said.code, said.blocker, **said.parameters)
        if self.every:
            self.tell_rest(places, log, known, {name: root for name, root in taken.items() if name not in known})

    def _grow(self, root: Node, draft: Draft, may: _Members) -> _Region:
        """Takes in a producer once all of its users are in: so no path leaves the region and comes back."""
        region = _Region([root])
        uses: Counter[str] = Counter()
        shape = may.shape(root.outputs[0] if may.join(root) else root.inputs[0])
        for node in region.nodes:  # grows while it is walked
            for name in dict.fromkeys(node.inputs):
                producer = draft.producer(name) if name else None
                if producer is None or not may.join(producer):
                    self._note_view(region, producer, node, draft, may)
                    continue
                uses[name] += 1
                if not may.fits(name, shape):
                    wanted = tensor_of(draft, root.outputs[0])
                    values = {"type": tensor_of(draft, name), "user": node.name, "wanted": wanted}
                    region.blocked = region.blocked or ("broadcast", producer.name, values)
                elif uses[name] == draft.use_count(name):
                    region.nodes.append(producer)
                elif len(region.nodes) == 1:
                    region.blocked = region.blocked or _other_use(name, producer, node, draft)
        return region

    def _note_view(self, region: _Region, found: Node | None, user: Node, draft: Draft, may: _Members) -> None:
        if found is None or not found.inputs or not is_view(found):
            return
        behind = draft.producer(found.inputs[0])
        if behind is not None and may.join(behind):
            values = {"op": found.op, "behind": behind.name, "user": user.name}
            region.blocked = region.blocked or ("view", found.name, values)


class _Members:
    """What may be in a region."""

    def __init__(self, draft: Draft, context: Context) -> None:
        self._draft = draft
        self._contents = context.contents
        self._known: dict[str, bool] = {}

    def join(self, node: Node) -> bool:
        """True for elementwise work on the AI Core that is no shape arithmetic."""
        known = self._known.get(node.name)
        if known is None:
            known = self._known[node.name] = self._join(node)
        return known

    def _join(self, node: Node) -> bool:
        if node.body is not None and node.op not in _KERNELS:
            return False
        if not is_elementwise(node) or len(node.outputs) != 1 or node.outputs[0] in self._contents:
            return False
        return off_the_ai_core([node], self._draft) is None

    def end(self, node: Node) -> bool:
        """True for a reduction whose axes are known beforehand."""
        if node.op not in _REDUCTIONS.ops or node.domain or node.outputs[0] in self._contents:
            return False
        axes_known = len(node.inputs) < 2 or not node.inputs[1] or self._draft.constant_of(node.inputs[1]) is not None
        return axes_known and off_the_ai_core([node], self._draft) is None

    def shape(self, name: str) -> Shape | None:
        """The shape of a value where it is known whole."""
        type_ = tensor_of(self._draft, name)
        return type_.shape if type_ is not None and type_.shape is not None and None not in type_.shape else None

    def fits(self, name: str, shape: Shape | None) -> bool:
        """True when a value of the region has its shape, or is one number."""
        own = self.shape(name)
        return own is not None and shape is not None and (own == shape or all(dim == 1 for dim in own))


def _other_use(name: str, producer: Node, node: Node, draft: Draft) -> _Blocked:
    if draft.is_result(name):
        return "is_result", producer.name, {"value": name, "op": producer.op}
    other = next(user for user in draft.users(name) if user.name != node.name)
    return "other_user", other.name, {"value": name, "inner": producer.name, "op": other.op}
