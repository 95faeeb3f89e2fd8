"""What one node of a graph asks of the chip: one kernel in stages, a trip to the host, nothing, or nobody can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gexplorer.cost.work import Attention, Gemm, Move, Vector

Family = Literal["gemm", "conv", "flash_attention", "vector", "move", "host"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a kernel that begins when the part before it has ended, with the vector work that rides on it.

    Attributes:
        main: what gives the stage its time.
        before: vector work that makes the left operand of a product, such as a normalisation; None for none.
        behind: vector work on what a product makes; None for none.
        on_the_way: true where all of ``behind`` is what a split cube core does while it stores: a bias row, relu,
            one factor, a cast.
        times: how often it runs, one run waiting for the other (a recurrent cell); else 1.
        name: operator that it comes from.
    """

    main: Gemm | Attention | Vector | Move
    before: Vector | None = None
    behind: Vector | None = None
    on_the_way: bool = False
    times: int = 1
    name: str = ""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """One kernel. Equal works cost the same on a chip, so this is what a cost is kept under.

    Attributes:
        stages: its parts, in order; at least one.
        family: what kind of kernel it is, by its costliest unit; the errors of the model are known by family.
        border_bytes: what crosses its border: every distinct input once, every output once.
        between_bytes: for each stage but the last, what it hands to later ones and nobody outside reads.
        flops: operations, as ``ops/work.py`` counts them; None where that is not known.
        note: what was assumed, as a sentence; "" where nothing was.
    """

    stages: tuple[Stage, ...]
    family: Family
    border_bytes: float
    between_bytes: tuple[float, ...] = ()
    flops: int | None = 0
    note: str = ""

    @property
    def products(self) -> int:
        """Stages on the cube unit."""
        return sum(isinstance(stage.main, Gemm | Attention) for stage in self.stages)


@dataclass(frozen=True, slots=True)
class HostWork:
    """An operator that runs on the host: its tensors go there and back.

    Attributes:
        to_host_bytes: its inputs.
        to_chip_bytes: its outputs.
        reason: why it runs there.
    """

    to_host_bytes: float
    to_chip_bytes: float
    reason: str


@dataclass(frozen=True, slots=True)
class Uncosted:
    """A node whose cost nobody can tell.

    Attributes:
        reason: why, as a sentence without a full stop.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class NoKernel:
    """A node that launches nothing: a view, a question about a shape, a constant."""


NodeWork = KernelWork | HostWork | Uncosted | NoKernel


class CannotTell(Exception):  # noqa: N818 - not an error: it ends in an Uncosted
    """Raised on the way to a work, with the reason why there is none."""
