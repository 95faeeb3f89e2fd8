"""Matrix products with a bias and what follows them on every element."""

from __future__ import annotations

from gexplorer.hardware.spec import Chip
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.described_gemm import describe_gemm, products_of
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile, assign
from gexplorer.kernels.generator import Chosen, Generator
from gexplorer.kernels.part import Part
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches
from gexplorer.kernels.traffic import gemm_bytes


class Product(Generator[GemmKernel, GemmTile]):
    """A part with one MatMul or Gemm."""

    name = "product"
    order = 20
    kernel = GemmKernel
    tile = GemmTile

    def describe(self, part: Part) -> Described | Refusal | None:
        """The kernel around the one product."""
        products = products_of(part)
        if not products:
            return None
        if len(products) > 1:
            return Refusal(part.op, f"{len(products)} products that feed each other or share an operator")
        return describe_gemm(part, products[0])

    def choose(self, kernel: GemmKernel, searches: Searches) -> Chosen[GemmTile]:
        """Searched as the mode says."""
        found = searches.find(kernel)
        return Chosen(found.tile, found)

    def program(self, kernel: GemmKernel, tile: GemmTile, chip: Chip, name: str) -> Program:
        """Blocks of the result, dealt to the cube cores."""
        return gemm_program(kernel, tile, chip, name)

    def traffic(self, kernel: GemmKernel, tile: GemmTile, chip: Chip) -> dict[str, int]:
        """Panels for each block, riders, results."""
        return gemm_bytes(kernel, tile, chip)

    def text(self, kernel: GemmKernel) -> str:
        """Such as ``[128, 64] @ [64, 256] float16 + bias``."""
        work = kernel.work
        batch = f"{work.batch} x " if work.batch > 1 else ""
        text = f"{batch}[{work.m}, {work.k}] @ [{work.k}, {work.n}] {work.dtype.label}"
        text += " + bias" if kernel.bias is not None else ""
        steps = len(kernel.epilogue.instructions) if kernel.epilogue is not None else 0
        text += f", then {steps} vector instruction{'s' * (steps > 1)}" if steps else ""
        return text + (f" -> {kernel.out_dtype.label}" if kernel.out_dtype != work.dtype else "")

    def tile_text(self, tile: GemmTile) -> str:
        """Such as ``128x256x64 rows``; an asterisk for panels that are there only once."""
        order = "rows" if tile.order == "rows" else "cols"
        return f"{tile.m}x{tile.n}x{tile.k} {order}{'' if tile.double else ' *'}"

    def unit(self, role: Role, kernel: GemmKernel, tile: GemmTile, chip: Chip) -> str:
        """The bias table belongs to the cube; what the vector unit is not asked for rides with the fixpipe."""
        assigned = assign(kernel, tile.n, chip)
        if role == "table" and assigned.table:
            return "cube"
        if role in ("table", "behind"):
            return "fixpipe" if assigned.vector is None else "vector"
        return super().unit(role, kernel, tile, chip)
