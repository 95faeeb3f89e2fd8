"""Which operators a model has before and after, what becomes of each on the chip, and the parts it falls into."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gexplorer.ir.graph import Graph, Node
from gexplorer.ops.table import Lowering, lookup
from gexplorer.views.scope import Scope


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator that becomes one thing.

    Attributes:
        op: its ONNX name.
        domain: "" for ai.onnx.
        before: how many there were.
        after: how many there are.
        lowering: what becomes of it.
    """

    op: str
    domain: str
    before: int
    after: int
    lowering: Lowering


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the graph that one engine runs at a stretch.

    Attributes:
        name: such as ``aicore_0``.
        engine: who runs it.
        nodes: how many nodes it has.
    """

    name: str
    engine: str
    nodes: int


def operator_rows(before: Graph, after: Graph) -> list[OperatorRow]:
    """The operators of two graphs, nested graphs included, the most frequent first."""
    old, new = _histogram(before), _histogram(after)
    rows = [OperatorRow(op, domain, old[op, domain, to], new[op, domain, to], to) for op, domain, to in {**old, **new}]
    return sorted(rows, key=lambda row: (-row.after, -row.before, row.domain, row.op, row.lowering.cann))


def unit_counts(rows: list[OperatorRow]) -> list[tuple[str, int]]:
    """How many nodes each unit has in the graph after, the most frequent first."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.lowering.unit] += row.after
    return sorted(((unit, n) for unit, n in counts.items() if n), key=lambda item: (-item[1], item[0]))


def parts(graph: Graph) -> list[Part]:
    """The parts of the outermost graph; none while it is one part. Numbers sort as numbers."""
    counts = Counter(node.partition for node in graph.nodes.values() if node.partition)
    found = [Part(name, name.rpartition("_")[0] or name, count) for name, count in counts.items()]
    return sorted(found, key=lambda part: (_number(part.name), part.name))


def _number(part: str) -> int:
    digits = part.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1


def _histogram(graph: Graph) -> Counter[tuple[str, str, Lowering]]:
    # Lowerings are shared objects: counting them by identity and only then by value spares a hash a node.
    seen: dict[tuple[str, str, int], Lowering] = {}
    counts: Counter[tuple[str, str, int]] = Counter()
    for scope in Scope(graph).nested():
        for node in scope.graph.nodes.values():
            lowering = _lowering(node, scope)
            key = (node.op, node.domain, id(lowering))
            seen[key] = lowering
            counts[key] += 1
    result: Counter[tuple[str, str, Lowering]] = Counter()
    for (op, domain, number), n in counts.items():
        result[op, domain, seen[op, domain, number]] += n
    return result


def _lowering(node: Node, scope: Scope) -> Lowering:
    type_of = scope.type
    inputs = [type_of(name) for name in node.inputs]
    return lookup(node, inputs, [type_of(name) for name in node.outputs])
