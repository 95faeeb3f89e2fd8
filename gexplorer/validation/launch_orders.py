"""Orders in which streams may run their kernels: what one launches late, another may be done with long before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from gexplorer.execution.program import Instruction, Program

if TYPE_CHECKING:
    from gexplorer.schedule.stage import Schedule


def launch_orders(program: Program, schedule: Schedule) -> Iterator[tuple[Instruction, ...]]:
    """The order of launching, then for each stream the one in which it runs ahead of all others as far as it can.

    O(streams x K log K).

    A race needs one stream to be early and another to be late. Each order is the extreme for one stream; with two
    streams that is every race between them that a single hand-over can have.

    Args:
        program: the program of the schedule's plan.
        schedule: streams and events.
    """
    streams = schedule.assigned.stream.tolist()
    count = len(streams)
    followers: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    last_of: dict[int, int] = {}
    launched = schedule.assigned.order.tolist()
    for kernel in launched:
        earlier = last_of.get(streams[kernel])
        if earlier is not None:
            followers[earlier].append(kernel)
            waiting[kernel] += 1
        last_of[streams[kernel]] = kernel
    for source, target in zip(schedule.syncs.source.tolist(), schedule.syncs.target.tolist(), strict=True):
        followers[source].append(target)
        waiting[target] += 1
    yield _with_names(program, schedule, launched)
    for first in sorted(last_of):
        yield _with_names(program, schedule, _ahead(first, streams, launched, followers, waiting))


def _ahead(
    first: int,
    streams: Sequence[int],
    launched: Sequence[int],
    followers: Sequence[Sequence[int]],
    waits: Sequence[int],
) -> list[int]:
    """The kernels in an order in which one stream comes before all others whenever it can."""
    place = {kernel: number for number, kernel in enumerate(launched)}
    waiting = list(waits)
    ready = [(streams[k] != first, place[k], k) for k in launched if not waiting[k]]
    heapify(ready)
    order: list[int] = []
    while ready:
        kernel = heappop(ready)[2]
        order.append(kernel)
        for follower in followers[kernel]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, (streams[follower] != first, place[follower], follower))
    return order


def _with_names(program: Program, schedule: Schedule, order: Sequence[int]) -> tuple[Instruction, ...]:
    """The instructions of kernels in an order; those that launch nothing just before who reads their results."""
    by_name = {instruction.name: instruction for instruction in program.instructions}
    kernels = schedule.kernels.names
    maker = {output: i for i in program.instructions for output in i.outputs}
    launched = frozenset(kernels)
    done: dict[str, Instruction] = {}

    def put(instruction: Instruction) -> None:
        stack = [(instruction, False)]
        while stack:
            one, is_open = stack.pop()
            if one.name in done:
                continue
            if is_open:
                done[one.name] = one
                continue
            stack.append((one, True))
            makers = (maker[name] for name in one.inputs if name in maker)
            stack += [(made, False) for made in makers if made.name not in launched and made.name not in done]

    for kernel in order:
        put(by_name[kernels[kernel]])
    for instruction in program.instructions:  # names that nobody reads
        put(instruction)
    return tuple(done.values())
