"""What a fusion rule is: a pattern, a check, and a kernel that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import ClassVar, Literal

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES, Node, program_key
from gexplorer.ops.row import Engine
from gexplorer.ops.table import Lowering, lookup
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.matcher import BETWEEN, Failure, Match, is_one_of, listed, match, tensor_of
from gexplorer.passes.fusion.pattern import Op, extent
from gexplorer.trace.records import Message

# Sentences for what the matcher itself finds; a rule adds its own codes.
MATCHER_MESSAGES: Mapping[str, Message] = Map(
    in_between=Message(
        "{blocker} ({op}) stands between {behind} ({wanted}) and {user} ({user_op})",
        "move {blocker} before {behind} or behind {user}, or remove it",
    ),
    other_operator=Message("{user} ({user_op}) reads {blocker} ({op}), not {wanted}"),
    no_operator=Message("{user} reads {blocker}, which no {wanted} makes: it is an input or a constant"),
    boundary=Message(
        "{user} reads {blocker}, which is made outside of the branch or loop body that {user} is in",
        "export the model without data-dependent branches and loops",
    ),
    taken=Message(
        "the {wanted} that {user} ({user_op}) reads went into {blocker} ({op}) by a rule that runs before",
        "switch that rule off to let this one fuse",
    ),
    not_constant=Message(
        "{node} ({op}) reads {blocker}, which is computed at run time; {wanted} is needed", "make {blocker} a constant"
    ),
    constant_value=Message("the constant {blocker} that {node} ({op}) reads is not {wanted}"),
    attribute=Message("{blocker} ({op}) has {attribute} = {value}"),
    inputs=Message("{blocker} ({op}) has {count} inputs, for which the kernel has no room"),
    different_values=Message("{first} and {second} would have to be the same value ({name})"),
    other_user=Message(
        "{value}, which {inner} makes, is also used by {blocker} ({op})",
        "let {blocker} compute it anew, or read the result",
    ),
    comes_back=Message(
        "{value}, which {inner} makes, is used outside too, and {blocker} may come of it: it would wait for itself"
    ),
    engine=Message(
        "{blocker} ({op}) runs on {engine}, not on the AI Core like the rest{why}",
        "give {blocker} another element type",
    ),
    not_allowed=Message(
        "its {attribute} would be {value}, and the switch file allows {allowed}", "add {value} to the switch file"
    ),
    match_off=Message("this match is switched off", "switch it on: --on {rule}:{blocker}"),
    fused=Message("{count} operators become one {kernel} kernel: {members}"),
    is_result=Message(
        "{value}, which {blocker} ({op}) makes, is a result of the graph", "take {value} off the results"
    ),
)


# How a person says where something runs.
ENGINES: Mapping[Engine, str] = Map(
    {Engine.AICPU: "the AI CPU", Engine.HOST_CPU: "the host", Engine.RTS: "the runtime"}
)


class Reject:
    """What a rule's ``check`` says when a place fits the pattern but must not be fused.

    Args:
        code: key into the rule's messages.
        blocker: the node or value in the way.
        **parameters: values for the message.
    """

    def __init__(self, code: str, blocker: str | None = None, **parameters: object) -> None:
        self.code = code
        self.blocker = blocker
        self.parameters = parameters


class Rule(Pass):
    """One fusion rule, as a pass of its own.

    A subclass names a ``pattern`` and the ``kernel`` that comes of it. Shapes, bytes, work and numbers of the kernel
    come from its body, which the rule's author does not write.

    Attributes:
        pattern: what to look for, from the last operator up.
        kernel: operator of the kernel, as GE names it where it has one.
        kind: ``graph`` (rewrites the graph) or ``ub`` (one kernel, intermediates stay in the Unified Buffer).
        saves: what the fusion saves, as a sentence.
        near: near misses are logged from so many matched nodes on; the root alone is 1.
        telling: operators of which every match has one, and that few other places have. Only nodes that they lead up to
            are tried, and near misses are logged only where one of them fits: a graph without them costs nothing.
        reads: names of values in the pattern that are the first inputs of the kernel, in this order.
        latest_first: whether the last node in program order is tried first. For patterns of which one goes on where
            another ends (with and without scale): the longer ones end later.
        costly: whether ``fusion_mode`` fast leaves the rule out.
    """

    pattern: ClassVar[Op | Sequence[Op]]
    kernel: ClassVar[str]
    kind: ClassVar[Literal["graph", "ub"]] = "graph"
    saves: ClassVar[str] = ""
    near: ClassVar[int] = 1
    telling: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[Sequence[str]] = ()
    latest_first: ClassVar[bool] = False
    costly: ClassVar[bool] = False
    default = True

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Why a place that fits must not be fused; None when it may."""
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Attributes of the kernel: what the cost model and people want to know of it."""
        return NO_ATTRIBUTES

    def extend(self, found: Match, draft: Draft) -> Match:
        """The match with more nodes that the kernel can take along: what the pattern cannot say, see ``Region``."""
        return found

    def kernel_of(self, found: Match) -> str:
        """Operator of the kernel, for rules that make kernels of several."""
        return self.kernel

    def fuse(self, found: Match, draft: Draft) -> Node:
        """Makes the kernel."""
        return group(
            draft,
            found.nodes,
            self.kernel_of(found),
            anchor=found.root,
            attributes=self.describe(found, draft),
            copied=found.copied,
            first=[found.values[name] for name in self.reads if name in found.values],
        )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Tries the pattern at every node of its outermost operators, in program order."""
        patterns = (self.pattern,) if isinstance(self.pattern, Op) else tuple(self.pattern)
        roots = tuple(dict.fromkeys(name for wanted in patterns for name in wanted.ops))
        off = context.matches_off.get(self.name, frozenset())
        allowed = context.allowed.get(self.name, {})
        spared: set[str] = set()
        misses: list[tuple[Node, Failure]] = []
        candidates = self._candidates(patterns, roots, draft)
        for node in reversed(candidates) if self.latest_first else candidates:
            current = draft.current(node)
            if current is None or node.name in spared or not is_one_of(current, roots):
                continue
            miss = self._try(patterns, current, draft, log, off=node.name in off, allowed=allowed)
            if miss is not None:
                misses.append((current, miss))
                if miss.code == "match_off":  # nor may a part of it fuse instead
                    spared.update(inner.name for inner in miss.nodes)
        told: dict[tuple[str, str | None], set[str]] = {}
        for node, miss in misses:
            covered = told.setdefault((miss.code, miss.blocker), set())
            # Not where it fused from another root after all, nor for the same reason at a part of the same place. What
            # a rule itself refuses is told all the same: why it took less than it could.
            fused = any(draft.current(inner) is not inner for inner in miss.nodes)
            if node.name not in covered and not (fused and miss.code in MATCHER_MESSAGES):
                covered.update(inner.name for inner in miss.nodes)
                log.reject(node, miss.code, blocker=miss.blocker, **miss.parameters)

    def _candidates(self, patterns: Sequence[Op], roots: Sequence[str], draft: Draft) -> list[Node]:
        """The nodes to try, in program order."""
        names = frozenset(name.rpartition("::")[2] for name in roots)
        if not self.telling:
            return draft.candidates(*names)
        level = draft.candidates(*self.telling)
        seen = {node.name: node for node in level}
        ops, deep = extent(patterns)
        for _ in range(deep):
            users = {u.name: u for node in level for output in node.outputs if output for u in draft.users(output)}
            level = [u for name, u in users.items() if name not in seen and (u.op in ops or u.op in BETWEEN)]
            seen.update((user.name, user) for user in level)
        return sorted((node for node in seen.values() if node.op in names), key=program_key)

    def _try(
        self,
        patterns: Sequence[Op],
        node: Node,
        draft: Draft,
        log: Log,
        *,
        off: bool,
        allowed: Mapping[str, tuple[float, ...]],
    ) -> Failure | None:
        """Fuses at a node, or says what stood in the way."""
        furthest: Failure | None = None
        for wanted in patterns:
            if not is_one_of(node, wanted.ops):
                continue
            found = match(wanted, node, draft)
            if isinstance(found, Failure):
                if furthest is None or found.matched > furthest.matched:
                    furthest = found
                continue
            refused = self.check(found, draft) or off_the_ai_core(found.nodes, draft)
            if refused is None and allowed:
                refused = _not_allowed(self.describe(found, draft), allowed, node)
            if refused is not None:
                return Failure(len(found.nodes), refused.code, refused.blocker, refused.parameters, found.nodes)
            if off:
                return Failure(len(found.nodes), "match_off", node.name, {"rule": self.name}, found.nodes)
            found = self.extend(found, draft)
            names = listed(found.nodes)
            with log.rewrite(node, "fused", kernel=self.kernel_of(found), members=names, count=len(found.nodes)):
                self.fuse(found, draft)
            return None
        return furthest if furthest is not None and self._is_near(furthest) else None

    def _is_near(self, failure: Failure) -> bool:
        if failure.matched < self.near:
            return False
        return not self.telling or any(node.op in self.telling for node in failure.nodes)

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        cls.messages = Map({**MATCHER_MESSAGES, **cls.messages})


