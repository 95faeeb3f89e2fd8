"""What a planner is, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gexplorer.memory.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard a planner may try; counted in work, not in seconds, so that the same input gives the same plan.

    Attributes:
        search_nodes: nodes that a search may visit in all; 0 for none.
    """

    search_nodes: int = 0


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a planner puts the buffers.

    Attributes:
        offsets: [n] int64, bytes from the start of the pool.
        pool_bytes: the pool that the planner believes it needs; the verifier checks it.
        proved_bound_bytes: a bound that the planner proved besides the max live load, 0 where it proved none.
        search_nodes: nodes that a search visited, 0 where there was none.
        note: what a reader should know about how it came about, "" for nothing.
    """

    offsets: NDArray[np.int64]
    pool_bytes: int
    proved_bound_bytes: int = 0
    search_nodes: int = 0
    note: str = ""

    def __repr__(self) -> str:
        return f"Placement({len(self.offsets)} buffers, pool_bytes={self.pool_bytes}, note={self.note!r})"


class Planner(ABC):
    """One way to place buffers. A subclass in a file of this package is found by itself.

    Planners are deterministic, ties included: each docstring says how they are broken.

    Attributes:
        name: snake_case, unique.
        ge_name: what the real GE calls it, None where it has no such thing.
        order: place in lists.
        handles_constraints: whether it honours pinned offsets and pairs kept apart.
        is_safe: False for one that is known to give wrong plans; it only runs when named.
        cost: how its time grows, for people: n buffers, k pairs alive together.
    """

    name: ClassVar[str]
    ge_name: ClassVar[str | None] = None
    order: ClassVar[int]
    handles_constraints: ClassVar[bool] = False
    is_safe: ClassVar[bool] = True
    cost: ClassVar[str]

    @abstractmethod
    def place(self, problem: Problem, effort: Effort) -> Placement:
        """Places every buffer.

        Raises:
            Declined: this planner cannot do this problem, with the reason.
        """

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what it does."""
        return (cls.__doc__ or "").strip().partition("\n")[0]


class Declined(Exception):  # noqa: N818 (nothing went wrong)
    """A planner says that it cannot do a problem; the message is a sentence without a full stop."""


def placement(problem: Problem, offsets: NDArray[np.int64], **more: object) -> Placement:
    """A placement with the smallest pool that holds it."""
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    offsets.flags.writeable = False
    pool = int((offsets + problem.size_bytes).max()) if len(offsets) else 0
    return Placement(offsets, pool, **more)  # pyright: ignore[reportArgumentType]
