"""Dependencies without a model, planned random graphs, and what a schedule must hold to, by brute force."""

import random
from functools import cache

import numpy as np

from gexplorer.ir.graph import Node
from gexplorer.memory.stage import Memory, Wishes, plan_memory
from gexplorer.ops.row import Engine, Outcome, Unit
from gexplorer.ops.table import Lowering
from gexplorer.schedule.dependencies import Dependencies
from gexplorer.schedule.events import Syncs, number_events, waits_of
from gexplorer.schedule.kernels import Kernels
from gexplorer.schedule.modes import parse_mode
from gexplorer.schedule.stage import kernel_names
from gexplorer.schedule.streams import Assignment, assign
from tests.memory_graphs import MemoryGraphs

MODES = ("single", "dependency", "cube_vector", "streams:1", "streams:2", "streams:3", "streams:64")
_ENGINES = {Unit.AICPU: Engine.AICPU, Unit.HOST: Engine.HOST_CPU, Unit.NONE: Engine.RTS}


def kernels(cores) -> Kernels:
    """A kernel of one point for each core type."""
    count = np.arange(len(cores))
    lowerings = tuple(Lowering(Outcome.MAPPED, "Op", _ENGINES.get(c, Engine.AICORE), c, "test") for c in cores)
    nodes = tuple(Node(f"k{i}", "Op", (), (f"t{i}",)) for i in range(len(cores)))
    return Kernels(nodes, lowerings, count, count, count, np.zeros(len(cores), bool), np.ones(len(cores), bool))


def edges_of(pairs, cores, reuse=()) -> Dependencies:
    """Dependencies from pairs of kernels, earlier first; those in ``reuse`` are there for the bytes."""
    rows = sorted({(b, a) for a, b in pairs} | {(b, a) for a, b in reuse})
    after, before = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    for_bytes = np.array([(a, b) not in set(pairs) for b, a in rows], dtype=bool)
    return Dependencies(kernels(cores), before, after, for_bytes, before, 0)


def random_edges(rng: random.Random, count: int) -> Dependencies:
    """Random dependencies, some wide, some deep."""
    reach, degree = rng.choice((1, 3, 8, count)), rng.choice((0.3, 1, 2))
    pairs = set()
    for after in range(1, count):
        for _ in range(round(rng.random() * 2 * degree)):
            pairs.add((rng.randrange(max(0, after - reach), after), after))
    cores = [rng.choice((Unit.CUBE, Unit.VECTOR, Unit.VECTOR, Unit.MTE, Unit.AICPU, Unit.NONE)) for _ in range(count)]
    reuse = {pair for pair in pairs if rng.random() < 0.2}
    return edges_of(pairs - reuse, cores, reuse)


@cache
def planned(seed: int, mode: str = "balanced") -> Memory:
    """The memory of a random graph with views, Concats, Splits, in-place operators and control flow."""
    rng = random.Random(seed)
    return plan_memory(MemoryGraphs(seed).graph(rng.randint(3, 40), rng.randint(0, 2)), Wishes(mode=mode))


def durations(memory: Memory, seed: int = 0) -> dict[str, float]:
    """A random time for each kernel, some of them none at all."""
    rng = random.Random(seed)
    return {name: rng.choice((0.0, 0.5, 1.0, 2.25, 7.0)) for name in kernel_names(memory)}


def synchronised(edges: Dependencies, times, mode: str) -> tuple[Assignment, Syncs]:
    """Streams and events."""
    assigned = assign(edges, times, parse_mode(mode))
    return assigned, number_events(waits_of(edges, assigned), assigned)


def reachable(assigned: Assignment, pairs) -> np.ndarray:
    """[k, k] which kernel is known to be done before which starts: by stream order, pairs, and both in turn."""
    stream, count = assigned.stream, len(assigned.stream)
    reach = np.zeros((count, count), dtype=bool)
    last = {}
    for kernel in assigned.order.tolist():
        if (before := last.get(int(stream[kernel]))) is not None:
            reach[before, kernel] = True
        last[int(stream[kernel])] = kernel
    for first, second in pairs:
        reach[first, second] = True
    for middle in assigned.order.tolist():
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach


def longest(edges: Dependencies, times) -> int:
    """The longest path, by looking at every edge as often as there are kernels."""
    end = list(times)
    for _ in range(len(times)):
        for before, after in zip(edges.before.tolist(), edges.after.tolist(), strict=True):
            end[after] = max(end[after], end[before] + times[after])
    return max(end, default=0)
