"""How the sums of a block leave L0C: by the fixpipe alone, or strip by strip through the vector unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gexplorer.hardware.spec import Chip
from gexplorer.kernels import registers
from gexplorer.kernels.affine import Affine, least, variable
from gexplorer.kernels.gemm_kernel import Assignment, GemmKernel, GemmTile, Operand
from gexplorer.kernels.handover import Handover, Instructions
from gexplorer.kernels.program import Buffer, Instruction, Loop, Move, Pipe, Slice, Span, pipe_of, tile

_ONE = Span(Affine(), least(1))
_ROW = 16  # strips are a multiple of this many rows where UB holds as many


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a program.

    Attributes:
        body: what is done for a block.
        buffers: what it needs.
        handovers: whose flags it uses.
    """

    body: Instructions
    buffers: tuple[Buffer, ...] = ()
    handovers: tuple[Handover, ...] = ()


@dataclass(slots=True)
class _Strip:
    """The parts of a strip as they come together."""

    buffers: list[Buffer] = field(default_factory=list[Buffer])
    handovers: list[Handover] = field(default_factory=list[Handover])
    block: list[Instruction] = field(default_factory=list[Instruction])
    turn: list[Instruction] = field(default_factory=list[Instruction])
    held: list[Handover] = field(default_factory=list[Handover])

    def add(self, handover: Handover, *more: Buffer) -> Handover:
        self.buffers += [*more, handover.buffer]
        self.handovers.append(handover)
        return handover


def output_slice(out: Buffer, m: Span, n: Span) -> Slice:
    """The block's place in the result, [batch, m, n]."""
    return Slice(out.name, (Span(variable("b"), least(1)), m, n))


def fixpipe_epilogue(out: Buffer, sums: Handover, m: Span, n: Span, through: tuple[str, ...]) -> Part:
    """The fixpipe moves the block to memory, and casts it."""
    block = Slice(sums.buffer.name, (m.local, n.local))
    return Part(sums.use(Move(block, output_slice(out, m, n), through=through)))


def vector_epilogue(
    kernel: GemmKernel, cut: GemmTile, chip: Chip, assigned: Assignment[Operand], out: Buffer, sums: Handover
) -> Part:
    """The vector unit takes the block over, in strips of as many rows as UB holds."""
    rows = strip_rows(kernel, cut, chip, assigned)
    return _strips(kernel, cut, chip, assigned, out, sums, rows)


