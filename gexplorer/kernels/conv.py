"""The tile program of a convolution: a product whose left matrix is never in memory (implicit GEMM).

A block is some rows and columns of the output maps, for some filters. For it a core goes along the input channels: the
piece of each map that the block's windows see comes to L1 once, and on the way to L0A every window becomes a row
(im2col). What a window sees beyond the map is 0 and is not moved. Weights come as they lie and are turned on the way
to L0B. The sums leave as those of a product do (``gemm.py``); what the vector unit does, it does row by row.

Maps lie as [images, channels, rows, columns]; GE would put 16 channels next to each other (NC1HWC0), which moves as
many bytes where channels are multiples of 16.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels import registers
from gexplorer.kernels.affine import Affine, Clipped, Inside, Least, least, variable
from gexplorer.kernels.conv_kernel import ConvKernel, ConvTile, assign_conv
from gexplorer.kernels.gemm import in_order
from gexplorer.kernels.gemm_kernel import Assignment
from gexplorer.kernels.handover import Handover, finishes, starts
from gexplorer.kernels.program import (
    Axis,
    Buffer,
    Instruction,
    Loop,
    Mmad,
    Move,
    Pipe,
    Program,
    Slice,
    Span,
    Window,
    one,
    pipe_of,
    tile,
    whole,
)
from gexplorer.kernels.vector_kernel import Tensor

_ONE = Span(Affine(), least(1))


def conv_program(kernel: ConvKernel, cut: ConvTile, chip: Chip, name: str = "Conv2D") -> Program:
    """The program of a convolution.

    Inputs are ``x`` [batch, groups * channels, rows, columns], ``w`` [groups * filters, channels, taps, taps],
    ``bias`` [1, groups * filters] and the epilogue's operands; the output is ``out``.

    Args:
        kernel: what is computed.
        cut: the tile.
        chip: the chip.
        name: of the kernel.

    Raises:
        OptionError: the tile has a length below 1.
    """
    if min(cut.rows, cut.columns, cut.filters, cut.channels) < 1:
        raise OptionError(f"{name}: a tile of at least one of everything is wanted, not {cut}")
    return _Writer(kernel, cut, chip, name, assign_conv(kernel, cut.filters, chip)).program()


@dataclass(slots=True)
class _Writer:
    """Puts the program together."""

    kernel: ConvKernel
    cut: ConvTile
    chip: Chip
    name: str
    assigned: Assignment[Tensor]
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    handovers: list[Handover] = field(default_factory=list[Handover])

    def program(self) -> Program:
        kernel, cut = self.kernel, self.cut
        y, x = Axis("y", kernel.places[0], cut.rows), Axis("x", kernel.places[1], cut.columns)
        n, c = Axis("n", kernel.filters, cut.filters), tile("c", cut.channels, kernel.channels)
        twice = 2 * 4 * cut.rows * cut.columns * cut.filters <= self.chip.capacity.l0c_bytes
        shape = (cut.rows, cut.columns, cut.filters)
        sums = self._hand(Buffer("sums", "l0c", shape, kernel.sum_dtype, 2 if twice else 1), "cube", "fixpipe")
        maps, in_l0a = self._maps(y.span, x.span, c)
        weights, in_l0b = self._weights(n.span, c)
        before, bias, after = self._bias(n.span)
        block = Slice("sums", (y.span.local, x.span.local, n.span.local))
        mmad = Mmad(block, in_l0a.slice, in_l0b.slice, fresh="c", bias=bias)
        turn = (*maps[0], *weights[0], *maps[1], *weights[1], *in_l0a.hand.use(*in_l0b.hand.use(mmad)))
        leave = self._leave(block, sums, y.span, x.span, n.span)
        return Program(
            name=self.name,
            chip=self.chip.name,
            split=self._split,
            cores=self.chip.cube_cores,
            buffers=in_order(self.buffers),
            axes=(Axis("b", kernel.batch, 1), Axis("g", kernel.groups, 1), y, x, n),
            start=starts(*self.handovers),
            body=(
                *before,
                *sums.take,
                Loop("c", least(kernel.channels), cut.channels, turn),
                *after,
                *sums.give,
                *leave,
            ),
            finish=finishes(*self.handovers),
        )

    @property
    def _split(self) -> bool:
        return self.chip.cube_vector_path == "gm"

    def _hand(self, buffer: Buffer, producer: Pipe, consumer: Pipe) -> Handover:
        handover = Handover(buffer, producer, consumer)
        self.buffers.append(buffer)
        self.handovers.append(handover)
        return handover

    def _maps(self, y: Span, x: Span, c: Span) -> tuple[tuple[tuple[Instruction, ...], ...], _InL0]:
        """The pieces of the maps that the block's windows see, and the windows."""
        kernel, cut = self.kernel, self.cut
        size = (kernel.batch, kernel.groups * kernel.channels, *kernel.size)
        self.buffers.append(Buffer("x", "gm", size, kernel.dtype, role="input"))
        seen = (kernel.most_seen(0, cut.rows), kernel.most_seen(1, cut.columns))
        in_l1 = self._hand(Buffer("x_l1", "l1", (cut.channels, *seen), kernel.dtype, 2), "mte2", "mte1")
        k = prod(kernel.taps)
        shape = (cut.rows, cut.columns, cut.channels * k)
        in_l0 = self._hand(Buffer("x_l0a", "l0a", shape, kernel.dtype, 2), "mte1", "cube")
        starts_at = tuple(
            variable(axis) * stride - pad for axis, stride, pad in zip("yx", kernel.stride, kernel.pads, strict=True)
        )
        sees = tuple(
            self._sees(axis, span, start) for axis, (span, start) in enumerate(zip((y, x), starts_at, strict=True))
        )
        group = variable("g") * kernel.channels + variable("c")
        piece = Slice("x_l1", (c.local, sees[0].local, sees[1].local))
        rows = Slice("x_l0a", (y.local, x.local, _times(c, k)))
        window = Window(
            kernel.taps,
            kernel.stride,
            kernel.dilation,
            (starts_at[0], starts_at[1]),
            (Least(y.limits), Least(x.limits)),
        )
        fetch = in_l1.fill(Move(Slice("x", (one("b"), Span(group, c.length), *sees)), piece))
        feed = in_l0.fill(*in_l1.use(Move(piece, rows, window=window)))
        return (fetch, feed), _InL0(rows, in_l0)

    def _sees(self, axis: int, span: Span, start: Affine) -> Span:
        """What windows see of an axis of the map."""
        kernel = self.kernel
        more = (kernel.taps[axis] - 1) * kernel.dilation[axis] + 1 - kernel.stride[axis]
        length = Least(tuple(limit * kernel.stride[axis] + more for limit in span.limits))
        return Span(Clipped(start, kernel.size[axis]), Inside(start, length, kernel.size[axis]))

    def _weights(self, n: Span, c: Span) -> tuple[tuple[tuple[Instruction, ...], ...], _InL0]:
        kernel, cut = self.kernel, self.cut
        size = (kernel.groups * kernel.filters, kernel.channels, *kernel.taps)
        self.buffers.append(Buffer("w", "gm", size, kernel.dtype, role="input"))
        k = prod(kernel.taps)
        piece = (cut.filters, cut.channels, *kernel.taps)
        in_l1 = self._hand(Buffer("w_l1", "l1", piece, kernel.dtype, 2), "mte2", "mte1")
        in_l0 = self._hand(Buffer("w_l0b", "l0b", (cut.channels * k, cut.filters), kernel.dtype, 2), "mte1", "cube")
        taps = whole(*kernel.taps)
        held = Slice("w_l1", (n.local, c.local, *taps))
        columns = Slice("w_l0b", (_times(c, k), n.local))
        fetch = in_l1.fill(Move(Slice("w", (self._filters(n), c, *taps)), held))
        feed = in_l0.fill(*in_l1.use(Move(held, columns, order=(1, 2, 3, 0))))
        return (fetch, feed), _InL0(columns, in_l0)

    def _bias(self, n: Span) -> tuple[tuple[Instruction, ...], Slice | None, tuple[Instruction, ...]]:
        """A bias row's way over L1 into the bias table, once for a block."""
        kernel = self.kernel
        if not self.assigned.table or kernel.bias is None:
            return (), None, ()
        self.buffers.append(Buffer("bias", "gm", (1, kernel.groups * kernel.filters), kernel.bias, role="input"))
        in_l1 = self._hand(Buffer("bias_l1", "l1", (1, self.cut.filters), kernel.bias), "mte2", "mte1")
        table = self._hand(Buffer("bias_bt", "bt", (1, self.cut.filters), kernel.sum_dtype), "mte1", "cube")
        held, row = Slice("bias_l1", (_ONE, n.local)), Slice("bias_bt", (_ONE, n.local))
        fetch = in_l1.fill(Move(Slice("bias", (_ONE, self._filters(n))), held))
        return (*fetch, *table.fill(*in_l1.use(Move(held, row))), *table.get), row, table.free

    def _leave(self, block: Slice, sums: Handover, y: Span, x: Span, n: Span) -> tuple[Instruction, ...]:
        kernel = self.kernel
        size = (kernel.batch, kernel.groups * kernel.filters, *kernel.places)
        self.buffers.append(Buffer("out", "gm", size, kernel.out_dtype, role="output"))
        if self.assigned.vector is None:
            place = Slice("out", (one("b"), self._filters(n), y, x))
            return sums.use(Move(block, place, through=self.assigned.fixpipe, order=(2, 0, 1)))
        return self._strips(block, sums, y, x, n)

    def _strips(self, block: Slice, sums: Handover, y: Span, x: Span, n: Span) -> tuple[Instruction, ...]:
        """The vector unit takes one output row of the block after the other."""
        assert self.assigned.vector is not None
        kernel, cut = self.kernel, self.cut
        mte2 = pipe_of("gm->ub", split=self._split)
        shape, spans = (cut.columns, cut.filters), (x.local, n.local)
        product, result = Slice("product_ub", spans), Slice("out_ub", spans)
        taken = Buffer("product_ub", "ub", shape, kernel.sum_dtype, 2)
        if self._split:
            workspace = Buffer("product", "gm", (cut.rows, *shape), kernel.sum_dtype, 2, "workspace")
            held = self._hand(workspace, "fixpipe", mte2)
            into = self._hand(taken, mte2, "vector")
            before: list[Instruction] = [*held.fill(*sums.use(Move(block, Slice("product", block.spans))))]
        else:
            held, before = sums, []
            into = self._hand(taken, "fixpipe", "vector")
        before += held.get
        turn = [*into.fill(Move(Slice(held.buffer.name, (one("r"), *spans)), product))]
        operands = [registers.Operand(product, kernel.sum_dtype, (False, False))]
        row = Span(variable("y") + variable("r"), least(1))
        in_strip: list[Handover] = []
        in_block: list[Handover] = []
        for operand in self.assigned.operands:
            handover, move, given = self._operand(operand, row, x, n)
            operands.append(given)
            if operand.shape[2] > 1 or operand.shape[3] > 1:
                in_strip.append(handover)
                turn += handover.fill(move)
            else:
                in_block.append(handover)
                before += handover.fill(move)
        leave = self._hand(Buffer("out_ub", "ub", shape, kernel.out_dtype, 2), "vector", "mte3")
        placed = registers.place(self.assigned.vector, operands, (result,), shape, (x, n))
        self.buffers += placed.buffers
        loaded = (into, *in_strip)
        turn += [i for handover in loaded for i in handover.get]
        turn += leave.fill(*placed.instructions)
        turn += [i for handover in loaded for i in handover.free]
        place = Slice("out", (one("b"), self._filters(n), row, x))
        turn += leave.use(Move(result, place, order=(1, 0)))
        got = [i for handover in in_block for i in handover.get]
        freed = [i for handover in (*in_block, held) for i in handover.free]
        return (*before, *got, Loop("r", Least(y.limits), 1, tuple(turn)), *freed)

    def _operand(self, operand: Tensor, row: Span, x: Span, n: Span) -> tuple[Handover, Move, registers.Operand]:
        """An input of the epilogue on its way to UB, [columns or 1, filters or 1]."""
        image, filters, rows, columns = (size > 1 for size in operand.shape)
        mte2 = pipe_of("gm->ub", split=self._split)
        self.buffers.append(Buffer(operand.name, "gm", operand.shape, operand.dtype, role="input"))
        place = (self.cut.columns if columns else 1, self.cut.filters if filters else 1)
        handover = self._hand(Buffer(f"{operand.name}_ub", "ub", place, operand.dtype, 2), mte2, "vector")
        lies = (
            one("b") if image else _ONE,
            self._filters(n) if filters else _ONE,
            row if rows else _ONE,
            x if columns else _ONE,
        )
        held = Slice(handover.buffer.name, (x.local if columns else _ONE, n.local if filters else _ONE))
        move = Move(Slice(operand.name, lies), held, order=(0, 2, 3, 1))
        return handover, move, registers.Operand(held, operand.dtype, (not columns, not filters))

    def _filters(self, n: Span) -> Span:
        """The block's filters among those of all groups."""
        return Span(variable("g") * self.kernel.filters + variable("n"), n.length)


@dataclass(frozen=True, slots=True)
class _InL0:
    """A tile before the cube."""

    slice: Slice
    hand: Handover


def _times(span: Span, factor: int) -> Span:
    """So many elements for each of a span, from the start."""
    return Span(Affine(), Least(tuple(limit * factor for limit in span.limits)))
