"""A generated kernel: its tile program, and what can be asked of it once somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gexplorer.display import Displayed
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.described import Described
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile
from gexplorer.kernels.interpreter import Run, Step, capacities, run, steps
from gexplorer.kernels.landscape import Landscape
from gexplorer.kernels.program import Level, Program
from gexplorer.kernels.registry import generator_of
from gexplorer.kernels.tiling import search


@dataclass(frozen=True, slots=True)
class Occupied:
    """What a program's buffers take of one level of a core.

    Attributes:
        level: the level.
        used_bytes: all copies of all buffers.
        capacity_bytes: what the chip has.
    """

    level: Level
    used_bytes: int
    capacity_bytes: int

    @property
    def share(self) -> float:
        """1 where the level is full."""
        return self.used_bytes / self.capacity_bytes


@dataclass(frozen=True, eq=False)
class Generated(Displayed):
    """A kernel with a program.

    Attributes:
        described: what it computes, and the values that its buffers hold.
        tile: how it is cut.
        program: the program.
        chip: the chip that it is made for.
        found: what the search for its tile has seen; None for a kernel without a product.
        tried: tiles whose cost was computed where ``found`` is None.
    """

    described: Described
    tile: object
    program: Program
    chip: Chip
    found: Landscape | None = None
    tried: int = 0

    def __repr__(self) -> str:
        return f"Generated({self.text!r}, tile {self.tile_text}, {self.program.blocks:,} blocks)"

    @property
    def evaluations(self) -> int:
        """Tiles whose cost was computed on the way."""
        return self.found.evaluations if self.found is not None else self.tried

    @cached_property
    def landscape(self) -> Landscape | None:
        """Every tile of a product with its time, searched when first asked for; None for other kernels.

        The tile marked as chosen is the one that the program has, whatever the whole search would choose.
        """
        kernel, tile = self.described.kernel, self.tile
        if not isinstance(kernel, GemmKernel) or not isinstance(tile, GemmTile):
            return None
        return search(kernel, self.chip, "exhaustive").choosing(tile)

    @cached_property
    def occupied(self) -> tuple[Occupied, ...]:
        """The levels of a core that it uses, and how much of them."""
        found: list[Occupied] = []
        for level, capacity in capacities(self.chip).items():
            used = sum(buffer.total_bytes for buffer in self.program.buffers if buffer.level == level)
            if used:
                found.append(Occupied(level, used, capacity))
        return tuple(found)

    @cached_property
    def bytes_by_path(self) -> dict[str, int]:
        """Bytes on every path, of all cores together, by the closed form; counting gives the same to the byte."""
        return generator_of(self.described.kernel).traffic(self.described.kernel, self.tile, self.chip)

    @property
    def text(self) -> str:
        """What it computes, in one line."""
        return generator_of(self.described.kernel).text(self.described.kernel)

    @property
    def tile_text(self) -> str:
        """How it is cut, in a few characters."""
        return generator_of(self.described.kernel).tile_text(self.tile)

    @property
    def kind(self) -> str:
        """The name of its generator."""
        return generator_of(self.described.kernel).name

    @cached_property
    def units(self) -> tuple[tuple[str, str], ...]:
        """Name of each operator of the body, and who does it: ``cube``, ``vector``, a pipe, or ``none``."""
        kernel = self.described.kernel
        generator = generator_of(kernel)
        return tuple((name, generator.unit(role, kernel, self.tile, self.chip)) for name, role in self.described.roles)

    def bound_to(self, described: Described) -> Generated:
        """The same program for a node with the same kernel, whose values have other names."""
        return self if described == self.described else replace(self, described=described)

    def inputs(self, values: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays of its input buffers, from the values of its graph by name."""
        return {buffer: values[name] for buffer, name in self.described.inputs}

    def run(self, values: Mapping[str, np.ndarray[Any, Any]]) -> Run:
        """Runs it on the values of its graph, by name."""
        return run(self.program, self.chip, self.inputs(values))

    def walk(self, values: Mapping[str, np.ndarray[Any, Any]], *, tiles: bool = True) -> Iterator[Step]:
        """Runs it and stops on the way, with the contents of all buffers at each stop.

        Args:
            values: the values of its graph, by name.
            tiles: true to stop after each tile (a turn of an innermost loop, a block), false after each instruction.

        Yields:
            The core, its block, the instruction, the loop variables, the buffers' contents (views that go on changing:
            copy what is to be kept) and all bytes moved so far.
        """
        return steps(self.program, self.chip, self.inputs(values), tiles=tiles)


def run_all(
    programs: Sequence[Generated], values: Mapping[str, np.ndarray[Any, Any]]
) -> dict[str, np.ndarray[Any, Any]]:
    """Runs the programs of a kernel one after the other; each finds what the ones before it have made.

    Args:
        programs: of one node, in order.
        values: the values of its graph, by name.

    Returns:
        Every output, by name; what only the programs hand to each other among them.
    """
    known = dict(values)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for program in programs:
        outputs = program.run(known).outputs
        made |= {name: outputs[buffer] for buffer, name in program.described.outputs}
        known |= made
    return made
