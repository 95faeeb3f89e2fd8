"""The tile program of a gather: numbers to UB, from there to the scalar unit, which sends a move for each slice.

Where a slice lies is not known before it runs; how many bytes move is.
"""

from __future__ import annotations

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.affine import least, variable
from gexplorer.kernels.gather_kernel import GatherKernel, GatherTile
from gexplorer.kernels.handover import Handover, finishes, starts
from gexplorer.kernels.program import (
    Axis,
    Buffer,
    Looked,
    Loop,
    Move,
    Program,
    Slice,
    Span,
    one,
    pipe_of,
)


def gather_program(kernel: GatherKernel, cut: GatherTile, chip: Chip, name: str = "Gather") -> Program:
    """The program of a gather.

    Inputs are ``data`` [before, extent, width] and ``indices`` [count]; the output is ``out`` [before, count, width].

    Args:
        kernel: what is taken.
        cut: the tile.
        chip: the chip.
        name: of the kernel.

    Raises:
        OptionError: the tile has a length below 1.
    """
    if min(cut.count, cut.width) < 1:
        raise OptionError(f"{name}: a tile of at least one element is wanted, not {cut}")
    split = chip.cube_vector_path == "gm"
    mte2 = pipe_of("gm->ub", split=split)
    i, w = Axis("i", kernel.count, cut.count), Axis("w", kernel.width, cut.width)
    numbers = Handover(Buffer("indices_ub", "ub", (cut.count,), kernel.index_dtype, 2), mte2, "scalar")
    slices = Handover(Buffer("slices_ub", "ub", (cut.count, cut.width), kernel.dtype, 2), mte2, "mte3")
    looked = Span(Looked("indices_ub", variable("r"), kernel.extent), least(1))
    take = Move(Slice("data", (one("a"), looked, w.span)), Slice("slices_ub", (one("r"), w.span.local)))
    place = Slice("out", (one("a"), i.span, w.span))
    return Program(
        name=name,
        chip=chip.name,
        split=split,
        cores=chip.vector_cores,
        buffers=(
            Buffer("data", "gm", (kernel.before, kernel.extent, kernel.width), kernel.dtype, role="input"),
            Buffer("indices", "gm", (kernel.count,), kernel.index_dtype, role="input"),
            Buffer("out", "gm", (kernel.before, kernel.count, kernel.width), kernel.dtype, role="output"),
            numbers.buffer,
            slices.buffer,
        ),
        axes=(Axis("a", kernel.before, 1), i, w),
        start=starts(numbers, slices),
        body=(
            *numbers.fill(Move(Slice("indices", (i.span,)), Slice("indices_ub", (i.span.local,)))),
            *numbers.get,
            *slices.take,
            Loop("r", least(*i.span.limits), 1, (take,)),
            *slices.give,
            *numbers.free,
            *slices.use(Move(Slice("slices_ub", (i.span.local, w.span.local)), place)),
        ),
        finish=finishes(numbers, slices),
    )
