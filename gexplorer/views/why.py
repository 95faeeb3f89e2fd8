"""Why not: every near miss of every rule, and which blockers cost most, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gexplorer.ir.graph import Graph
from gexplorer.trace.records import Reject, Step


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A place that a rule looked at and left alone.

    Attributes:
        rule: name of the rule or pass.
        node: the place.
        code: kind of reason.
        reason: the reason as a sentence.
        blocker: the node or value in the way, None where there is no single one.
        hint: the edit that would cure it, None where none is known.
        freed_bytes: what fusing there would keep out of memory at least: one write and one read of the value in
            between; None where its size is not known or there is no such value.
        inside: nodes whose nested graphs hold the place, outermost first.
    """

    rule: str
    node: str
    code: str
    reason: str
    blocker: str | None
    hint: str | None
    freed_bytes: int | None
    inside: tuple[str, ...] = ()


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
    steps: Iterable[Step], rule: str | None = None, node: str | None = None, *, fusion_only: bool = True
) -> list[NearMiss]:
    """Every near miss, in the order of the trace.

    Args:
        steps: of one compilation.
        rule: only those of this pass or rule (by our name or GE's).
        node: only those at, or blocked by, this node.
        fusion_only: leave out general passes unless ``rule`` names one.
    """
    found: list[NearMiss] = []
    for step in steps:
        if step.stage != "passes" or (rule is not None and rule not in (step.name, step.ge_name)):
            continue
        if rule is None and fusion_only and not step.is_fusion:
            continue
        found += [_near_miss(step, r) for r in step.rejects if node is None or node in (r.node, r.blocker)]
    return found


def ranked_blockers(steps: Iterable[Step]) -> list[Blocker]:
    """The blockers by the bytes that removing each would free, most first; only those for which a cure is known."""
    places: dict[str, list[tuple[str, str, int]]] = {}
    ops: dict[str, str] = {}
    for step in steps:
        if step.stage != "passes" or not step.is_fusion:
            continue
        for reject in step.rejects:
            value = _blocked_value(step.after, reject)
            size = _size(step.after, value)
            if reject.blocker is None or value is None or size is None or step.hint(reject) is None:
                continue
            places.setdefault(reject.blocker, []).append((step.name, value, 2 * size))
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


def _near_miss(step: Step, reject: Reject) -> NearMiss:
    size = _size(step.after, _blocked_value(step.after, reject))
    return NearMiss(
        step.name,
        reject.node,
        reject.code,
        step.reason(reject),
        reject.blocker,
        step.hint(reject),
        None if size is None else 2 * size,
        tuple(place.node for place in reject.path),
    )


def _blocked_value(graph: Graph, reject: Reject) -> str | None:
    """The value that would stay on the chip if the place were fused."""
    named = reject.parameters.get("value")
    if isinstance(named, str):
        return named
    blocker = graph.nodes.get(reject.blocker or "")
    if blocker is not None and blocker.outputs:
        return blocker.outputs[0]
    return reject.blocker


def _size(graph: Graph, value: str | None) -> int | None:
    type_ = graph.tensor(value) if value else None
    return type_.nbytes if type_ is not None else None
