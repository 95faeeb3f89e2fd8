"""Serving a workload as plain data: one row a strategy, a timeline, gears, and what can have no size before it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gexplorer.dynamic.at_sizes import AtSizes
from gexplorer.dynamic.free import FreeDims
from gexplorer.dynamic.gear_search import GearChoice
from gexplorer.dynamic.simulate import Timeline
from gexplorer.dynamic.workload import Workload
from gexplorer.memory.stage import Memory

PERCENTILES = (50, 90, 99)
# What the real GE says of such a model, as article A2 quotes it.
DYNAMIC_MESSAGE = "Input shape is not supported: dynamic shape detected"
# Why a tensor has no size at any size of the inputs (``memory.unsized``), and what that says of the operator behind it.
_SIZED_BY = {
    "its shape depends on data: ": "sized by data only",
    "no shape rule is known for ": "not sized: no shape rule is known for it",
}


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """One strategy over a workload.

    Attributes:
        strategy: its name.
        builds: how many it holds at the end.
        start_up_us: time before the first request.
        served: requests served.
        refused: requests that no build was large enough for.
        hits: requests that waited for no compilation.
        stall_us: time of all compilations during the workload.
        run_us: time of all runs.
        padding: share of that time that exact sizes would not have needed.
        latency_us: from arrival to result, by percentile; None where nothing was served.
        pool_bytes: bytes of the pool.
    """

    strategy: str
    builds: int
    start_up_us: float
    served: int
    refused: int
    hits: int
    stall_us: float
    run_us: float
    padding: float
    latency_us: dict[int, float | None]
    pool_bytes: int


@dataclass(frozen=True, slots=True)
class DataDependent:
    """An operator whose result has a size that only the data say, or that nobody knows.

    Attributes:
        operator: type and name.
        tensors: how many tensors have no size because of it.
        why: which of the two, said of the tensors.
    """

    operator: str
    tensors: int
    why: str


def strategy_rows(timelines: Sequence[Timeline]) -> list[StrategyRow]:
    """One row a strategy."""
    return [
        StrategyRow(
            t.strategy,
            len(t.builds),
            t.start_up_us,
            t.served,
            sum(t.refused.values()),
            t.hits,
            float(t.stall_us.sum()),
            float(t.run_us.sum()),
            t.padding,
            {p: t.percentile_us(p) for p in PERCENTILES},
            t.pool_bytes,
        )
        for t in timelines
    ]


def build_rows(timeline: Timeline, free: FreeDims) -> list[dict[str, object]]:
    """The builds that a strategy holds: sizes, time of a run, pool, and how many requests ran at these sizes."""
    counts = Counter(timeline.ran_at)
    return [
        {
            "build": free.text(build.sizes),
            "run_us": build.run_us,
            "pool_bytes": build.pool_bytes,
            "requests": counts[build.sizes],
        }
        for build in timeline.builds
    ]


def timeline_rows(timeline: Timeline, free: FreeDims, workload: Workload) -> list[dict[str, object]]:
    """One row a request that was served, in order of arrival."""
    columns = zip(
        timeline.request.tolist(),
        timeline.arrival_us.tolist(),
        timeline.start_us.tolist(),
        timeline.stall_us.tolist(),
        timeline.run_us.tolist(),
        timeline.hit.tolist(),
        timeline.ran_at,
        strict=True,
    )
    return [
        {
            "request": number,
            "sizes": free.text(workload.requests[number].sizes),
            "ran_at": free.text(ran_at),
            "arrival_us": arrival,
            "start_us": start,
            "stall_us": stall,
            "run_us": run,
            "hit": hit,
        }
        for number, arrival, start, stall, run, hit, ran_at in columns
    ]


def gear_rows(choices: Sequence[GearChoice], free: FreeDims) -> list[dict[str, object]]:
    """The best sets of gears found, by how many there are."""
    return [
        {"gears": [free.text(sizes) for sizes in choice.gears], "run_us": choice.run_us, "optimal": choice.optimal}
        for choice in choices
    ]


def data_dependent(memory: Memory) -> list[DataDependent]:
    """Operators whose results no sizes of the inputs give a size, the one that most tensors owe theirs to first."""
    counts = Counter(
        (reason.removeprefix(begin), why)
        for reason in memory.program.unsized.values()
        for begin, why in _SIZED_BY.items()
        if reason.startswith(begin)
    )
    ranked = sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    return [DataDependent(operator, count, why) for (operator, why), count in ranked]


def too_large(found: Iterable[AtSizes]) -> list[AtSizes]:
    """The builds whose pool, weights, inputs and outputs do not lie in the chip's HBM together, the largest last."""
    over = [one for one in found if memory_bytes(one.memory) > one.chip.capacity.hbm_bytes]
    return sorted(over, key=lambda one: memory_bytes(one.memory))


def memory_bytes(memory: Memory) -> int:
    """Bytes of the pool and of what lies beside it: weights, inputs, outputs and state."""
    return memory.pool_bytes + memory.weight_bytes + memory.persistent_bytes
