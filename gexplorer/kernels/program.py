"""The tile program of one kernel: buffers, loops, moves, cube and vector instructions, flags between pipes.

A program is frozen data. It says for one chip which buffers a core holds, how the blocks of the result are dealt out
to cores, and what each core does for a block, in the order in which its scalar unit issues it. Every instruction
belongs to a *pipe*; pipes run on their own, each in order, and wait for each other only at flags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

from gexplorer.ir.dtypes import DType
from gexplorer.kernels.affine import Affine, Bindings, Clipped, Inside, Least, affine, least, variable

Level = Literal["gm", "l1", "l0a", "l0b", "l0c", "bt", "ub"]
Pipe = Literal["mte2", "mte1", "cube", "fixpipe", "mte2v", "vector", "mte3", "scalar"]
Role = Literal["input", "output", "workspace", "local"]

# The pipe of each path. A vector core that is apart from its cube core has an MTE2 of its own, here called mte2v.
PIPES: dict[str, Pipe] = {
    "gm->l1": "mte2",
    "l1->l0a": "mte1",
    "l1->l0b": "mte1",
    "l1->bt": "mte1",
    "l0c->gm": "fixpipe",
    "l0c->ub": "fixpipe",
    "gm->ub": "mte2v",
    "ub->gm": "mte3",
    "ub->l1": "mte3",
}
# What the fixpipe can do to an element on its way out of L0C, besides a cast.
FIXPIPE_STEPS = ("relu",)
# The bias table of a split cube core. Source: catlass, arch.hpp.
BIAS_TABLE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in memory, or a tile's place in a core.

    Attributes:
        name: unique in its program.
        level: where it lies.
        shape: elements along each axis.
        dtype: element type.
        copies: 2 for a double buffer: one is filled while the other is used.
        role: input or output of the kernel, workspace in memory (one for each core), or local to a core.
    """

    name: str
    level: Level
    shape: tuple[int, ...]
    dtype: DType
    copies: int = 1
    role: Role = "local"

    @property
    def tile_bytes(self) -> int:
        """Bytes of one copy."""
        return self.dtype.nbytes(prod(self.shape))

    @property
    def total_bytes(self) -> int:
        """Bytes of all copies."""
        return self.copies * self.tile_bytes


@dataclass(frozen=True, slots=True)
class Looked:
    """A place that the scalar unit looks up: an element of a buffer of indices in UB, negative ones from the end.

    Attributes:
        buffer: where the indices lie, along one axis.
        place: which of them.
        extent: length of the axis that they count along.
    """

    buffer: str
    place: Affine
    extent: int

    @property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """Those of the place."""
        return self.place.terms

    def __str__(self) -> str:
        return f"{self.buffer}[{self.place}]"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one axis: where it starts, and how many elements it has."""

    start: Affine | Clipped | Looked
    length: Least | Inside

    @property
    def limits(self) -> tuple[Affine, ...]:
        """Expressions, the least of which its length is."""
        assert isinstance(self.length, Least)
        return self.length.of

    @property
    def local(self) -> Span:
        """As many elements from the start of the axis on."""
        return Span(Affine(), self.length)


@dataclass(frozen=True, slots=True)
class Slice:
    """A box cut out of a buffer's current copy: one span for each axis."""

    buffer: str
    spans: tuple[Span, ...]

    def shape(self, bindings: Bindings) -> tuple[int, ...]:
        """Its elements along each axis, for given values of the loop variables."""
        return tuple(span.length.at(bindings) for span in self.spans)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of a product that a convolution takes from a feature map (im2col), which L1 to L0A can do.

    The source is [channels, rows, columns]; the destination [output rows, output columns, channels * taps]. What a
    window sees beyond the map is 0.

    Attributes:
        taps: of the kernel, rows and columns.
        stride: steps of the kernel.
        dilation: steps between taps.
        start: row and column of the map, perhaps before it, at which the first window begins.
        places: output rows and columns.
    """

    taps: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    start: tuple[Affine, Affine]
    places: tuple[Least, Least]


@dataclass(frozen=True, slots=True)
class Move:
    """A copy from buffer to buffer; elements are cast to the destination's type.

    Attributes:
        source: what is read.
        destination: what is written; as many elements as the source, but for a window.
        transposed: true where the last two axes change places on the way (L1 to L0A and L0B can).
        through: what the fixpipe does to each element on the way, of ``FIXPIPE_STEPS``.
        order: axes of the source in the order in which they are written; empty for that of the source.
        window: the windows that are taken from a feature map.
    """

    source: Slice
    destination: Slice
    transposed: bool = False
    through: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    window: Window | None = None

    @property
    def looked(self) -> tuple[Looked, ...]:
        """The places that are looked up for it."""
        spans = (*self.source.spans, *self.destination.spans)
        return tuple(span.start for span in spans if isinstance(span.start, Looked))


@dataclass(frozen=True, slots=True)
class Mmad:
    """A product of two tiles, added to the accumulator.

    Attributes:
        out: in L0C, [m, n].
        left: in L0A, [m, k].
        right: in L0B, [k, n].
        fresh: the loop variable whose value 0 means that the accumulator starts anew; "" for always.
        bias: in the bias table, [1, n]: what it starts from; None for zero.
    """

    out: Slice
    left: Slice
    right: Slice
    fresh: str = ""
    bias: Slice | None = None


@dataclass(frozen=True, slots=True)
class VectorOp:
    """One instruction over tiles in UB: elementwise (axes of length 1 are repeated), or a reduction of the last axis.

    Attributes:
        op: its name, of ``vector_ops.ELEMENTWISE``, ``vector_ops.REDUCTIONS`` or ``vector_ops.INDICES``.
        out: what is written; a reduction leaves its last axis with length 1.
        inputs: tiles, numbers, or numbers that the scalar unit works out from the loop variables.
    """

    op: str
    out: Slice
    inputs: tuple[Slice | Affine | float, ...]


@dataclass(frozen=True, slots=True)
class SetFlag:
    """Pipe ``source`` says to pipe ``target`` that it is done with a buffer's current copy, or with ``copy``."""

    source: Pipe
    target: Pipe
    buffer: str
    copy: int | None = None


