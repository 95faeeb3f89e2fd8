"""Why not: what kept every rule from fusing at every place, and which blockers cost most, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gexplorer.cost.between import Between
from gexplorer.display import Displayed
from gexplorer.ir.graph import Graph
from gexplorer.passes.base import Context
from gexplorer.passes.fusion.account import tell_every
from gexplorer.passes.fusion.matcher import is_one_of
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.switches import Plan
from gexplorer.trace.records import Reject, Step
from gexplorer.views.lookup import find_node

# Code of places that are part of a match of the same rule.
INSIDE = "swallowed"


@dataclass(frozen=True, slots=True)
class Miss:
    """A place that a rule looked at and left alone.

    Attributes:
        rule: name of the rule or pass.
        node: the place.
        code: kind of reason.
        reason: the reason as a sentence.
        blocker: the node or value in the way, None where there is no single one.
        hint: the edit that would cure it, None where none is known.
        freed_bytes: what fusing there could keep out of memory at most: one read of the value in between, and one
            write unless another node reads it too; None where its size is not known, there is no such value, or the
            miss is far.
        saved_bytes: what of this is traffic of HBM by the cost model, in the graph as it was compiled: 0 where L2
            holds the value or a kernel does; of a fusion that was priced and declined, HBM's traffic apart less that
            fused. None where it is not known.
        inside: nodes whose nested graphs hold the place, outermost first.
        near: whether much of the pattern fitted, so that the compilation tells it unasked.
        wanted: what the pattern has where it stopped, such as ``MatMul|Gemm``; None where it fitted whole.
        kind: for a far miss the reason without names, by which they are counted.
        settled: whether the value in between lies inside a kernel by now, as a later rule has fused it: nothing is
            left to be kept out of memory. False where nobody knows.
    """

    rule: str
    node: str
    code: str
    reason: str
    blocker: str | None
    hint: str | None
    freed_bytes: int | None
    inside: tuple[str, ...] = ()
    near: bool = True
    wanted: str | None = None
    kind: str = ""
    saved_bytes: float | None = None
    settled: bool = False

    @property
    def traffic_bytes(self) -> int | None:
        """Memory traffic, through L2 or HBM, that fusing there could save at most.

        More may stand in the way behind what the rule has told, and another kernel may cost more than it saves.

        Returns:
            ``freed_bytes``; 0 where a later rule has saved it already, None where it is not known.
        """
        return 0 if self.settled else self.freed_bytes


class Misses(list[Miss], Displayed):
    """Misses that show themselves: each with its reason and its cure."""

    # How many a terminal is given.
    MOST = 20

    def __repr__(self) -> str:
        near = "near " if all(miss.near for miss in self) else ""
        lines = [f"{len(self):,} {near}{'miss' if len(self) == 1 else 'misses'}"]
        for miss in self[: self.MOST]:
            lines.append(f"{miss.rule} at {miss.node}: {miss.reason}")
            lines += [f"    cure: {miss.hint}"] if miss.hint else []
        return "\n".join(lines + ([f"... {len(self) - self.MOST:,} more"] if len(self) > self.MOST else []))


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of the places that a rule tried; ``tried`` is the sum of the next three.

    Attributes:
        rule: its name.
        tried: nodes with an operator that its matches end in.
        fused: matches; a match may take in further places.
        near: near misses.
        far: all others.
        inside: how many of these are part of a match elsewhere; None where nobody asked.
        kinds: how many of the rest there are of each kind, most first; empty where nobody asked.
    """

    rule: str
    tried: int
    fused: int
    near: int
    far: int
    inside: int | None = None
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Blocker:
    """A node or value that stands in the way, perhaps of several rules.

    Attributes:
        name: of the node or value.
        op: operator of the node, "" for a value.
        places: how many places it blocks.
        rules: the rules that it blocks.
        freed_bytes: what removing it would free, each value counted once.
    """

    name: str
    op: str
    places: int
    rules: tuple[str, ...]
    freed_bytes: int


