"""Programs whose memory plan was spoilt by a bug of the museum: they run, in the bytes that the bug gave them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gexplorer.execution.lower import lower
from gexplorer.execution.program import PLACES, Place, Program
from gexplorer.memory.museum import Exhibit, PlacedBuffers, PlacedTensors, Spoilt
from gexplorer.memory.program import Kind
from gexplorer.memory.stage import Memory
from gexplorer.schedule.proof import scheduled_program
from gexplorer.schedule.stage import Schedule


def placed(memory: Memory, schedule: Schedule | None = None) -> tuple[PlacedTensors, PlacedBuffers]:
    """A sound plan as the museum takes it, both ways."""
    live, problem = memory.liveness, memory.plan.problem
    program = memory.program
    if schedule is not None and schedule.streams > 1:
        program = scheduled_program(memory, schedule.kernels, schedule.assigned, schedule.syncs)
    tensors = PlacedTensors(program, live.buffer, live.offset_bytes, memory.addresses, live.size_bytes)
    return tensors, PlacedBuffers(problem, memory.plan.placement.offsets, memory.pool_bytes)


def spoil(exhibit: Exhibit, memory: Memory, schedule: Schedule | None = None) -> Spoilt | None:
    """The plan with the bug in it, None where it has no room for it."""
    return next((s for plan in placed(memory, schedule) if (s := exhibit.spoil(plan)) is not None), None)


def spoilt_program(memory: Memory, spoilt: Spoilt) -> Program:
    """The program in the spoilt plan: what is spared stays spared, as the one who made the bug believed.

    A buffer lives as long as the longest of what the bug puts into it. What the caller owns has the size that he knows.
    """
    sound = lower(memory)
    if isinstance(spoilt.plan, PlacedBuffers):
        offsets = sound.buffers.offset_bytes.copy()
        offsets[memory.pool_buffers] = spoilt.plan.offsets
        buffers = replace(sound.buffers, offset_bytes=offsets)
        return replace(sound, buffers=buffers, pool_bytes=max(sound.pool_bytes, _end(buffers)))
    plan, live = spoilt.plan, memory.liveness
    more = len(plan.address) - len(sound.buffers)
    kind = np.append(sound.buffers.kind, [int(Kind.INTERMEDIATE)] * more).astype(np.int64)
    in_pool = kind >= Kind.INTERMEDIATE
    last = np.append(sound.buffers.last, [0] * more).astype(np.int64)
    held = plan.buffer >= 0
    np.maximum.at(last, plan.buffer[held], live.last_read[held])
    size = plan.size.copy()
    for buffer in np.flatnonzero(~in_pool).tolist():
        size[buffer] = sound.buffers.size_bytes[buffer]
    address = plan.address.copy()
    if not np.array_equal(plan.program.size_bytes, memory.program.size_bytes):
        _place_anew(memory, plan, in_pool, size, address)
    # what the museum put behind everything, such as the twin of a view, lies behind the pool
    address = np.where(in_pool, address, -1)
    buffers = replace(
        sound.buffers,
        names=(*sound.buffers.names, *(f"twin {i}" for i in range(more))),
        kind=kind,
        first=np.append(sound.buffers.first, [0] * more).astype(np.int64),
        last=last,
        size_bytes=size,
        offset_bytes=address,
    )
    index = {name: number for number, name in enumerate(memory.program.tensors)}
    tensors = {}
    for name, tensor in sound.tensors.items():
        if tensor.place is not Place.OUTSIDE and (row := index[name]) >= 0 and plan.buffer[row] >= 0:
            buffer = int(plan.buffer[row])
            place = PLACES[Kind(int(kind[buffer]))]
            tensor = replace(tensor, place=place, buffer=buffer, offset_bytes=int(plan.offset[row]))
        tensors[name] = tensor
    return replace(sound, tensors=tensors, buffers=buffers, pool_bytes=max(sound.pool_bytes, _end(buffers)))


def _place_anew(memory, plan, in_pool, size, address) -> None:
    """One buffer behind the other, by the sizes that the bug believes in."""
    policy, end = memory.liveness.policy, 0
    for buffer in np.flatnonzero(in_pool).tolist():
        owner = int(memory.liveness.owner[buffer])
        size[buffer] = policy.aligned_bytes(plan.program.size_bytes[owner : owner + 1])[0]
        address[buffer] = end
        end += int(size[buffer])


def _end(buffers) -> int:
    rows = buffers.in_pool
    return int((buffers.offset_bytes[rows] + buffers.size_bytes[rows]).max(initial=0))
