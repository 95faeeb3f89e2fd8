"""What a kind of kernel has to say about itself to become tile programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from gexplorer.hardware.spec import Chip
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.landscape import Landscape
from gexplorer.kernels.part import Part
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# The unit that does what plays a role; generators say where a chip does otherwise.
_UNITS: dict[Role, str] = {
    "product": "cube",
    "table": "vector",
    "behind": "vector",
    "before": "vector",
    "vector": "vector",
    "move": "mte2",
    "turned": "mte1",
    "address": "none",
}


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """A tile, and what was seen on the way to it.

    Attributes:
        tile: how a kernel is cut; None where no tile fits.
        landscape: of a product all tiles seen; None for other kernels.
        evaluations: tiles whose cost was computed, where there is no landscape that says so.
    """

    tile: T | None
    landscape: Landscape | None = None
    evaluations: int = 0


class Generator(ABC, Generic[K, T]):
    """One kind of kernel: reads it off a node, cuts it, writes its program, and knows the bytes of that.

    Attributes:
        name: of the kind, for people.
        order: generators are asked in this order.
        kernel: the class of its descriptions, frozen and hashable: equal ones are searched and written once.
        tile: the class of its tiles.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    kernel: ClassVar[type]
    tile: ClassVar[type]

    @abstractmethod
    def describe(self, part: Part) -> Described | Refusal | None:
        """What the operators of a part compute.

        Returns:
            None where they are no kernel of this kind, so that others are asked; a Refusal where they are, but hold
            something that there is no program for.
        """

    @abstractmethod
    def choose(self, kernel: K, searches: Searches) -> Chosen[T]:
        """The tile. Raises OptionError with the reason where none can fit."""

    @abstractmethod
    def program(self, kernel: K, tile: T, chip: Chip, name: str) -> Program:
        """The program of a kernel cut in a given way. Raises OptionError for a tile that cannot be."""

    @abstractmethod
    def traffic(self, kernel: K, tile: T, chip: Chip) -> dict[str, int]:
        """Bytes by path of that program, all cores together, in closed form: what counting gives, to the byte."""

    @abstractmethod
    def text(self, kernel: K) -> str:
        """What is computed, in one line."""

    @abstractmethod
    def tile_text(self, tile: T) -> str:
        """How it is cut, in a few characters."""

    def unit(self, role: Role, kernel: K, tile: T, chip: Chip) -> str:
        """Who does what plays a role: ``cube``, ``vector``, a pipe, or ``none``."""
        return _UNITS[role]


AnyGenerator = Generator[Any, Any]
