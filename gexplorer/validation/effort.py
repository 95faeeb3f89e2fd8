"""How long a run on this machine will take, before it is begun; and what is left of the time for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter, process_time

from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import Dim, Symbol
from gexplorer.ops.work import bytes_moved, flops, types_of
from gexplorer.validation.inputs import OPEN_DIM

# To export a node, load it and launch it once. Measured on 2 shared x86-64 cores with onnxruntime 1.32: a model of
# 4,207 nodes takes 0.58 CPU seconds, one of 7,539 nodes 1.11; of that 10 ms for each 1,000 nodes is the run itself.
NODE_SECONDS = 1.5e-4
# Share of the speed of a small product of matrices on one core that whole models reach on all of them: ResNet-50 0.3,
# BERT base 0.5, measured on the same machine.
MODEL_SHARE = 0.3
# What a quick validation may take in all.
QUICK_SECONDS = 2.0
# onnx's reference implementation runs in Python; its products are numpy's, its convolutions are loops.
REFERENCE_FACTOR = 20


@dataclass
class Budget:
    """The time that comparing numbers may take: of this process's CPUs, so that a busy machine checks no less.

    Attributes:
        seconds: in all; infinite for a full validation.
        started: when it began; it begins when first asked for.
    """

    seconds: float
    started: float | None = field(default=None, init=False)

    @property
    def left_seconds(self) -> float:
        """What is left of it."""
        if self.started is None:
            self.started = process_time()
        return self.seconds - (process_time() - self.started)

    @property
    def is_limited(self) -> bool:
        """False where a run may take as long as it will."""
        return self.seconds != float("inf")


def run_seconds(graph: Graph, sizes: Mapping[str, int], runs: int = 1) -> float:
    """About how long it takes to load a graph into an evaluator and run it, by its operations and bytes.

    What nobody can count (loops, sizes that depend on data) counts as nothing, so that it is a lower bound there.

    Args:
        graph: with inferred types.
        sizes: sizes of symbolic dimensions, ``OPEN_DIM`` for others.
        runs: how often it will run.
    """
    work = _work_of(graph, sizes)
    rates = machine_rates()
    return load_seconds(graph) + runs * (work.operations / rates.flops_per_second + work.bytes / rates.bytes_per_second)


def load_seconds(graph: Graph) -> float:
    """About how long it takes to load a graph into an evaluator: the part of ``run_seconds`` that is told at once."""
    weights = sum(value.constant.nbytes for value in graph.values.values() if value.constant is not None)
    return _nodes(graph) * NODE_SECONDS + 3 * weights / machine_rates().bytes_per_second  # packed, sent and unpacked


@dataclass(frozen=True, slots=True)
class Rates:
    """What this machine does: fp32 operations of a model, and bytes copied, a second."""

    flops_per_second: float
    bytes_per_second: float


@cache
def machine_rates() -> Rates:
    """Measured once, in about 50 ms: a product of matrices on one core, and a copy into fresh memory."""
    import numpy as np

    side, block = 64, np.ones(32 << 20, np.uint8)  # small enough for one thread: others may be kept waiting for cores
    a = np.ones((side, side), np.float32)
    return Rates(MODEL_SHARE * 2 * side**3 / _fastest(lambda: a @ a, 16), block.nbytes / _fastest(block.copy, 2))


def _fastest(action: Callable[[], object], times: int) -> float:
    seconds: list[float] = []
    for _ in range(times):
        start = perf_counter()
        action()
        seconds.append(perf_counter() - start)
    return max(min(seconds), 1e-9)


@dataclass(frozen=True, slots=True)
class _Work:
    operations: int
    bytes: int


def _work_of(graph: Graph, sizes: Mapping[str, int]) -> _Work:
    operations = moved = 0
    for node in graph.nodes.values():
        types = types_of(graph, node)
        operations += _number(flops(node, *types), sizes)
        moved += _number(bytes_moved(node, *types), sizes)
        for inner in node.graphs:
            part = _work_of(inner, sizes)
            operations, moved = operations + part.operations, moved + part.bytes
    return _Work(operations, moved)


def _nodes(graph: Graph) -> int:
    """Nodes that are exported: those of nested graphs and of bodies too."""
    return graph.nodes_deep + sum(node.body.nodes_deep for node in graph.nodes.values() if node.body is not None)


def _number(dim: Dim, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, Symbol):
        dim = dim.substitute({atom: sizes.get(atom, OPEN_DIM) for atom in dim.atoms})
    return dim if isinstance(dim, int) else 0
