"""The cost of what the vector unit does, and of moves that compute nothing."""

from __future__ import annotations

import math

import numpy as np

from gexplorer.cost.kernel import KernelCost, Pipe
from gexplorer.cost.residency import lost
from gexplorer.cost.work import Instructions, Move, Vector
from gexplorer.hardware.spec import Chip

# DMA moves whole blocks; shorter runs pay for a block each. Source: UB blocks of 32 bytes (the ini files), and
# full rate only from 512 bytes on (CATLASS's advice to align rows to 512 bytes).
SHORTEST_RUN_BYTES = 32
FULL_RATE_RUN_BYTES = 512


def vector_cost(work: Vector, chip: Chip, resident_bytes: float | None = None) -> KernelCost:
    """Cost of a vector kernel; arrays of shape [1].

    Args:
        work: what is to be done.
        chip: the chip.
        resident_bytes: bytes of its inputs and outputs that L2 holds; None for what it holds right behind the kernel
            that made them: all if they fit its usable part, less and less of them beyond.

    Rows go to cores one by one; elements by themselves are dealt out evenly. In a core, reading, computing and
    writing overlap, for UB holds two tiles of everything. What all rows share is read by every core that has some;
    the first fetches it from HBM, the others find it in L2.
    """
    again_bytes = 0.0
    if work.row_wise:
        most = -(-work.rows // chip.vector_cores) / work.rows
        rows = work.rows * most
        again_bytes = (min(work.rows, chip.vector_cores) - 1) * work.shared_bytes
    else:
        most = max(1 / chip.vector_cores, min(1.0, SHORTEST_RUN_BYTES / max(work.compulsory_bytes, 1)))
        rows = 1
    cycles = work.elements * most * work.element_bytes * passes(work.instructions, chip) / chip.vector.bytes_per_cycle
    if work.row_wise:
        cycles += rows * chip.vector.row_cycles
    return _streamed(work, chip, most, cycles / chip.cycles_per_us, resident_bytes, again_bytes=again_bytes)


def move_cost(work: Move, chip: Chip, resident_bytes: float | None = None) -> KernelCost:
    """Cost of a kernel that only moves data. Arguments as for ``vector_cost``; short runs lower the rate."""
    return _streamed(work, chip, 1 / chip.vector_cores, 0.0, resident_bytes, run_slowdown(work.run_bytes))


def passes(instructions: Instructions, chip: Chip) -> float:
    """Time of an element's instructions in simple ones."""
    unit = chip.vector
    return (
        instructions.simple
        + instructions.exp * unit.exp_passes
        + instructions.divide * unit.divide_passes
        + instructions.reduce * unit.reduce_passes
    )


def run_slowdown(run_bytes: float) -> float:
    """How many times longer a transfer takes whose pieces are so short."""
    moved = math.ceil(run_bytes / SHORTEST_RUN_BYTES) * SHORTEST_RUN_BYTES
    return moved / run_bytes * max(1.0, FULL_RATE_RUN_BYTES / moved)


def _streamed(
    work: Vector | Move,
    chip: Chip,
    most: float,
    vector_us: float,
    resident_bytes: float | None,
    slowdown: float = 1.0,
    again_bytes: float = 0.0,
) -> KernelCost:
    """A kernel that streams its data through UB; the busiest core has the share ``most`` of it.

    ``again_bytes`` are read from L2 besides, by cores that share what they read.
    """
    compulsory = work.compulsory_bytes
    if resident_bytes is None:
        gone = lost(np.array([compulsory]), chip.l2_usable * chip.capacity.l2_bytes)
        resident_bytes = compulsory * (1 - float(gone[0]))
    hbm_bytes = max(compulsory - resident_bytes, 0.0)
    hbm_us = hbm_bytes / chip.hbm.achieved_bytes_per_us
    read, write = chip.paths["gm->ub"], chip.paths["ub->gm"]
    pipes: dict[Pipe, float] = {
        "vector": vector_us,
        "mte2": work.read_bytes * most * slowdown / read.bytes_per_us,
        "mte3": work.write_bytes * most * slowdown / write.bytes_per_us,
    }
    tiles = max(1.0, math.ceil(compulsory * most / (chip.capacity.ub_bytes / 2)))
    slowest = max(pipes.values())
    body = slowest + (sum(pipes.values()) - slowest) / tiles + read.startup_us + write.startup_us
    pipes["hbm"] = hbm_us
    launch = chip.launch.vector_us
    return KernelCost(
        total_us=np.array([launch + max(body, hbm_us)]),
        launch_us=launch,
        pipes={name: np.array([us]) for name, us in pipes.items()},
        hbm_bytes=np.array([hbm_bytes]),
        l2_bytes=np.array([compulsory + again_bytes]),
        l1_bytes=np.array([0.0]),
        ub_bytes=np.array([compulsory + again_bytes]),
        compulsory_bytes=compulsory,
        waves=np.array([1]),
        tail_idle=np.array([0.0]),
    )
