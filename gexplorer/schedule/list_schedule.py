"""List scheduling: whenever a stream is free, the kernel with the longest way to the end starts on it.

Graham's bound: the makespan is at most (2 - 1/N) times the shortest possible on N streams.
Source: R. L. Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math. 17 (1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from gexplorer.schedule.dependencies import Dependencies


def list_schedule(edges: Dependencies, durations_ps: Sequence[int], streams: int) -> tuple[list[int], list[int]]:
    """Stream of each kernel, and the kernels by start. O((k + e) log k + k * streams).

    Of two kernels with equally long ways the one that is earlier in execution order starts first. Of several free
    streams it takes that of the last kernel that it waited for, which needs no event; else the lowest.

    Args:
        edges: what must come before what.
        durations_ps: [k] how long each kernel runs.
        streams: how many there are.
    """
    tail = tails(edges, durations_ps)
    count = len(tail)
    stream, order, waiting = [-1] * count, list[int](), [len(sources) for sources in edges.waits_for]
    ready = [(-tail[kernel], kernel) for kernel in range(count) if not waiting[kernel]]
    ready.sort()
    running: list[tuple[int, int]] = []  # end, kernel
    free = list(range(streams))  # a heap
    released = [-1] * count  # the last kernel that each one waited for
    now = 0
    while ready or running:
        while ready and free:
            kernel = heappop(ready)[1]
            wanted = stream[released[kernel]] if released[kernel] >= 0 else -1
            if wanted in free:
                free.remove(wanted)
                free.sort()
                stream[kernel] = wanted
            else:
                stream[kernel] = heappop(free)
            order.append(kernel)
            heappush(running, (now + durations_ps[kernel], kernel))
        now = running[0][0]
        while running and running[0][0] == now:
            done = heappop(running)[1]
            heappush(free, stream[done])
            for follower in edges.followers[done]:
                waiting[follower] -= 1
                released[follower] = done
                if not waiting[follower]:
                    heappush(ready, (-tail[follower], follower))
    return stream, order


def heads(edges: Dependencies, durations_ps: Sequence[int]) -> list[int]:
    """[k] the longest path that must be over before each kernel starts."""
    found: list[int] = []
    for sources in edges.waits_for:
        found.append(max((found[source] + durations_ps[source] for source in sources), default=0))
    return found


def tails(edges: Dependencies, durations_ps: Sequence[int]) -> list[int]:
    """[k] the longest path from the start of each kernel to the end, itself included."""
    found = list(durations_ps)
    for kernel in range(len(found) - 1, -1, -1):
        found[kernel] += max((found[follower] for follower in edges.followers[kernel]), default=0)
    return found


def longest_path(edges: Dependencies, durations_ps: Sequence[int]) -> list[int]:
    """The kernels on the longest path, in order: the earliest of several in execution order; empty for no kernels.

    With streams without end, that is how long it takes.
    """
    tail = tails(edges, durations_ps)
    path: list[int] = []
    candidates: Sequence[int] = range(len(tail))
    while candidates:
        kernel = max(candidates, key=lambda one: (tail[one], -one))
        path.append(kernel)
        candidates = edges.followers[kernel]
    return path