def near_misses(
    steps: Iterable[Step],
    rule: str | None = None,
    node: str | None = None,
    *,
    fusion_only: bool = True,
    between: Between | None = None,
) -> list[Miss]:
    """Every near miss, in the order of the trace.

    Args:
        steps: of one compilation.
        rule: only those of this pass or rule (by our name or GE's).
        node: only those at, or blocked by, this node.
        fusion_only: leave out general passes unless ``rule`` names one.
        between: what lies between the kernels of the compiled graph, for the bytes of HBM traffic.
    """
    found: list[Miss] = []
    for step in _of_passes(steps, rule, fusion_only=fusion_only):
        rejects = [reject for reject in step.rejects if node is None or node in (reject.node, reject.blocker)]
        found += [_miss(step, reject, between=between) for reject in rejects]
    return found


def every_miss(
    steps: Iterable[Step],
    plan: Plan,
    context: Context,
    rule: str | None = None,
    node: str | None = None,
    *,
    between: Between | None = None,
) -> list[Miss]:
    """Every place that a rule tried and did not fuse at, near or far; the rules run once more for it.

    Args:
        steps: of one compilation.
        plan: its passes.
        context: what they knew.
        rule: only those of this pass or rule (by our name or GE's).
        node: only those at this node, and near misses that it blocks.
        between: what lies between the kernels of the compiled graph, for the bytes of HBM traffic.
    """
    classes = {p.name: p for p in plan.passes}
    found: list[Miss] = []
    for step in _of_passes(steps, rule):
        pass_class = classes[step.name]
        if not issubclass(pass_class, Rule) or not _may_tell(pass_class, step, node):
            found += near_misses([step], step.name, node, between=between)
            continue
        near = {(reject.path, reject.node) for reject in step.rejects}
        for reject in tell_every(step, pass_class, context).rejects:
            is_near = (reject.path, reject.node) in near
            if node is None or node == reject.node or (is_near and node == reject.blocker):
                found.append(_miss(step, reject, None if is_near else pass_class, between=between))
    return found


def tallies(steps: Iterable[Step], misses: Sequence[Miss] = (), rule: str | None = None) -> list[Tally]:
    """How the places add up of each rule that tried any, and of one that is named, in the order of the trace.

    Args:
        steps: of one compilation.
        misses: every miss of rules whose far ones are to be told apart by kind.
        rule: only this one.
    """
    far: dict[str, list[Miss]] = {}
    for miss in misses:
        if not miss.near:
            far.setdefault(miss.rule, []).append(miss)
    return [
        _tally(step, far.get(step.name, ()))
        for step in _of_passes(steps, rule)
        if step.is_fusion and (step.tried or rule is not None)
    ]


def _tally(step: Step, misses: Sequence[Miss]) -> Tally:
    kinds = Counter(miss.kind for miss in misses if miss.code != INSIDE)
    fused, near = len(step.rewrites), len(step.rejects)
    inside = sum(miss.code == INSIDE for miss in misses) if misses else None
    return Tally(step.name, step.tried, fused, near, step.tried - fused - near, inside, dict(kinds.most_common()))


def ranked_blockers(steps: Iterable[Step], *, between: Between | None = None) -> list[Blocker]:
    """The blockers by the bytes that removing each would free, most first; only those for which a cure is known.

    Args:
        steps: of one compilation.
        between: what lies between the kernels of the compiled graph: a value that does no more frees nothing.
    """
    places: dict[str, list[tuple[str, str, int]]] = {}
    ops: dict[str, str] = {}
    for step in steps:
        if step.stage != "passes" or not step.is_fusion:
            continue
        for reject in step.rejects:
            value = _blocked_value(step.after, reject)
            freed = _freed_bytes(step.after, value, reject)
            if reject.blocker is None or value is None or freed is None or step.hint(reject) is None:
                continue
            if _is_settled(value, reject, between):
                continue
            places.setdefault(reject.blocker, []).append((step.name, value, freed))
            blocking = step.after.nodes.get(reject.blocker)
            ops[reject.blocker] = blocking.op if blocking is not None else ""
    ranked = [
        Blocker(
            name,
            ops[name],
            len(rows),
            tuple(dict.fromkeys(rule for rule, _, _ in rows)),
            sum({value: size for _, value, size in rows}.values()),
        )
        for name, rows in places.items()
    ]
    return sorted(ranked, key=lambda b: (-b.freed_bytes, b.name))


