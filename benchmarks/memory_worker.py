"""One planner on some instances, in a process of its own: ``python -m benchmarks.memory_worker PLANNER INSTANCE...``.

A planner is one of gexplorer's, a mode of ``--memory``, or ``omnimalloc: ALLOCATOR``. Every plan is checked by the
same verifier, which shares no code with any planner.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from time import process_time

import numpy as np

from benchmarks.memory_instances import Instance, infer, instance, train
from gexplorer.memory.modes import find_mode
from gexplorer.memory.planners.registry import find_planner
from gexplorer.memory.problem import Problem, make_problem
from gexplorer.memory.verify import verify_placement

PEER = "omnimalloc: "
# What is quick is done so many times, and the median counts.
REPEATS, QUICK_SECONDS = 3, 2.0

Place = Callable[[Problem], tuple[np.ndarray, int]]


def measure(place: Place, wanted: Instance) -> dict[str, object]:
    """CPU seconds for the bound, the plan and the check, the pool, and what the check found."""
    spent: list[tuple[float, float, float]] = []
    while True:
        problem = make_problem(wanted.lower, wanted.upper, wanted.size_bytes)
        clock = [process_time()]
        bound = problem.bound_bytes
        clock.append(process_time())
        offsets, pool = place(problem)
        clock.append(process_time())
        findings = verify_placement(problem, offsets, pool)
        clock.append(process_time())
        spent.append((clock[1] - clock[0], clock[2] - clock[1], clock[3] - clock[2]))
        if len(spent) == REPEATS or sum(spent[0]) > QUICK_SECONDS:
            break
    bound_seconds, plan_seconds, verify_seconds = map(statistics.median, zip(*spent, strict=True))
    return {
        "instance": wanted.name,
        "buffers": len(problem),
        "bound_bytes": bound,
        "pool_bytes": pool,
        "bound_seconds": bound_seconds,
        "plan_seconds": plan_seconds,
        "verify_seconds": verify_seconds,
        "overlaps": findings.counts.get("overlap", 0),
        "sound": not findings,
    }


def planner(name: str) -> Place:
    """A planner as a function from a problem to offsets and pool."""
    if name.startswith(PEER):
        return _peer(name.removeprefix(PEER))
    mode = find_mode(name)
    found = find_planner(mode.planner)

    def place(problem: Problem) -> tuple[np.ndarray, int]:
        placed = found().place(problem, mode.effort)
        return placed.offsets, placed.pool_bytes

    return place


def _peer(name: str) -> Place:
    """One of omnimalloc's allocators; making its objects counts, as an application would have to."""
    import omnimalloc

    allocator = omnimalloc.allocators.BaseAllocator.get(name)()

    def place(problem: Problem) -> tuple[np.ndarray, int]:
        columns = (column.tolist() for column in (problem.lower, problem.upper, problem.size_bytes))
        made = [
            omnimalloc.Allocation(id=i, start=lower, end=upper, size=size)
            for i, (lower, upper, size) in enumerate(zip(*columns, strict=True))
        ]
        offsets = np.empty(len(made), dtype=np.int64)
        for placed in allocator.allocate(made):
            offsets[placed.id] = placed.offset
        return offsets, int((offsets + problem.size_bytes).max())

    return place


def main(name: str, *instances: str) -> None:
    """Prints one line of JSON for each instance."""
    place = planner(name)
    for warm in (infer(1_000), train(1_000)):  # imports and compiled loops are no plan's cost
        measure(place, warm)
    for wanted in instances:
        print(json.dumps(measure(place, instance(wanted))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
