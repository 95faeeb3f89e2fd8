"""The tile program of a matrix product, of a batch of them, with a bias and with what follows it on every element.

A core takes one block of the result after the other. For a block it goes along K: a panel of each matrix from memory
to L1, from there to L0A and L0B, and into an MMAD that adds to L0C. What follows the sums goes the shortest way that
the chip has (``gemm_kernel.assign``):

* a bias row starts the accumulator, from the bias table (chips whose cores are split),
* relu and a cast ride with the fixpipe on its way to memory (the same chips),
* everything else is the vector unit's: strip by strip through UB, straight from L0C where cube and vector unit are
  one core, else over a workspace in memory, which L2 holds. The vector cores of a split cube core take its strips
  in turn; they are counted as one.
"""

from __future__ import annotations

from typing import Literal

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.affine import Affine, least
from gexplorer.kernels.gemm_epilogue import fixpipe_epilogue, vector_epilogue
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile, assign
from gexplorer.kernels.handover import Handover, finishes, starts
from gexplorer.kernels.program import (
    Axis,
    Buffer,
    Instruction,
    Level,
    Loop,
    Mmad,
    Move,
    Program,
    Slice,
    Span,
    one,
    tile,
)


def gemm_program(kernel: GemmKernel, cut: GemmTile, chip: Chip, name: str = "MatMul") -> Program:
    """The program of a product.

    Inputs are ``left`` [batch or 1, m, k], ``right`` [batch or 1, k, n], ``bias`` [1, 1, n] and the epilogue's
    operands; the output is ``out`` [batch, m, n]. What does not fit the buffers is found by the interpreter
    (``require_capacity``), and by the tile search before.

    Args:
        kernel: what is computed.
        cut: the tile.
        chip: the chip.
        name: of the kernel.

    Raises:
        OptionError: the tile is no multiple of what the cube multiplies in a cycle.
    """
    require_multiple(kernel, cut, chip)
    work, assigned = kernel.work, assign(kernel, cut.n, chip)
    m, n = Axis("m", work.m, cut.m), Axis("n", work.n, cut.n)
    k = tile("k", cut.k, work.k)
    copies = 2 if cut.double else 1
    left = _Side("left", "l0a", kernel.left_transposed, kernel.left_shared, (m.span, k), (work.m, work.k))
    right = _Side("right", "l0b", kernel.right_transposed, kernel.right_shared, (k, n.span), (work.k, work.n))
    panels = (left.panel((cut.m, cut.k), kernel, copies), right.panel((cut.k, cut.n), kernel, copies))

    twice = 2 * cut.m * cut.n * kernel.sum_dtype.bits // 8 <= chip.capacity.l0c_bytes
    sums = Handover(Buffer("sums", "l0c", (cut.m, cut.n), kernel.sum_dtype, 2 if twice else 1), "cube", "fixpipe")
    bias = _BiasRow(kernel, cut.n, n.span) if assigned.table else None
    mmad = Mmad(
        Slice("sums", (m.span.local, n.span.local)),
        *(panel.in_l0 for panel in panels),
        fresh="k",
        bias=bias.row if bias else None,
    )
    turn = [i for panel in panels for i in panel.fetch] + [i for panel in panels for i in panel.feed]
    turn += panels[0].to_l0.use(*panels[1].to_l0.use(mmad))

    out = Buffer("out", "gm", (work.batch, work.m, work.n), kernel.out_dtype, role="output")
    if assigned.vector is None:
        leave = fixpipe_epilogue(out, sums, m.span, n.span, assigned.fixpipe)
    else:
        leave = vector_epilogue(kernel, cut, chip, assigned, out, sums)
    handovers = (*(h for p in panels for h in (p.to_l1, p.to_l0)), sums, *leave.handovers)
    handovers += bias.handovers if bias else ()
    buffers = [buffer for panel in panels for buffer in panel.buffers] + [sums.buffer, out, *leave.buffers]
    buffers += bias.buffers if bias else ()
    return Program(
        name=name,
        chip=chip.name,
        split=chip.cube_vector_path == "gm",
        cores=chip.cube_cores,
        buffers=in_order(buffers),
        axes=(Axis("b", work.batch, 1), *((m, n) if cut.order == "rows" else (n, m))),
        start=starts(*handovers),
        body=(
            *(bias.before if bias else ()),
            *sums.take,
            Loop("k", least(work.k), cut.k, tuple(turn)),
            *(bias.after if bias else ()),
            *sums.give,
            *leave.body,
        ),
        finish=finishes(*handovers),
    )


