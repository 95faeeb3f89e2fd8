"""What one kernel costs: time by pipe, the pipe that bounds it, launch, waves; arrays over tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from gexplorer.cost.tile import Floats, Ints, read_only

Pipe = Literal["cube", "vector", "mte1", "mte2", "mte3", "fixpipe", "hbm"]


@dataclass(frozen=True, slots=True)
class KernelCost:
    """Cost of one kernel, or of one for each of T tiles; all arrays of shape [T].

    Attributes:
        total_us: from launch to end.
        launch_us: the launch, alone.
        pipes: time that the busiest core's pipe works: cube, vector, mte1 (L1 to L0), mte2 (memory to L1 or UB),
            mte3 (UB to memory), fixpipe (L0C to memory); ``hbm`` is the memory's time for all cores.
        hbm_bytes: bytes to and from HBM.
        l2_bytes: bytes between L2 and the cores.
        l1_bytes: bytes into L1, of all cores; as many go on to L0A and L0B.
        ub_bytes: bytes into UB and out of it, of all cores.
        compulsory_bytes: what any implementation moves.
        waves: blocks that the busiest core computes, one after the other.
        tail_idle: share of the cores' time that the last wave leaves idle.
    """

    total_us: Floats
    launch_us: float
    pipes: Mapping[Pipe, Floats]
    hbm_bytes: Floats
    l2_bytes: Floats
    l1_bytes: Floats
    ub_bytes: Floats
    compulsory_bytes: float
    waves: Ints
    tail_idle: Floats

    def __post_init__(self) -> None:
        for name in ("total_us", "hbm_bytes", "l2_bytes", "l1_bytes", "ub_bytes", "waves", "tail_idle"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        pipes = {name: read_only(us) for name, us in self.pipes.items()}
        object.__setattr__(self, "pipes", MappingProxyType(pipes))

    @property
    def bound(self) -> tuple[Pipe | Literal["launch"], ...]:
        """For each tile the pipe that works longest, or ``launch`` where that is more than any pipe's work."""
        names = (*self.pipes, "launch")
        times = np.stack([*self.pipes.values(), np.full_like(self.total_us, self.launch_us)])
        return tuple(names[index] for index in times.argmax(axis=0))

    def ratio(self, pipe: Pipe) -> Floats:
        """Share of the kernel's time in which a pipe works, [T]; between 0 and 1."""
        return self.pipes[pipe] / self.total_us

    @property
    def best(self) -> int:
        """Index of the fastest tile."""
        return int(self.total_us.argmin())