def off_the_ai_core(nodes: Sequence[Node], draft: Draft) -> Reject | None:
    """One kernel runs on one engine: refuses where one of the nodes is work for another."""
    for node in nodes:
        if node.body is not None or node.domain:  # a rule that names a foreign operator knows how it is computed
            continue
        inputs, outputs = ([tensor_of(draft, name) for name in side] for side in (node.inputs, node.outputs))
        found = lookup(node, inputs, outputs)
        if found.engine not in (Engine.AICORE, Engine.GE_LOCAL):
            return Reject("engine", node.name, op=node.op, engine=ENGINES[found.engine], why=_because(found))
    return None


def _not_allowed(attributes: Map[str, object], allowed: Mapping[str, tuple[float, ...]], node: Node) -> Reject | None:
    """Refuses where an attribute of the kernel is known and none of the values that a switch file lists."""
    for name, values in allowed.items():
        value = attributes.get(name)
        if isinstance(value, int | float) and not any(isclose(value, v, rel_tol=1e-6) for v in values):
            shown = ", ".join(f"{v:g}" for v in values)
            return Reject("not_allowed", node.name, attribute=name, value=f"{value:g}", allowed=shown)
    return None


def _because(found: Lowering) -> str:
    return f": {found.reason}" if found.reason else ""


__all__ = ["Match", "Reject", "Rule", "tensor_of"]
