"""Convolutions as implicit products, with a bias and what follows them on every element."""

from __future__ import annotations

from gexplorer.hardware.spec import Chip
from gexplorer.kernels.conv import conv_program
from gexplorer.kernels.conv_kernel import ConvKernel, ConvTile, assign_conv, conv_bytes
from gexplorer.kernels.conv_tile import conv_tile
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.described_conv import describe_conv
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.generator import Chosen, Generator
from gexplorer.kernels.part import Part
from gexplorer.kernels.program import Program
from gexplorer.kernels.tiling import Searches


class Convolution(Generator[ConvKernel, ConvTile]):
    """A part with one Conv."""

    name = "convolution"
    order = 30
    kernel = ConvKernel
    tile = ConvTile

    def describe(self, part: Part) -> Described | Refusal | None:
        """The kernel around the one convolution."""
        found = [node for node in part.nodes if node.op == "Conv" and not node.domain]
        if not found:
            return None
        return describe_conv(part, found[0]) if len(found) == 1 else Refusal(part.op, f"{len(found)} convolutions")

    def choose(self, kernel: ConvKernel, searches: Searches) -> Chosen[ConvTile]:
        """The fastest of the tiles of powers of two that fit, in every mode."""
        tile, evaluations = searches.once(kernel, lambda: conv_tile(kernel, searches.chip))
        return Chosen(tile, evaluations=evaluations)

    def program(self, kernel: ConvKernel, tile: ConvTile, chip: Chip, name: str) -> Program:
        """Blocks of places and filters, each along all channels."""
        return conv_program(kernel, tile, chip, name)

    def traffic(self, kernel: ConvKernel, tile: ConvTile, chip: Chip) -> dict[str, int]:
        """Pieces of the maps with their borders, weights for each block, windows, results."""
        return conv_bytes(kernel, tile, chip)

    def text(self, kernel: ConvKernel) -> str:
        """Such as ``1 x 64 maps of 56x56, 64 filters 3x3 by 1x1 float32 + bias``."""
        (h, w), (kh, kw), (sh, sw) = kernel.size, kernel.taps, kernel.stride
        groups = f" in {kernel.groups} groups" if kernel.groups > 1 else ""
        channels, filters = kernel.groups * kernel.channels, kernel.groups * kernel.filters
        text = f"{kernel.batch} x {channels} maps of {h}x{w}, {filters} filters {kh}x{kw} by {sh}x{sw}{groups}"
        text += f" {kernel.dtype.label}{' + bias' if kernel.bias is not None else ''}"
        steps = len(kernel.epilogue.instructions) if kernel.epilogue is not None else 0
        return text + (f", then {steps} vector instruction{'s' * (steps > 1)}" if steps else "")

    def tile_text(self, tile: ConvTile) -> str:
        """Such as ``4x56x64x16``: rows, columns, filters, channels."""
        return f"{tile.rows}x{tile.columns}x{tile.filters}x{tile.channels}"

    def unit(self, role: Role, kernel: ConvKernel, tile: ConvTile, chip: Chip) -> str:
        """What the vector unit is not asked for rides with the fixpipe."""
        if role == "behind" and assign_conv(kernel, tile.filters, chip).vector is None:
            return "fixpipe"
        return super().unit(role, kernel, tile, chip)
