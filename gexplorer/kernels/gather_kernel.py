"""What a kernel that gathers computes, how it is cut, and the bytes that it moves."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType


@dataclass(frozen=True, slots=True)
class GatherKernel:
    """Takes slices of a tensor by their numbers: out[a, i, w] = data[a, indices[i], w].

    Attributes:
        before: product of the axes before the one that is gathered along.
        extent: length of that axis.
        width: product of the axes behind it: elements that lie together.
        count: how many slices are taken, for each of ``before``.
        dtype: element type of the data.
        index_dtype: element type of the numbers; negative ones count from the end.
    """

    before: int
    extent: int
    width: int
    count: int
    dtype: DType
    index_dtype: DType


@dataclass(frozen=True, slots=True)
class GatherTile:
    """How many slices a block takes, and how many elements of each."""

    count: int
    width: int


def gather_bytes(kernel: GatherKernel, cut: GatherTile) -> dict[str, int]:
    """Bytes by path of ``gather_program``, of all cores together: every block reads its numbers again."""
    again = kernel.before * -(-kernel.width // cut.width)
    taken = kernel.dtype.nbytes(prod((kernel.before, kernel.count, kernel.width)))
    return {"gm->ub": again * kernel.index_dtype.nbytes(kernel.count) + taken, "ub->gm": taken}


def gather_tile(kernel: GatherKernel, chip: Chip) -> GatherTile | None:
    """Whole slices, as many as UB holds twice, fewer where cores would be idle; else parts of one slice."""
    room, e, index = chip.capacity.ub_bytes // 2, kernel.dtype.nbytes(1), kernel.index_dtype.nbytes(1)
    width = min(kernel.width, (room - index) // e)
    if width < 1:
        return None
    fair = max(1, -(-kernel.before * kernel.count // chip.vector_cores))
    return GatherTile(max(1, min(kernel.count, fair, room // (width * e + index))), width)