def _of_passes(steps: Iterable[Step], rule: str | None, *, fusion_only: bool = True) -> list[Step]:
    """The steps of one pass or rule; of all rules, or all passes, where none is named."""
    return [
        step
        for step in steps
        if step.stage == "passes"
        and (step.is_fusion or not fusion_only if rule is None else rule in (step.name, step.ge_name))
    ]


def _may_tell(rule: type[Rule], step: Step, node: str | None) -> bool:
    """Whether a rule tried a node at all: no need to run it again where its matches end in other operators."""
    if node is None:
        return True
    found = find_node(step.before, node)
    return found is not None and (not rule.roots() or is_one_of(found, rule.roots()))


def _miss(step: Step, reject: Reject, far_from: type[Rule] | None = None, *, between: Between | None = None) -> Miss:
    """A near miss, or one that is far from the pattern of a rule: it is told with less detail."""
    value = _blocked_value(step.after, reject) if far_from is None else None
    freed = _freed_bytes(step.after, value, reject)
    saved = _saved_bytes(reject, value, between) if freed is not None or "before_bytes" in reject.parameters else None
    wanted = reject.parameters.get("wanted")
    if far_from is not None and isinstance(wanted, str):
        shown = _one_of(sorted(wanted.split("|"), key=lambda name: name not in far_from.telling))
        reject = replace(reject, parameters={**reject.parameters, "wanted": shown})
    return Miss(
        step.name,
        reject.node,
        reject.code,
        step.reason(reject),
        reject.blocker,
        step.hint(reject),
        freed,
        tuple(place.node for place in reject.path),
        far_from is None,
        wanted if isinstance(wanted, str) else None,
        "" if far_from is None else _kind(reject, far_from.kinds),
        saved,
        value is not None and _is_settled(value, reject, between),
    )


def _is_settled(value: str, reject: Reject, between: Between | None) -> bool:
    return between is not None and not reject.path and not between.lies_between(value)


def _saved_bytes(reject: Reject, value: str | None, between: Between | None) -> float | None:
    """HBM's traffic that fusing would save, by its price where it has one, else by the value that it would keep in."""
    before, after = (reject.parameters.get(name) for name in ("before_bytes", "after_bytes"))
    if isinstance(before, float) and isinstance(after, float):
        return before - after
    if between is None or value is None or reject.path:
        return None
    return between.saved_bytes(value, reject.node)


def _kind(reject: Reject, kinds: Mapping[str, str]) -> str:
    """What a reason has in common with others of its code, in words."""
    try:
        return kinds[reject.code].format_map(reject.parameters)
    except KeyError:
        return reject.code.replace("_", " ")


def _one_of(names: Sequence[str]) -> str:
    """Alternatives as a person says them, long lists cut short."""
    return " or ".join(sorted(names)) if len(names) <= 2 else f"{names[0]} or {len(names) - 1} others"


def _blocked_value(graph: Graph, reject: Reject) -> str | None:
    """The value that would stay on the chip if the place were fused; None where the record does not tell."""
    named = reject.parameters.get("value")
    if isinstance(named, str):
        return named
    blocker = graph.nodes.get(reject.blocker or "")
    return blocker.outputs[0] if blocker is not None and blocker.outputs else None


def _freed_bytes(graph: Graph, value: str | None, reject: Reject) -> int | None:
    """One read of the value, and one write unless somebody else needs it; a cure may take it off the results."""
    type_ = graph.tensor(value) if value else None
    if value is None or type_ is None or type_.nbytes is None:
        return None
    alone = len(graph.users_of(value)) < 2 and reject.code != "other_user"
    return (2 if alone else 1) * type_.nbytes
