"""What an exhibit is: a kind of bug that can be put into any sound plan that has room for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from gexplorer.memory.findings import Finding
from gexplorer.memory.museum.plans import PlacedBuffers, PlacedTensors


@dataclass(frozen=True, eq=False)
class Spoilt:
    """A plan with a bug in it.

    Attributes:
        plan: the plan.
        rows: the buffers or tensors at fault: what was there, then what took its place; or the one alone.
    """

    plan: PlacedBuffers | PlacedTensors
    rows: tuple[int, ...]


class Exhibit(ABC):
    """One kind of bug. A subclass in a file of ``bugs`` is found by itself; its docstring says what goes wrong.

    Attributes:
        name: snake_case, unique.
        issues: addresses of reports of the real bug, or of its closest relative.
        code: the finding that must name it.
    """

    name: ClassVar[str]
    issues: ClassVar[tuple[str, ...]]
    code: ClassVar[str]

    @abstractmethod
    def example(self) -> PlacedBuffers | PlacedTensors:
        """A small sound plan with room for the bug."""

    @abstractmethod
    def spoil(self, plan: PlacedBuffers | PlacedTensors) -> Spoilt | None:
        """The plan with the bug at the first place that has room for it, None where there is none.

        Looks at pairs until it finds a place: O(n^2) at worst.
        """

    def caught(self, spoilt: Spoilt) -> Finding | None:
        """The finding that names the bug: its code, and exactly the rows at fault; None if it got away."""
        for finding in spoilt.plan.verify(limit=1_000_000):
            if finding.code == self.code and finding.rows == spoilt.rows:
                return finding
        return None

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what goes wrong."""
        return (cls.__doc__ or "").strip().partition("\n")[0]


class BufferBug(Exhibit):
    """A bug of a planner that sees buffers with lifetimes, not tensors."""

    @abstractmethod
    def example(self) -> PlacedBuffers:
        """As in ``Exhibit``."""

    @abstractmethod
    def spoil_buffers(self, plan: PlacedBuffers) -> Spoilt | None:
        """As ``spoil``."""

    def spoil(self, plan: PlacedBuffers | PlacedTensors) -> Spoilt | None:
        """As in ``Exhibit``; None for a plan of the other sort."""
        return self.spoil_buffers(plan) if isinstance(plan, PlacedBuffers) else None


class TensorBug(Exhibit):
    """A bug in what may lie where, which only the program's columns can show."""

    @abstractmethod
    def example(self) -> PlacedTensors:
        """As in ``Exhibit``."""

    @abstractmethod
    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """As ``spoil``."""

    def spoil(self, plan: PlacedBuffers | PlacedTensors) -> Spoilt | None:
        """As in ``Exhibit``; None for a plan of the other sort."""
        return self.spoil_tensors(plan) if isinstance(plan, PlacedTensors) else None
