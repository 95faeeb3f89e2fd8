"""The tile program of any node: what its kernel computes, a tile for it, and the program; or why there is none."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.graph import Graph, Node
from gexplorer.kernels.describe import describe
from gexplorer.kernels.described import Described
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.generator import Chosen
from gexplorer.kernels.interpreter import require_capacity
from gexplorer.kernels.program import Program
from gexplorer.kernels.registry import generator_of
from gexplorer.kernels.tiling import Searches


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
    chosen = choose_tiles(described, node.op, searches)
    return chosen if isinstance(chosen, Refusal) else write_programs(described, chosen, node.op, searches.chip)


def choose_tiles(described: Sequence[Described], op: str, searches: Searches) -> tuple[Chosen[object], ...] | Refusal:
    """A tile for each part of a kernel, or why one has none."""
    found: list[Chosen[object]] = []
    for part in described:
        try:
            chosen = generator_of(part.kernel).choose(part.kernel, searches)
        except OptionError as error:
            return Refusal(op, str(error))
        if chosen.tile is None:
            return Refusal(op, f"no tile fits the buffers of {searches.chip.name}")
        found.append(chosen)
    return tuple(found)


def write_programs(
    described: Sequence[Described], chosen: Sequence[Chosen[object]], op: str, chip: Chip
) -> tuple[Generated, ...] | Refusal:
    """The programs for the tiles chosen, or the buffer that is too small for one of them."""
    found: list[Generated] = []
    for part, cut in zip(described, chosen, strict=True):
        try:
            program = program_of(part.kernel, cut.tile, chip, op)
            require_capacity(program, chip)
        except OptionError as error:
            return Refusal(op, str(error))
        found.append(Generated(part, cut.tile, program, chip, cut.landscape, cut.evaluations))
    return tuple(found)


def program_of(kernel: Hashable, tile: object, chip: Chip, name: str) -> Program:
    """The program of a kernel, cut in a given way.

    Raises:
        OptionError: the tile is none of such a kernel, or one that cannot be.
    """
    generator = generator_of(kernel)
    if not isinstance(tile, generator.tile):
        raise OptionError(f"{name}: {tile} is no tile of such a kernel")
    return generator.program(kernel, tile, chip, name)