def strip_rows(kernel: GemmKernel, cut: GemmTile, chip: Chip, assigned: Assignment[Operand]) -> int:
    """Rows of a strip: as many as UB holds, at least one."""
    one, two = (strip_bytes(kernel, cut, chip, assigned, rows) for rows in (1, 2))
    room = chip.capacity.ub_bytes - (2 * one - two)
    rows = max(1, min(cut.m, room // (two - one)))
    return rows if rows < _ROW else rows // _ROW * _ROW


def strip_bytes(kernel: GemmKernel, cut: GemmTile, chip: Chip, assigned: Assignment[Operand], rows: int) -> int:
    """Bytes of UB for strips of so many rows."""
    sums = Handover(Buffer("sums", "l0c", (cut.m, cut.n), kernel.sum_dtype), "cube", "fixpipe")
    out = Buffer("out", "gm", (1, 1, 1), kernel.out_dtype)
    part = _strips(kernel, cut, chip, assigned, out, sums, rows)
    return sum(buffer.total_bytes for buffer in part.buffers if buffer.level == "ub")


def _strips(
    kernel: GemmKernel, cut: GemmTile, chip: Chip, assigned: Assignment[Operand], out: Buffer, sums: Handover, rows: int
) -> Part:
    assert assigned.vector is not None
    m, n = tile("m", cut.m, kernel.work.m), tile("n", cut.n, kernel.work.n)
    split = chip.cube_vector_path == "gm"
    mte2 = pipe_of("gm->ub", split=split)
    strip = Span(variable("r"), least(rows, *(length - variable("r") for length in m.limits)))
    in_memory = Span(variable("m") + variable("r"), strip.length)
    shape, dtype = (rows, cut.n), kernel.sum_dtype
    parts = _Strip()
    product = Slice("product_ub", (strip.local, n.local))
    block = Slice(sums.buffer.name, (m.local, n.local))
    if split:
        workspace = Buffer("product", "gm", (cut.m, cut.n), dtype, 2, "workspace")
        over = parts.add(Handover(workspace, "fixpipe", mte2))
        into = parts.add(Handover(Buffer("product_ub", "ub", shape, dtype, 2), mte2, "vector"))
        parts.block += over.fill(*sums.use(Move(block, Slice("product", (m.local, n.local)))))
        parts.held.append(over)
        parts.turn += into.fill(Move(Slice("product", (strip, n.local)), product))
    else:
        into = parts.add(Handover(Buffer("product_ub", "ub", shape, dtype, 2), "fixpipe", "vector"))
        parts.held.append(sums)
        parts.turn += into.fill(Move(Slice(sums.buffer.name, (strip, n.local)), product))
    parts.block += parts.held[0].get

    in_strip, in_block = _load_operands(parts, assigned.operands, kernel, (rows, cut.n), (in_memory, strip, n), mte2)
    leave = parts.add(Handover(Buffer("out_ub", "ub", shape, kernel.out_dtype, 2), "vector", "mte3"))
    result = Slice("out_ub", (strip.local, n.local))
    operands = [registers.Operand(product, dtype, (False, False))]
    operands += [_operand(operand, strip, n) for operand in assigned.operands]
    placed = registers.place(assigned.vector, operands, (result,), shape, (strip, n))
    loaded = (into, *in_strip)
    parts.turn += [i for handover in loaded for i in handover.get]
    parts.turn += leave.fill(*placed.instructions)
    parts.turn += [i for handover in loaded for i in handover.free]
    parts.turn += leave.use(Move(result, output_slice(out, in_memory, n)))
    loop = Loop("r", least(*m.limits), rows, tuple(parts.turn))
    got = [i for handover in in_block for i in handover.get]
    freed = [i for handover in (*in_block, *parts.held) for i in handover.free]
    return Part((*parts.block, *got, loop, *freed), (*parts.buffers, *placed.buffers), tuple(parts.handovers))


def _load_operands(
    parts: _Strip,
    operands: Sequence[Operand],
    kernel: GemmKernel,
    shape: tuple[int, int],
    spans: tuple[Span, Span, Span],
    mte2: Pipe,
) -> tuple[list[Handover], list[Handover]]:
    """Moves the other inputs to UB: columns and whole tensors with each strip, rows once for the block."""
    in_memory, strip, n = spans
    in_strip: list[Handover] = []
    in_block: list[Handover] = []
    for operand in operands:
        batch, height, width = (size > 1 for size in operand.shape)
        source = Slice(
            operand.name,
            (
                Span(variable("b"), least(1)) if batch else _ONE,
                in_memory if height else _ONE,
                n if width else _ONE,
            ),
        )
        place = (shape[0] if height else 1, shape[1] if width else 1)
        buffer = Buffer(f"{operand.name}_ub", "ub", place, operand.dtype, 2)
        handover = parts.add(
            Handover(buffer, mte2, "vector"),
            Buffer(operand.name, "gm", operand.shape, operand.dtype, role="input"),
        )
        move = Move(source, _operand(operand, strip, n).slice)
        if height:
            in_strip.append(handover)
            parts.turn += handover.fill(move)
        else:
            in_block.append(handover)
            parts.block += handover.fill(move)
    return in_strip, in_block


def _operand(operand: Operand, strip: Span, n: Span) -> registers.Operand:
    _, height, width = (size > 1 for size in operand.shape)
    spans = (strip.local if height else _ONE, n.local if width else _ONE)
    return registers.Operand(Slice(f"{operand.name}_ub", spans), operand.dtype, (not height, not width))