@dataclass(frozen=True, slots=True)
class WaitFlag:
    """Pipe ``target`` waits until ``source`` has said so, and takes the flag down."""

    source: Pipe
    target: Pipe
    buffer: str
    copy: int | None = None


@dataclass(frozen=True, slots=True)
class Swap:
    """From here on the next copy of a buffer is its current one."""

    buffer: str


@dataclass(frozen=True, slots=True)
class Loop:
    """Its body again and again; the variable goes from 0 in steps while it is below the extent."""

    variable: str
    extent: Least
    step: int
    body: tuple[Instruction, ...]


Instruction = Move | Mmad | VectorOp | SetFlag | WaitFlag | Swap | Loop
Simple = Move | Mmad | VectorOp | SetFlag | WaitFlag | Swap


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis along which the result is cut into blocks."""

    variable: str
    extent: int
    step: int

    @property
    def blocks(self) -> int:
        """Blocks along it, the ragged last one included."""
        return -(-self.extent // self.step)

    @property
    def span(self) -> Span:
        """The stretch that the block at hand covers."""
        return tile(self.variable, self.step, self.extent)


@dataclass(frozen=True, slots=True)
class Program:
    """What every core of a chip does for one kernel.

    Attributes:
        name: of the kernel.
        chip: name of the chip.
        split: true where cube and vector cores are apart and meet in memory only.
        cores: cores that the blocks are dealt out to: cube cores (each with its vector cores), or vector cores where
            the cube has nothing to do.
        buffers: in memory first.
        axes: block (i, j, ...) of the grid over these axes, the last one running fastest, is number b; core c takes
            blocks c, c + cores, c + 2 * cores, ...
        start: what a core does before its first block.
        body: what it does for each.
        finish: what it does after its last.
    """

    name: str
    chip: str
    split: bool
    cores: int
    buffers: tuple[Buffer, ...]
    axes: tuple[Axis, ...]
    start: tuple[Instruction, ...]
    body: tuple[Instruction, ...]
    finish: tuple[Instruction, ...]

    @property
    def blocks(self) -> int:
        """Blocks of the result."""
        return prod(axis.blocks for axis in self.axes)

    def buffer(self, name: str) -> Buffer:
        """The buffer of that name; KeyError where there is none."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)

    def of_role(self, role: Role) -> tuple[Buffer, ...]:
        """The buffers of a role, in order."""
        return tuple(buffer for buffer in self.buffers if buffer.role == role)

    def path(self, move: Move) -> str:
        """The path of a move, such as ``gm->l1``."""
        return f"{self.buffer(move.source.buffer).level}->{self.buffer(move.destination.buffer).level}"

    def pipe(self, instruction: Simple) -> Pipe | None:
        """The pipe that executes an instruction; None for what the scalar unit does by itself."""
        match instruction:
            case Move():
                return pipe_of(self.path(instruction), split=self.split)
            case Mmad():
                return "cube"
            case VectorOp():
                return "vector"
            case SetFlag():
                return instruction.source
            case WaitFlag():
                return instruction.target
            case Swap():
                return None

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction once, loops before what is in them."""
        waiting = [*self.start, *self.body, *self.finish][::-1]
        while waiting:
            found = waiting.pop()
            yield found
            if isinstance(found, Loop):
                waiting.extend(found.body[::-1])


def pipe_of(path: str, *, split: bool) -> Pipe:
    """The pipe of a path; KeyError where no chip has it."""
    pipe = PIPES[path]
    return "mte2" if pipe == "mte2v" and not split else pipe


def tile(name: str, step: int, extent: int | Affine) -> Span:
    """The stretch of an axis that a loop in such steps is at: ``step`` elements, fewer at the end."""
    return Span(variable(name), least(step, affine(extent) - variable(name)))


def whole(*lengths: int) -> tuple[Span, ...]:
    """All of axes of these lengths."""
    return tuple(Span(Affine(), least(length)) for length in lengths)


def one(name: str) -> Span:
    """The one element of an axis that a variable names."""
    return Span(variable(name), least(1))
