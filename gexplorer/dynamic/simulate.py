"""A workload served by a strategy: who waits for what, and how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gexplorer.dynamic.at_sizes import Shaper
from gexplorer.dynamic.free import Sizes
from gexplorer.dynamic.strategies import Build, Strategy
from gexplorer.dynamic.workload import Workload


@dataclass(frozen=True)
class Timeline:
    """What came of serving a workload, one entry a request that was served.

    Attributes:
        strategy: its name.
        request: number of the request in the workload.
        arrival_us: when it came.
        start_us: when it was taken up: the device serves one request after the other.
        stall_us: time that a compilation took first.
        run_us: time of the run.
        exact_us: time of a static build for just its sizes: what padding and tiling cost is the difference.
        hit: whether nothing had to be compiled.
        ran_at: the sizes that ran.
        refused: sizes that no build could serve, with how often they came.
        start_up_us: time that the strategy took before the first request.
        builds: what it holds at the end, for its memory.
    """

    strategy: str
    request: NDArray[np.int64] = field(repr=False)
    arrival_us: NDArray[np.float64] = field(repr=False)
    start_us: NDArray[np.float64] = field(repr=False)
    stall_us: NDArray[np.float64] = field(repr=False)
    run_us: NDArray[np.float64] = field(repr=False)
    exact_us: NDArray[np.float64] = field(repr=False)
    hit: NDArray[np.bool_] = field(repr=False)
    ran_at: tuple[Sizes, ...] = field(repr=False)
    refused: dict[Sizes, int]
    start_up_us: float
    builds: list[Build] = field(repr=False)

    @property
    def served(self) -> int:
        """How many requests were served."""
        return self.arrival_us.size

    @property
    def hits(self) -> int:
        """How many of them needed no compilation."""
        return int(self.hit.sum())

    @cached_property
    def latency_us(self) -> NDArray[np.float64]:
        """From arrival to the end of the run."""
        return self.start_us + self.stall_us + self.run_us - self.arrival_us

    def percentile_us(self, percent: float) -> float | None:
        """Latency that so many percent of the requests stay within (nearest rank); None where none was served."""
        if not self.served:
            return None
        return float(np.percentile(self.latency_us, percent, method="inverted_cdf"))

    @property
    def padding(self) -> float:
        """Share of the run time that a build for the exact sizes would not have needed."""
        total = float(self.run_us.sum())
        return (total - float(self.exact_us.sum())) / total if total else 0.0

    @property
    def pool_bytes(self) -> int:
        """Bytes of the largest pool: builds are run one at a time and share it, as GE's gears do."""
        return max((build.pool_bytes for build in self.builds), default=0)


def simulate(workload: Workload, strategy: Strategy, shaper: Shaper) -> Timeline:
    """Serves the requests in order of arrival on one device.

    The start-up lies before the first request and delays nobody.
    """
    start_up_us = strategy.start()
    numbers: list[int] = []
    rows: list[tuple[float, float, float, float, float]] = []
    hits: list[bool] = []
    ran_at: list[Sizes] = []
    refused: dict[Sizes, int] = {}
    free_at = 0.0
    for number, request in enumerate(workload.requests):
        served = strategy.serve(request.sizes)
        if served is None:
            refused[request.sizes] = refused.get(request.sizes, 0) + 1
            continue
        start = max(free_at, request.arrival_us)
        free_at = start + served.stall_us + served.run_us
        numbers.append(number)
        exact_us = shaper.at(request.sizes).run_us
        rows.append((request.arrival_us, start, served.stall_us, served.run_us, exact_us))
        hits.append(served.hit)
        ran_at.append(served.ran_at)
    arrival_us, start_us, stall_us, run_us, exact_us = np.array(rows, np.float64).reshape(-1, 5).T
    return Timeline(
        strategy=strategy.name,
        request=np.array(numbers, np.int64),
        arrival_us=arrival_us,
        start_us=start_us,
        stall_us=stall_us,
        run_us=run_us,
        exact_us=exact_us,
        hit=np.array(hits, np.bool_),
        ran_at=tuple(ran_at),
        refused=refused,
        start_up_us=start_up_us,
        builds=strategy.builds(),
    )
