"""Repeated blocks in a sequence: stretches that are one pattern several times over, found by their period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.layout.placement import Ints

_WINDOW = 4
_ROUNDS = 12
_CANDIDATES = 6


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a sequence that is one block several times over.

    Attributes:
        start: where it begins.
        period: length of the block.
        count: how many whole blocks.
    """

    start: int
    period: int
    count: int


def repeated_runs(codes: Sequence[int], least: int = 2) -> list[Run]:
    """The runs of repeated blocks in a sequence, ascending, not overlapping; the longest is taken first.

    A block of one element is no block unless it repeats at least four times. O(N log N): periods are tried by how
    often a short window comes again at that distance, few of them, a few times over.

    Args:
        codes: equal numbers stand for equal elements.
        least: blocks shorter than this are not looked for.
    """
    everything = np.asarray(codes, dtype=np.int64)
    waiting = [(0, len(everything))]
    found: list[Run] = []
    for _ in range(_ROUNDS):
        following: list[tuple[int, int]] = []
        for start, end in waiting:
            run = _longest_run(everything[start:end], least) if end - start >= 2 * least else None
            if run is not None:
                last = start + run.start + run.period * run.count
                found.append(Run(start + run.start, run.period, run.count))
                following += [(start, start + run.start), (last, end)]
        waiting = following
        if not waiting:
            break
    return sorted(found, key=lambda run: run.start)


def _longest_run(codes: Ints, least: int) -> Run | None:
    best: Run | None = None
    for period in _periods(codes, least):
        same = codes[period:] == codes[:-period]
        edges = np.flatnonzero(np.diff(same, prepend=False, append=False))
        if not len(edges):
            continue
        starts, ends = edges[::2], edges[1::2]
        longest = int(np.argmax(ends - starts))
        count = (int(ends[longest] - starts[longest]) + period) // period
        if count < (2 if period > 1 else 4):
            continue
        run = Run(int(starts[longest]), period, count)
        # Twice the period covers the same or less: the shorter one wins unless the longer covers clearly more.
        if best is None or run.period * run.count > best.period * best.count * 1.1:
            best = run
    return best


def _periods(codes: Ints, least: int) -> list[int]:
    """Distances at which a window most often comes again, short ones first among equals."""
    window = min(_WINDOW, max(len(codes) // 2, 1))
    views = np.lib.stride_tricks.sliding_window_view(codes, window)
    same = np.unique(views, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(same, kind="stable")
    again = same[order][1:] == same[order][:-1]
    distance = (order[1:] - order[:-1])[again]
    distance = distance[distance >= least]
    if not len(distance):
        return []
    periods, counts = np.unique(distance, return_counts=True)
    likely = np.argsort(-(counts * periods) * (counts > 0), kind="stable")[:_CANDIDATES]
    often = np.argsort(-counts, kind="stable")[:_CANDIDATES]
    return sorted({int(periods[one]) for one in (*likely, *often)})
