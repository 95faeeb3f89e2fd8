"""What a kernel around a convolution computes, how it is cut, and the bytes that it moves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.formula import Formula
from gexplorer.kernels.gemm_kernel import Assignment, assign_riders
from gexplorer.kernels.vector_kernel import Tensor

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ConvKernel:
    """A convolution of feature maps and what follows it.

    Attributes:
        batch: images.
        groups: groups of channels, each a convolution of its own.
        channels: input channels of a group.
        filters: output channels of a group.
        size: rows and columns of an input map.
        taps: of the kernel.
        stride: steps of the kernel.
        dilation: steps between taps.
        pads: rows above and columns left of the map that are 0.
        places: rows and columns of an output map.
        dtype: element type of maps and weights.
        out_dtype: of the result.
        bias: element type of a number that is added for each filter; None for none.
        epilogue: what follows on every element: its input 0 is the sum with the bias, the others are ``operands``.
        operands: [batch or 1, groups * filters or 1, rows or 1, columns or 1] each.
    """

    batch: int
    groups: int
    channels: int
    filters: int
    size: Pair
    taps: Pair
    stride: Pair
    dilation: Pair
    pads: Pair
    places: Pair
    dtype: DType
    out_dtype: DType
    bias: DType | None = None
    epilogue: Formula | None = None
    operands: tuple[Tensor, ...] = ()

    @property
    def work(self) -> Gemm:
        """The product that the cube computes: a group is one of the batch."""
        k = self.channels * prod(self.taps)
        pixels = self.batch * prod(self.places)
        distinct = min(1.0, self.batch * self.channels * prod(self.size) / (pixels * k))
        return Gemm(pixels, self.filters, k, self.dtype, self.out_dtype, self.groups, distinct, hf32=True)

    @property
    def sum_dtype(self) -> DType:
        """What L0C sums in."""
        return DType.FLOAT32

    def seen(self, axis: int, start: int, count: int) -> int:
        """Elements of the map along an axis that so many windows see, the first of them the one of number ``start``."""
        first = start * self.stride[axis] - self.pads[axis]
        last = first + (count - 1) * self.stride[axis] + (self.taps[axis] - 1) * self.dilation[axis] + 1
        return max(0, min(self.size[axis], last) - max(0, first))

    def most_seen(self, axis: int, count: int) -> int:
        """The most of them, wherever the windows are."""
        wide = (count - 1) * self.stride[axis] + (self.taps[axis] - 1) * self.dilation[axis] + 1
        return min(self.size[axis], wide)


@dataclass(frozen=True, slots=True)
class ConvTile:
    """How a convolution is cut.

    Attributes:
        rows: output rows of a block.
        columns: output columns of a block.
        filters: filters of a block.
        channels: input channels that one MMAD takes, with all taps.
    """

    rows: int
    columns: int
    filters: int
    channels: int


def assign_conv(kernel: ConvKernel, tile_filters: int, chip: Chip) -> Assignment[Tensor]:
    """Gives each part of an epilogue to the unit that does it at least cost, as for products."""
    bias = None
    if kernel.bias is not None:
        bias = Tensor("bias", (1, kernel.groups * kernel.filters, 1, 1), kernel.bias)
    return assign_riders(bias, kernel.epilogue, kernel.operands, tile_filters, chip)


def conv_bytes(kernel: ConvKernel, cut: ConvTile, chip: Chip) -> dict[str, int]:
    """Bytes by path of ``conv_program``, of all cores together: the closed form.

    Every block of filters reads the maps again, every block of places the weights; blocks of places overlap where
    windows do, so that borders are read by both.
    """
    split, assigned = chip.cube_vector_path == "gm", assign_conv(kernel, cut.filters, chip)
    e = kernel.dtype.bits // 8
    (rows, columns), images = kernel.places, kernel.batch * kernel.groups
    blocks = [-(-rows // cut.rows), -(-columns // cut.columns), -(-kernel.filters // cut.filters)]
    seen = [
        sum(kernel.seen(axis, start, min(step, length - start)) for start in range(0, length, step))
        for axis, (length, step) in enumerate(zip(kernel.places, (cut.rows, cut.columns), strict=True))
    ]
    k = kernel.channels * prod(kernel.taps)
    weights = images * blocks[0] * blocks[1] * kernel.filters * k * e
    windows = images * blocks[2] * rows * columns * k * e
    total: Counter[str] = Counter(
        {
            "gm->l1": images * blocks[2] * prod(seen) * kernel.channels * e + weights,
            "l1->l0a": windows,
            "l1->l0b": weights,
        }
    )
    if assigned.table:
        assert kernel.bias is not None
        row = images * blocks[0] * blocks[1] * kernel.bias.nbytes(kernel.filters)
        total += Counter({"gm->l1": row, "l1->bt": row})
    made = images * kernel.filters * rows * columns
    if assigned.vector is None:
        total["l0c->gm"] = kernel.out_dtype.nbytes(made)
        return dict(sorted(total.items()))
    sums = kernel.sum_dtype.nbytes(made)
    total += Counter(dict.fromkeys(("l0c->gm", "gm->ub") if split else ("l0c->ub",), sums))
    total["gm->ub"] += sum(_operand_bytes(operand, kernel, blocks) for operand in assigned.operands)
    total["ub->gm"] = kernel.out_dtype.nbytes(made)
    return {path: number for path, number in sorted(total.items()) if number}


def _operand_bytes(operand: Tensor, kernel: ConvKernel, blocks: list[int]) -> int:
    """One for each filter is read once for a block, what lies along places row by row."""
    (rows, columns), (_, of_filters, of_rows, of_columns) = kernel.places, operand.shape
    strips = rows if of_rows > 1 or of_columns > 1 else blocks[0]
    reads = kernel.batch * kernel.groups * strips
    reads *= columns if of_columns > 1 else blocks[1]
    reads *= kernel.filters if of_filters > 1 else blocks[2]
    return operand.dtype.nbytes(reads)
