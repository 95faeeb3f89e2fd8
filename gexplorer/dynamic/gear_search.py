"""Which gears would serve a workload best: the fewest microseconds of running for so many gears."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.dynamic.at_sizes import Shaper
from gexplorer.dynamic.free import Sizes
from gexplorer.dynamic.strategies import holds
from gexplorer.dynamic.workload import Workload
from gexplorer.errors import OptionError

# Sizes that are tried as gears when several dimensions are free; each one is priced.
MAX_CANDIDATES = 400


@dataclass(frozen=True, slots=True)
class GearChoice:
    """The best gears found.

    Attributes:
        gears: their sizes, the smallest first.
        run_us: time of all runs of the workload, padded to them.
        optimal: True where no other set of so many gears is faster: by dynamic programming over one dimension along
            which time grows.
    """

    gears: tuple[Sizes, ...]
    run_us: float
    optimal: bool


def best_gears(workload: Workload, shaper: Shaper, count: int) -> list[GearChoice]:
    """The best sets of 1, 2, ... ``count`` gears that serve every request.

    With one free dimension: dynamic programming over the sorted sizes. Where time grows with size it is exact, as every
    gear of a best set is then a size that was asked for. With several: gears are added one
    by one, each the one that saves most, among the sizes asked for and those that hold all requests up to one of them.

    Raises:
        OptionError: ``count`` is below 1.
    """
    if count < 1:
        raise OptionError(f"gears: at least 1 is wanted, not {count}")
    asked = workload.distinct
    if len(shaper.free.names) == 1:
        return _by_programming(asked, shaper, min(count, len(asked)))
    return _one_by_one(asked, shaper, count)


def _by_programming(asked: dict[Sizes, int], shaper: Shaper, count: int) -> list[GearChoice]:
    sizes = sorted(asked)
    run_us = np.array([shaper.at(s).run_us for s in sizes])
    before = np.concatenate([[0], np.cumsum([asked[s] for s in sizes])])
    n = len(sizes)
    # best[j]: time of the first j sizes with the gears so far, the largest gear being sizes[j - 1].
    best = np.concatenate([[0.0], before[1:] * run_us])
    start = np.zeros((count, n + 1), np.int64)
    grows = bool((np.diff(run_us) >= 0).all())
    choices: list[GearChoice] = []
    for gears in range(count):
        if gears:
            now = np.full(n + 1, np.inf)
            for j in range(gears + 1, n + 1):
                times = best[gears:j] + (before[j] - before[gears:j]) * run_us[j - 1]
                at = int(times.argmin())
                now[j], start[gears, j] = times[at], at + gears
            best = now
        chosen: list[Sizes] = []
        j = n
        for level in range(gears, -1, -1):
            chosen.append(sizes[j - 1])
            j = int(start[level, j])
        choices.append(GearChoice(tuple(reversed(chosen)), float(best[n]), grows))
    return choices


def _one_by_one(asked: dict[Sizes, int], shaper: Shaper, count: int) -> list[GearChoice]:
    requests = list(asked)
    counts = np.array([asked[s] for s in requests], np.float64)
    largest = tuple(max(column) for column in zip(*requests, strict=True)) if requests[0] else ()
    candidates = [c for c in _candidates(asked, largest) if c != largest]
    time_of = np.full((len(candidates), len(requests)), np.inf)
    for row, candidate in enumerate(candidates):
        inside = np.array([holds(candidate, request) for request in requests])
        time_of[row, inside] = shaper.at(candidate).run_us
    gears = [largest]
    times = np.full(len(requests), shaper.at(largest).run_us)
    choices = [GearChoice((largest,), float(times @ counts), not candidates)]
    while len(gears) < count and candidates:
        totals = np.minimum(time_of, times) @ counts
        at = int(totals.argmin())
        if totals[at] >= times @ counts:
            break
        gears.append(candidates[at])
        times = np.minimum(times, time_of[at])
        choices.append(GearChoice(tuple(sorted(gears)), float(totals[at]), False))
    return choices


def _candidates(asked: dict[Sizes, int], largest: Sizes) -> list[Sizes]:
    """Sizes asked for, the most frequent first, and each with one dimension at its largest."""
    frequent = sorted(asked, key=lambda s: (-asked[s], s))
    found: dict[Sizes, None] = {}
    for sizes in frequent:
        found[sizes] = None
        for axis in range(len(sizes)):
            found[(*sizes[:axis], largest[axis], *sizes[axis + 1 :])] = None
        if len(found) >= MAX_CANDIDATES:
            break
    return list(found)[:MAX_CANDIDATES]
