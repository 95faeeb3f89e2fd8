"""Kernels of the vector unit: chains of elementwise operators, with or without reductions of rows."""

from __future__ import annotations

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.described import Described
from gexplorer.kernels.described_vector import describe_vector
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.generator import Chosen, Generator
from gexplorer.kernels.part import Part
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches
from gexplorer.kernels.vector_kernel import VectorKernel
from gexplorer.kernels.vector_program import vector_bytes, vector_program, vector_tile
from gexplorer.kernels.wide_rows import wide_bytes, wide_program, wide_tile


class VectorUnit(Generator[VectorKernel, tuple[int, ...]]):
    """Whatever no other generator takes."""

    name = "vector"
    order = 90
    kernel = VectorKernel
    tile = tuple

    def describe(self, part: Part) -> Described | Refusal | None:
        """One formula for all operators."""
        return describe_vector(part)

    def choose(self, kernel: VectorKernel, searches: Searches) -> Chosen[tuple[int, ...]]:
        """The largest tile that UB holds, cut finer where cores would be idle."""
        return Chosen(searches.once(kernel, lambda: _tile(kernel, searches.chip)))

    def program(self, kernel: VectorKernel, tile: tuple[int, ...], chip: Chip, name: str) -> Program:
        """Tiles through UB: in, computed, out; in several passes where rows are cut."""
        if _cut(kernel, tile):
            return wide_program(kernel.merged, tile, chip, name)
        return vector_program(kernel, tile, chip, name)

    def traffic(self, kernel: VectorKernel, tile: tuple[int, ...], chip: Chip) -> dict[str, int]:
        """Each element once; what is repeated, by every tile that needs it."""
        return wide_bytes(kernel.merged, tile) if _cut(kernel, tile) else vector_bytes(kernel, tile, chip)

    def text(self, kernel: VectorKernel) -> str:
        """Such as ``14 vector instructions over [2048, 3584] float16``."""
        steps = len(kernel.formula.instructions)
        rows = ", reduced along rows" if kernel.formula.reduces else ""
        kinds = "/".join(dict.fromkeys(tensor.dtype.label for tensor in kernel.tensors))
        shape = f"[{', '.join(map(str, kernel.shape))}]"
        return f"{steps} vector instruction{'s' * (steps != 1)} over {shape} {kinds}{rows}"

    def tile_text(self, tile: tuple[int, ...]) -> str:
        """Such as ``4x3584``."""
        return "x".join(map(str, tile))


def _tile(kernel: VectorKernel, chip: Chip) -> tuple[int, ...]:
    try:
        return vector_tile(kernel, chip)
    except OptionError:
        if not kernel.formula.reduces:
            raise
        return wide_tile(kernel.merged, chip)


def _cut(kernel: VectorKernel, tile: tuple[int, ...]) -> bool:
    """True where rows that are reduced are cut."""
    return kernel.formula.reduces and len(tile) == len(kernel.merged.shape) and tile[-1] < kernel.merged.shape[-1]
