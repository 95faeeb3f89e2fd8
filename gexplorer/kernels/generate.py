"""The tile program of any node: what its kernel computes, a tile for it, and the program; or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gexplorer.cost.attention import AttentionTiles, attention_cost
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.graph import Graph, Node
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel
from gexplorer.kernels.describe import describe
from gexplorer.kernels.described import Described, Kernel
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile
from gexplorer.kernels.interpreter import Run, require_capacity, run
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches
from gexplorer.kernels.vector_kernel import VectorKernel
from gexplorer.kernels.vector_program import vector_program, vector_tile

Tile = GemmTile | AttentionCut | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Generated:
    """A program of a node.

    Attributes:
        described: what it computes, and the values that its buffers hold.
        tile: how it is cut.
        program: the program.
    """

    described: Described
    tile: Tile
    program: Program

    def run(self, chip: Chip, values: Mapping[str, np.ndarray[Any, Any]]) -> Run:
        """Runs it on the values of its graph, by name."""
        return run(self.program, chip, {buffer: values[name] for buffer, name in self.described.inputs})


def generate(graph: Graph, node: Node, searches: Searches) -> tuple[Generated, ...] | Refusal:
    """The programs of a node on a chip: one, or one after the other where a kernel has products side by side.

    Args:
        graph: the graph that the node is in, with types.
        node: an ONNX operator or a fused node.
        searches: the chip, and the tile searches made so far.
    """
    described = describe(graph, node)
    if isinstance(described, Refusal):
        return described
    found: list[Generated] = []
    for part in described:
        try:
            tile = _tile(part.kernel, searches)
            if tile is None:
                return Refusal(node.op, f"no tile fits the buffers of {searches.chip.name}")
            program = program_of(part.kernel, tile, searches.chip, node.op)
            require_capacity(program, searches.chip)
        except OptionError as error:
            return Refusal(node.op, str(error))
        found.append(Generated(part, tile, program))
    return tuple(found)


def program_of(kernel: Kernel, tile: Tile, chip: Chip, name: str) -> Program:
    """The program of a kernel, cut in a given way."""
    match kernel, tile:
        case GemmKernel(), GemmTile():
            return gemm_program(kernel, tile, chip, name)
        case AttentionKernel(), AttentionCut():
            return attention_program(kernel, tile, chip, name)
        case VectorKernel(), tuple():
            return vector_program(kernel, tile, chip, name)
        case _:
            raise OptionError(f"{name}: {tile} is no tile of such a kernel")


def attention_cut(kernel: AttentionKernel, chip: Chip) -> AttentionCut | None:
    """The fastest of the tiles of powers of two that fit; None where none does."""
    unit = max(chip.cube.shape(kernel.work.dtype.bits))
    sizes = [unit << step for step in range(5)]
    fitting: list[AttentionCut] = []
    for queries in _up_to(sizes, kernel.work.queries):
        for keys in _up_to(sizes, kernel.work.keys):
            cut = AttentionCut(queries, keys)
            try:
                require_capacity(attention_program(kernel, cut, chip), chip)
            except OptionError:
                continue
            fitting.append(cut)
    if not fitting:
        return None
    tiles = AttentionTiles(np.array([c.queries for c in fitting]), np.array([c.keys for c in fitting]))
    return fitting[attention_cost(kernel.work, chip, tiles).best]


def _tile(kernel: Kernel, searches: Searches) -> Tile | None:
    match kernel:
        case GemmKernel():
            return searches.find(kernel).tile
        case AttentionKernel():
            return searches.once(kernel, lambda: attention_cut(kernel, searches.chip))
        case VectorKernel():
            return searches.once(kernel, lambda: vector_tile(kernel, searches.chip))


def _up_to(sizes: list[int], length: int) -> list[int]:
    """The sizes up to the first that covers the length."""
    return [size for index, size in enumerate(sizes) if index == 0 or sizes[index - 1] < length]