def require_multiple(kernel: GemmKernel, cut: GemmTile, chip: Chip) -> None:
    """Raises OptionError for a tile that is no multiple of what the cube multiplies in a cycle."""
    units = chip.cube.shape(kernel.work.dtype.bits)
    for axis, length, unit in zip("mnk", (cut.m, cut.n, cut.k), units, strict=True):
        if length < 1 or length % unit:
            raise OptionError(f"tile_{axis} {length} is no multiple of {unit}, what {chip.name}'s cube takes at once")


def in_order(buffers: list[Buffer]) -> tuple[Buffer, ...]:
    """Buffers from memory to the units, in order of making within a level."""
    return tuple(sorted(buffers, key=lambda buffer: (LEVELS.index(buffer.level), ROLES.index(buffer.role))))


LEVELS: tuple[Level, ...] = ("gm", "l1", "l0a", "l0b", "l0c", "bt", "ub")
ROLES = ("input", "output", "workspace", "local")


class _Panel:
    """One matrix's way to the cube.

    Attributes:
        to_l1: memory to L1.
        to_l0: L1 to L0.
        buffers: in memory, L1 and L0.
        fetch: the move to L1.
        feed: the move on to L0.
        in_l0: the tile there.
    """

    def __init__(self, to_l1: Handover, to_l0: Handover, matrix: Buffer, fetch: Move, feed: Move) -> None:
        self.to_l1, self.to_l0 = to_l1, to_l0
        self.buffers = (matrix, to_l1.buffer, to_l0.buffer)
        self.fetch = to_l1.fill(fetch)
        self.feed = to_l0.fill(*to_l1.use(feed))
        self.in_l0 = feed.destination


class _Side:
    """A matrix of a product as it lies in memory."""

    def __init__(
        self,
        name: str,
        level: Literal["l0a", "l0b"],
        turned: bool,
        shared: bool,
        box: tuple[Span, Span],
        size: tuple[int, int],
    ) -> None:
        self._name, self._turned, self._shared = name, turned, shared
        self._level: Literal["l0a", "l0b"] = level
        self._box, self._size = box, size

    def panel(self, shape: tuple[int, int], kernel: GemmKernel, copies: int) -> _Panel:
        """Its way to the cube, in tiles of a shape."""
        dtype, name = kernel.work.dtype, self._name
        batch = 1 if self._shared else kernel.work.batch
        lies = self._box[::-1] if self._turned else self._box
        matrix = Buffer(name, "gm", (batch, *self._lying(self._size)), dtype, role="input")
        l1 = Buffer(f"{name}_l1", "l1", self._lying(shape), dtype, copies)
        l0 = Buffer(f"{name}_{self._level}", self._level, shape, dtype, copies)
        first = Span(Affine(), least(1)) if self._shared else one("b")
        in_l1 = Slice(l1.name, tuple(span.local for span in lies))
        in_l0 = Slice(l0.name, tuple(span.local for span in self._box))
        return _Panel(
            Handover(l1, "mte2", "mte1"),
            Handover(l0, "mte1", "cube"),
            matrix,
            Move(Slice(name, (first, *lies)), in_l1),
            Move(in_l1, in_l0, transposed=self._turned),
        )

    def _lying(self, size: tuple[int, int]) -> tuple[int, int]:
        return (size[1], size[0]) if self._turned else size


class _BiasRow:
    """A bias row's way over L1 into the bias table, once for a block.

    Attributes:
        row: in the table.
        buffers: in memory, L1 and the table.
        handovers: whose flags it uses.
        before: what is done before the first MMAD.
        after: what is done behind the last.
    """

    def __init__(self, kernel: GemmKernel, tile_n: int, n: Span) -> None:
        assert kernel.bias is not None
        first = Span(Affine(), least(1))
        memory = Buffer("bias", "gm", (1, 1, kernel.work.n), kernel.bias, role="input")
        l1 = Handover(Buffer("bias_l1", "l1", (1, tile_n), kernel.bias), "mte2", "mte1")
        table = Handover(Buffer("bias_bt", "bt", (1, tile_n), kernel.sum_dtype), "mte1", "cube")
        in_l1 = Slice("bias_l1", (first, n.local))
        self.row = Slice("bias_bt", (first, n.local))
        self.buffers = (memory, l1.buffer, table.buffer)
        self.handovers = (l1, table)
        fetch = l1.fill(Move(Slice("bias", (first, first, n)), in_l1))
        self.before: tuple[Instruction, ...] = (*fetch, *table.fill(*l1.use(Move(in_l1, self.row))), *table.get)
        self.after = table.free
