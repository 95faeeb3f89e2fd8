"""Rewrites and near misses of a step in groups: one a sentence kind, with counts, places and examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gexplorer.ir.graph import Node
from gexplorer.trace.records import Place, Reject, Rewrite, Step
from gexplorer.views.region import Region, rewrite_regions
from gexplorer.views.scope import scope_at

SHOWN_SENTENCES = 5
SHOWN_COMBINATIONS = 8
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Group:
    """Records of one code.

    Attributes:
        code: the code.
        count: how many.
        sentences: the first few, as sentences.
        hint: the edit that would cure it; "" where none is known.
        operators: what it happened to, with counts, the most frequent first; the rest is under ``other_operators``.
        other_operators: how many records are not among ``operators``.
    """

    code: str
    count: int
    sentences: tuple[str, ...]
    hint: str
    operators: tuple[tuple[str, int], ...]
    other_operators: int


@dataclass(frozen=True, slots=True)
class Example:
    """One rewrite with its picture.

    Attributes:
        number: of the rewrite in its step, from 0.
        sentence: what happened.
        alike: how many rewrites of the step did the same to the same operators, itself included.
        region: what it changed.
    """

    number: int
    sentence: str
    alike: int
    region: Region


@dataclass(frozen=True, slots=True)
class StepGroups:
    """What a step did and nearly did.

    Attributes:
        rewrites: grouped by code, the most frequent first.
        rejects: grouped by code, the most frequent first.
        examples: a few rewrites that differ in code or operators, in order.
    """

    rewrites: tuple[Group, ...]
    rejects: tuple[Group, ...]
    examples: tuple[Example, ...]


def step_groups(step: Step) -> StepGroups:
    """Groups the records of a step; only the examples are looked at closely."""
    shapes = [(rewrite.code, combination(rewrite)) for rewrite in step.rewrites]
    counts = Counter(shapes)
    first: dict[tuple[str, str], int] = {}
    for number, shape in enumerate(shapes):
        first.setdefault(shape, number)
    chosen = {first[shape]: counts[shape] for shape in _examples(counts)}
    regions = dict(zip(sorted(chosen), rewrite_regions(step, chosen), strict=True))
    examples = tuple(
        Example(number, step.reason(step.rewrites[number]), chosen[number], region)
        for number, region in regions.items()
    )
    return StepGroups(_rewrite_groups(step, counts), _reject_groups(step), examples)


def combination(rewrite: Rewrite) -> str:
    """What a rewrite did in terms of operators, such as ``2 Reshape → Reshape``."""
    gone, came = rewrite.removed, rewrite.added
    if not gone and not came:
        changed = [new for _, new in rewrite.changed]
        return _operators(changed) if changed else "constants"
    if not gone:
        return f"+ {_operators(came)}"
    return f"{_operators(gone)} → {_operators(came)}" if came else _operators(gone)


def _operators(nodes: Iterable[Node]) -> str:
    counts = Counter(node.op for node in nodes)
    shown = [f"{n} {op}" if n > 1 else op for op, n in sorted(counts.items())]
    return " + ".join(shown if len(shown) <= 3 else [*shown[:3], "…"])


def _examples(counts: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Every code is shown once before one is shown twice; frequent combinations come first."""
    ranked = sorted(counts, key=lambda shape: (-counts[shape], shape))
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, tuple[str, str]]] = []
    for rank, shape in enumerate(ranked):
        turns.append((seen[shape[0]], rank, shape))
        seen[shape[0]] += 1
    return [shape for _, _, shape in sorted(turns)[:EXAMPLES]]


def _rewrite_groups(step: Step, counts: Mapping[tuple[str, str], int]) -> tuple[Group, ...]:
    first: dict[str, list[Rewrite]] = {}
    for rewrite in step.rewrites:
        same = first.setdefault(rewrite.code, [])
        if len(same) < SHOWN_SENTENCES:
            same.append(rewrite)
    by_code: dict[str, Counter[str]] = {}
    for (code, operators), n in counts.items():
        by_code.setdefault(code, Counter())[operators] += n
    return _ranked(
        _group(code, by_code[code], tuple(step.reason(rewrite) for rewrite in same), "") for code, same in first.items()
    )


def _reject_groups(step: Step) -> tuple[Group, ...]:
    first: dict[str, list[Reject]] = {}
    by_code: dict[str, Counter[str]] = {}
    nodes: dict[tuple[Place, ...], Mapping[str, Node]] = {}
    for reject in step.rejects:
        same = first.setdefault(reject.code, [])
        if len(same) < SHOWN_SENTENCES:
            same.append(reject)
        if reject.path not in nodes:
            nodes[reject.path] = _nodes_at(step, reject.path)
        node = nodes[reject.path].get(reject.node)
        by_code.setdefault(reject.code, Counter())[node.op if node is not None else "removed since"] += 1
    return _ranked(
        _group(code, by_code[code], tuple(step.reason(r) for r in same), step.hint(same[0]) or "")
        for code, same in first.items()
    )


def _nodes_at(step: Step, path: tuple[Place, ...]) -> Mapping[str, Node]:
    for graph in (step.after, step.before):
        try:
            return scope_at(graph, path).graph.nodes
        except KeyError:
            continue
    return {}


def _group(code: str, operators: Counter[str], sentences: tuple[str, ...], hint: str) -> Group:
    ranked = sorted(operators.items(), key=lambda item: (-item[1], item[0]))
    shown = tuple(ranked[:SHOWN_COMBINATIONS])
    total = sum(operators.values())
    return Group(code, total, sentences, hint, shown, total - sum(n for _, n in shown))


def _ranked(groups: Iterable[Group]) -> tuple[Group, ...]:
    return tuple(sorted(groups, key=lambda group: (-group.count, group.code)))
