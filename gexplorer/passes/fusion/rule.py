"""What a fusion rule is: a pattern, a check, and a kernel that comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isclose
from typing import ClassVar, Literal

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES, Graph, Node, program_key
from gexplorer.ops.row import Engine
from gexplorer.ops.table import Lowering, lookup
from gexplorer.passes.base import Context, Declined, Log, Pass
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.matcher import BETWEEN, Failure, Match, Refusal, is_one_of, listed, match, tensor_of
from gexplorer.passes.fusion.messages import MATCHER_KINDS, MATCHER_MESSAGES, PRICE_KINDS, PRICE_MESSAGES
from gexplorer.passes.fusion.pattern import Op, extent

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
    come from its body, which the rule's author does not write. A ``run`` of its own ends with ``tell_rest``, so that
    every place is accounted for.

    Attributes:
        pattern: what to look for, from the last operator up.
        kernel: operator of the kernel, as GE names it where it has one.
        kind: ``graph`` (rewrites the graph) or ``ub`` (one kernel, intermediates stay in the Unified Buffer).
        saves: what the fusion saves, as a sentence.
        near: near misses are logged from so many matched nodes on; the root alone is 1.
        every: whether every other place is logged too; for a second run, when somebody asks (``account``).
        telling: operators of which every match has one, and that few other places have. Only nodes that they lead up to
            are tried, and near misses are logged only where one of them fits: a graph without them costs nothing.
        kinds: by code, what many far misses have in common, see ``MATCHER_KINDS``; without one, the code says it.
        reads: names of values in the pattern that are the first inputs of the kernel, in this order.
        settles: whether it sweeps until nothing more fuses: for what fuses again with what has become of it.
        latest_first: whether the last node in program order is tried first. For patterns of which one goes on where
            another ends (with and without scale): the longer ones end later.
        costly: whether ``fusion_mode`` fast leaves the rule out.
    """

    pattern: ClassVar[Op | Sequence[Op]]
    kernel: ClassVar[str]
    kind: ClassVar[Literal["graph", "ub"]] = "graph"
    saves: ClassVar[str] = ""
    near: ClassVar[int] = 1
    every: ClassVar[bool] = False
    telling: ClassVar[frozenset[str]] = frozenset()
    kinds: ClassVar[Mapping[str, str]] = Map()
    reads: ClassVar[Sequence[str]] = ()
    settles: ClassVar[bool] = False
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

    @classmethod
    def roots(cls) -> tuple[str, ...]:
        """The operators that its matches end in; empty where any may be the last."""
        return tuple(dict.fromkeys(name for wanted in _patterns(cls) for name in wanted.ops))

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Tries the pattern at every node of its outermost operators, in program order."""
        tried = draft.tried + count_places(draft.base, self.roots())
        places = self.places(draft) if self.every else []
        known: dict[str, Failure] = {}
        spared: dict[str, str] = {}
        if self.settles:
            log.settle(lambda: self._sweep(draft, log, context, known, spared))
        else:
            self._sweep(draft, log, context, known, spared)
        draft.tried = tried
        if self.every:
            self.tell_rest(places, log, known, spared)

    def _sweep(
        self, draft: Draft, log: Log, context: Context, known: dict[str, Failure], spared: dict[str, str]
    ) -> None:
        patterns, roots = _patterns(type(self)), self.roots()
        off = context.matches_off.get(self.name, frozenset())
        allowed = context.allowed.get(self.name, {})
        misses: list[tuple[Node, Failure]] = []
        ours = {rewrite.node for rewrite in log.rewrites}
        candidates = self._candidates(patterns, roots, draft)
        for node in reversed(candidates) if self.latest_first else candidates:
            current = draft.current(node)
            if current is None or node.name in spared or (current is not node and not is_one_of(current, roots)):
                continue
            miss = self._try(patterns, current, draft, log, off=node.name in off, allowed=allowed)
            if miss is None:
                ours.add(current.name)
            elif self.every or self._is_near(miss):
                if miss.code == "taken" and miss.blocker in ours:
                    miss = replace(miss, code="taken_here")
                misses.append((current, miss))
                if miss.code == "match_off":  # nor may a part of it fuse instead
                    spared |= {inner.name: node.name for inner in miss.nodes}
        told: dict[tuple[str, str | None], set[str]] = {}
        for node, miss in misses:
            if self.every:
                known[node.name] = miss
                if not self._is_near(miss):
                    continue
            covered = told.setdefault((miss.code, miss.blocker), set())
            # Not where it fused from another root after all, nor for the same reason at a part of the same place. What
            # a rule itself refuses is told all the same: why it took less than it could.
            fused = any(draft.current(inner) is not inner for inner in miss.nodes)
            if node.name not in covered and not (fused and miss.code in MATCHER_MESSAGES):
                covered.update(inner.name for inner in miss.nodes)
                log.reject(node, miss.code, blocker=miss.blocker, **miss.parameters)

    def tell_rest(
        self, places: Iterable[Node], log: Log, known: Mapping[str, Failure], spared: Mapping[str, str]
    ) -> None:
        """Logs the places that no record is about yet, so that each has one; for a run with ``every``.

        Args:
            places: all of this graph.
            log: what was told of them so far.
            known: what stood in the way, by place.
            spared: for nodes that are part of a match that is switched off, the root of that.
        """
        told = {record.node for record in (*log.rewrites, *log.rejects)}
        gone = {old.name: rewrite.node for rewrite in log.rewrites for old in rewrite.removed}
        changed = {old.name: rewrite.node for rewrite in log.rewrites for old, _ in rewrite.changed}
        for node in places:
            if node.name in told:
                continue
            if node.name in gone:
                log.reject(node, "swallowed", gone[node.name])
            elif spared.get(node.name, node.name) != node.name:
                log.reject(node, "part_off", spared[node.name], rule=self.name)
            elif node.name in known:
                miss = known[node.name]
                log.reject(node, miss.code, miss.blocker, **miss.parameters)
            else:
                log.reject(node, "swallowed", changed[node.name])

    def places(self, draft: Draft) -> list[Node]:
        """The nodes with an operator that a match may end in, in program order."""
        roots = self.roots()
        found = read(draft, *_op_names(roots, draft.opsets))
        return [node for node in found if is_one_of(node, roots)] if _has_domains(draft.opsets) else found

    def _candidates(self, patterns: Sequence[Op], roots: Sequence[str], draft: Draft) -> list[Node]:
        """The nodes to try, in program order: the places, or those that something telling leads up to."""
        if not self.telling or self.every:
            return self.places(draft)
        level = read(draft, *self.telling)
        seen = {node.name: node for node in level}
        ops, deep = extent(patterns)
        for _ in range(deep):
            users = {u.name: u for node in level for output in node.outputs if output for u in draft.users(output)}
            level = [u for name, u in users.items() if name not in seen and (u.op in ops or u.op in BETWEEN)]
            seen.update((user.name, user) for user in level)
        return sorted((n for n in seen.values() if is_one_of(n, roots) and draft.is_read(n)), key=program_key)

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
        """Fuses at a node, or says what stood in the way: of several patterns, of the one that came furthest."""
        furthest: Failure | None = None
        failures: list[Failure] = []
        for wanted in patterns:
            if not is_one_of(node, wanted.ops):
                continue
            found = match(wanted, node, draft)
            if isinstance(found, Failure):
                if furthest is None or found.matched > furthest.matched:
                    furthest = found
                if self.every:
                    failures.append(found)
                continue
            refused = self.check(found, draft) or off_the_ai_core(found.nodes, draft)
            if refused is None and allowed:
                refused = _not_allowed(self.describe(found, draft), allowed, node)
            if refused is not None:
                return _refusal(found, refused)
            if off:
                return _refusal(found, Reject("match_off", node.name, rule=self.name))
            found = self.extend(found, draft)
            names = listed(found.nodes)
            with log.rewrite(
                node, "fused", kernel=self.kernel_of(found), members=names, count=len(found.nodes)
            ) as edit:
                self.fuse(found, draft)
            return declined(edit.declined, node, found.nodes) if edit.declined is not None else None
        if furthest is not None and self.every and not self._is_near(furthest):
            return _joined(furthest, failures)
        return furthest

    def _is_near(self, failure: Failure) -> bool:
        if isinstance(failure, Refusal):
            return True
        if failure.matched < self.near:
            return False
        return not self.telling or any(node.op in self.telling for node in failure.nodes)

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        cls.messages = Map({**MATCHER_MESSAGES, **PRICE_MESSAGES, **cls.messages})
        cls.kinds = Map({**MATCHER_KINDS, **PRICE_KINDS, **cls.kinds})


def _patterns(rule: type[Rule]) -> tuple[Op, ...]:
    return (rule.pattern,) if isinstance(rule.pattern, Op) else tuple(rule.pattern)


def read(draft: Draft, *ops: str) -> list[Node]:
    """The nodes of these operators that somebody reads, in program order: nothing is saved where nobody does."""
    return [node for node in draft.candidates(*ops) if draft.is_read(node)]


def count_places(graph: Graph, roots: Sequence[str]) -> int:
    """How many nodes of a graph the names fit, without looking at each where all are of one domain."""
    found = [graph.by_op.get(name, ()) for name in _op_names(roots, graph.opsets)]
    if not _has_domains(graph.opsets):
        return sum(map(len, found))
    return sum(is_one_of(graph.nodes[name], roots) for names in found for name in names)


def _has_domains(opsets: Mapping[str, int]) -> bool:
    """Whether nodes may be of several domains, so that the name of an operator does not say all."""
    return not set(opsets) <= {""}


def _op_names(roots: Sequence[str], opsets: Mapping[str, int]) -> list[str]:
    """Names without domains, of those alone that a graph with such opsets may have."""
    if not _has_domains(opsets):
        return [name for name in roots if "::" not in name]
    return [*dict.fromkeys(name.rpartition("::")[2] for name in roots)]


def _joined(failure: Failure, others: Iterable[Failure]) -> Failure:
    """A failure that names what all patterns want which stopped there for the same reason."""
    same = [o for o in others if (o.matched, o.code, o.blocker) == (failure.matched, failure.code, failure.blocker)]
    texts = [text for other in same if isinstance(text := other.parameters.get("wanted"), str)]
    if len(texts) < 2:
        return failure
    names = dict.fromkeys(name for text in texts for name in text.split("|"))
    return replace(failure, parameters={**failure.parameters, "wanted": "|".join(names)})


def _refusal(found: Match, refused: Reject) -> Refusal:
    return Refusal(len(found.nodes), refused.code, refused.blocker, refused.parameters, found.nodes)


def declined(by: Declined, node: Node, nodes: Sequence[Node]) -> Refusal:
    """What stood in the way at a place whose fusion was tried and taken back."""
    return Refusal(len(nodes), by.code, node.name, by.parameters, tuple(nodes))


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
