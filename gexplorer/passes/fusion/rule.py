"""What a fusion rule is: a pattern, a check, and a kernel that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES, Node
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.matcher import Failure, Match, match, tensor_of
from gexplorer.passes.fusion.pattern import Op
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
    different_values=Message("{first} and {second} would have to be the same value ({name})"),
    other_user=Message(
        "{value}, which {inner} makes, is also used by {blocker} ({op})",
        "let {blocker} compute it anew, or read the result",
    ),
    match_off=Message("this match is switched off", "switch it on: --on {rule}:{blocker}"),
    fused=Message("{count} operators become one {kernel} kernel: {members}"),
    is_result=Message(
        "{value}, which {blocker} ({op}) makes, is a result of the graph", "take {value} off the results"
    ),
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

    A subclass names a ``pattern`` and the ``kernel`` that comes of it. Shapes, bytes, work and numbers of the kernel come
    from its body, which the rule's author does not write.

    Attributes:
        pattern: what to look for, from the last operator up.
        kernel: operator of the kernel, as GE names it where it has one.
        kind: ``graph`` (rewrites the graph) or ``ub`` (one kernel, intermediates stay in the Unified Buffer).
        saves: what the fusion saves, as a sentence.
        near: near misses are logged from so many matched nodes on; the root alone is 1.
    """

    pattern: ClassVar[Op | Sequence[Op]]
    kernel: ClassVar[str]
    kind: ClassVar[Literal["graph", "ub"]] = "graph"
    saves: ClassVar[str] = ""
    near: ClassVar[int] = 1
    default = False

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Why a place that fits must not be fused; None when it may."""
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Attributes of the kernel: what the cost model and people want to know of it."""
        return NO_ATTRIBUTES

    def fuse(self, found: Match, draft: Draft) -> Node:
        """Makes the kernel."""
        return group(draft, found.nodes, self.kernel, anchor=found.root, attributes=self.describe(found, draft))

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Tries the pattern at every node of its outermost operators, in program order."""
        patterns = (self.pattern,) if isinstance(self.pattern, Op) else tuple(self.pattern)
        roots = tuple(dict.fromkeys(name for wanted in patterns for name in wanted.ops))
        off = context.matches_off.get(self.name, frozenset())
        for node in draft.candidates(*roots):
            current = draft.current(node)
            if current is None or current.op not in roots or (current.domain and current.body is None):
                continue
            self._try(patterns, current, draft, log, off=node.name in off)

    def _try(self, patterns: Sequence[Op], node: Node, draft: Draft, log: Log, *, off: bool) -> None:
        furthest: Failure | None = None
        for wanted in patterns:
            if node.op not in wanted.ops:
                continue
            found = match(wanted, node, draft)
            if isinstance(found, Failure):
                if furthest is None or found.matched > furthest.matched:
                    furthest = found
                continue
            refused = self.check(found, draft)
            if refused is not None:
                log.reject(node, refused.code, refused.blocker, **refused.parameters)
                return
            if off:
                log.reject(node, "match_off", node.name, rule=self.name)
                return
            names = ", ".join(member.name for member in found.nodes)
            with log.rewrite(node, "fused", kernel=self.kernel, members=names, count=len(found.nodes)):
                self.fuse(found, draft)
            return
        if furthest is not None and furthest.matched >= self.near:
            log.reject(node, furthest.code, furthest.blocker, **furthest.parameters)

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        cls.messages = Map({**MATCHER_MESSAGES, **cls.messages})


__all__ = ["Match", "Reject", "Rule", "tensor_of"]
