"""Gathers along one axis: embeddings."""

from __future__ import annotations

from math import prod

from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.described import Described
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.gather import gather_program
from gexplorer.kernels.gather_kernel import GatherKernel, GatherTile, gather_bytes, gather_tile
from gexplorer.kernels.generator import Chosen, Generator
from gexplorer.kernels.part import Part
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches


class Gathering(Generator[GatherKernel, GatherTile]):
    """A part that is one Gather."""

    name = "gather"
    order = 40
    kernel = GatherKernel
    tile = GatherTile

    def describe(self, part: Part) -> Described | Refusal | None:
        """Axes before and behind the one that is gathered along are one each."""
        if [(node.op, node.domain) for node in part.nodes] != [("Gather", "")]:
            return None
        (node,) = part.nodes
        data, indices = node.inputs
        if not {data, indices} <= {*part.inputs}:
            return Refusal(part.op, "data or number is a constant of the body")
        dtype, index = part.tensor(data).dtype, part.tensor(indices).dtype
        if dtype.bits % 8 or not dtype.bits or index not in (DType.INT32, DType.INT64):
            return Refusal(part.op, f"its elements are {dtype.label}, its numbers {index.label}")
        shape, axis = part.known(data), node.integer("axis", 0)
        axis += len(shape) if axis < 0 else 0
        before, width, count = prod(shape[:axis]), prod(shape[axis + 1 :]), prod(part.known(indices))
        if not before * width * count * shape[axis]:
            return Refusal(part.op, "a dimension is 0")
        kernel = GatherKernel(before, shape[axis], width, count, dtype, index)
        inputs = (("data", part.outside[data]), ("indices", part.outside[indices]))
        return Described(kernel, inputs, (("out", part.outside[part.outputs[0]]),), ((node.name, "move"),))

    def choose(self, kernel: GatherKernel, searches: Searches) -> Chosen[GatherTile]:
        """As many slices as UB holds."""
        return Chosen(searches.once(kernel, lambda: gather_tile(kernel, searches.chip)))

    def program(self, kernel: GatherKernel, tile: GatherTile, chip: Chip, name: str) -> Program:
        """A move for each slice."""
        return gather_program(kernel, tile, chip, name)

    def traffic(self, kernel: GatherKernel, tile: GatherTile, chip: Chip) -> dict[str, int]:
        """Numbers, and what is taken, in and out."""
        return gather_bytes(kernel, tile)

    def text(self, kernel: GatherKernel) -> str:
        """Such as ``2048 slices of 3584 elements out of 152064, float16``."""
        times = f"{kernel.before} x " if kernel.before > 1 else ""
        slices = f"{kernel.count} slice{'s' * (kernel.count > 1)} of {kernel.width} elements"
        return f"{times}{slices} out of {kernel.extent}, {kernel.dtype.label}"

    def tile_text(self, tile: GatherTile) -> str:
        """Such as ``12x3584``: slices, and elements of each."""
        return f"{tile.count}x{tile.width}"
