"""Runs a tile program in numpy: real numbers through buffers of the chip's real sizes, every byte counted.

The cores run one after the other, each in the order in which its scalar unit issues: with flags that suffice
(``hazards`` checks that) no other order of the pipes gives another result. What is in a buffer before anything has
been moved there is NaN, so a tile that reads too much spoils the result instead of happening to be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

import numpy as np

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.affine import Affine, Bindings
from gexplorer.kernels.count import Counts, Tally
from gexplorer.kernels.program import (
    BIAS_TABLE_BYTES,
    Buffer,
    Level,
    Looked,
    Mmad,
    Move,
    Program,
    SetFlag,
    Simple,
    Slice,
    Span,
    Swap,
    VectorOp,
    WaitFlag,
    Window,
)
from gexplorer.kernels.vector_ops import INDICES, Array, compute, index
from gexplorer.kernels.walk import Issued, walk


@dataclass(frozen=True, slots=True)
class Run:
    """What a program gave.

    Attributes:
        outputs: by name of the output buffer, read-only.
        counts: bytes and instructions.
    """

    outputs: Mapping[str, Array]
    counts: Counts


@dataclass(frozen=True, slots=True)
class Step:
    """The machine right after an instruction.

    Attributes:
        core: the core that issued it.
        block: number of its block; None before its first and after its last.
        instruction: the instruction; None where a turn or a block ends.
        bindings: values of the loop variables.
        buffers: contents of the core's buffers (the current copies) and of memory, by name: read-only views that go
            on changing, so copy what is to be kept.
        counts: bytes and instructions so far.
    """

    core: int
    block: int | None
    instruction: Simple | None
    bindings: Bindings
    buffers: Mapping[str, Array]
    counts: Counts


def run(program: Program, chip: Chip, inputs: Mapping[str, Array]) -> Run:
    """Runs a program to its end.

    Args:
        program: made for this chip.
        chip: gives the sizes of the buffers.
        inputs: an array for each input buffer, of its shape and element type.

    Raises:
        OptionError: a buffer does not fit, an input is missing or of another kind.
    """
    machine = Machine(program, chip, inputs)
    for issued in walk(program):
        machine.execute(issued)
    return Run(machine.outputs, machine.counts)


def steps(program: Program, chip: Chip, inputs: Mapping[str, Array], *, tiles: bool = False) -> Iterator[Step]:
    """Runs a program step by step; arguments and errors as for ``run``.

    Args:
        program: made for this chip.
        chip: gives the sizes of the buffers.
        inputs: an array for each input buffer.
        tiles: true to stop after each tile (a turn of an innermost loop, a block) only, not after each instruction.
    """
    machine = Machine(program, chip, inputs)
    for issued in walk(program):
        machine.execute(issued)
        if (issued.instruction is None) == tiles:
            bindings = MappingProxyType(dict(issued.bindings))
            yield Step(issued.core, issued.block, issued.instruction, bindings, machine.buffers, machine.counts)


def require_capacity(program: Program, chip: Chip) -> None:
    """Raises OptionError for the first level of a core whose buffers are larger than it is."""
    for level, capacity in capacities(chip).items():
        buffers = [buffer for buffer in program.buffers if buffer.level == level]
        need = sum(buffer.total_bytes for buffer in buffers)
        if need > capacity:
            parts = ", ".join(f"{b.name} {b.copies} x {b.tile_bytes}" for b in buffers)
            raise OptionError(f"{program.name}: {level} overflows: {need} bytes ({parts}), {chip.name} has {capacity}")


def capacities(chip: Chip) -> dict[Level, int]:
    """Bytes of each level of one core."""
    size = chip.capacity
    return {
        "l1": size.l1_bytes,
        "l0a": size.l0a_bytes,
        "l0b": size.l0b_bytes,
        "l0c": size.l0c_bytes,
        "bt": BIAS_TABLE_BYTES if chip.cube_vector_path == "gm" else 0,
        "ub": size.ub_bytes,
    }


@dataclass(slots=True)
class Machine:
    """The cores' buffers and memory while a program runs; ``execute`` takes what ``walk`` gives."""

    program: Program
    chip: Chip
    given: Mapping[str, Array]
    _kinds: dict[str, Buffer] = field(init=False)
    _memory: dict[str, Array] = field(default_factory=dict[str, Array])
    _local: dict[str, list[Array]] = field(default_factory=dict[str, "list[Array]"])
    _copy: dict[str, int] = field(default_factory=dict[str, int])
    _core: int = -1
    _tally: Tally = field(init=False)

    def __post_init__(self) -> None:
        if self.program.chip != self.chip.name:
            raise OptionError(f"{self.program.name}: made for {self.program.chip}, not for {self.chip.name}")
        require_capacity(self.program, self.chip)
        self._kinds = {buffer.name: buffer for buffer in self.program.buffers}
        self._tally = Tally(self.program)
        for buffer in self.program.of_role("input"):
            self._memory[buffer.name] = _checked(self.program.name, buffer, self.given.get(buffer.name))
        for buffer in self.program.of_role("output"):
            self._memory[buffer.name] = _unset(buffer)

    @property
    def outputs(self) -> Mapping[str, Array]:
        """The output buffers, read-only."""
        return MappingProxyType({b.name: _read_only(self._memory[b.name]) for b in self.program.of_role("output")})

    @property
    def counts(self) -> Counts:
        """Bytes and instructions so far."""
        return self._tally.counts

    @property
    def buffers(self) -> Mapping[str, Array]:
        """Read-only views of memory and of the current copies of the core's buffers."""
        local = {name: copies[self._copy[name]] for name, copies in self._local.items()}
        return MappingProxyType({name: _read_only(array) for name, array in (self._memory | local).items()})

    def execute(self, issued: Issued) -> None:
        """Does what an instruction says, and counts it."""
        instruction = issued.instruction
        if issued.core != self._core:
            self._enter(issued.core)
        if instruction is None:
            return
        self._tally.add(issued.core, instruction, issued.bindings)
        match instruction:
            case Move():
                self._move(instruction, issued.bindings)
            case Mmad():
                self._mmad(instruction, issued.bindings)
            case VectorOp():
                self._vector(instruction, issued.bindings)
            case Swap():
                copies = self._kinds[instruction.buffer].copies
                self._copy[instruction.buffer] = (self._copy[instruction.buffer] + 1) % copies
            case SetFlag() | WaitFlag():
                pass  # the order in which the instructions come here keeps every flag; see ``hazards``

    def _enter(self, core: int) -> None:
        """A new core starts with empty buffers."""
        self._core = core
        own = [*self.program.of_role("local"), *self.program.of_role("workspace")]
        self._local = {b.name: [_unset(b) for _ in range(b.copies)] for b in own}
        self._copy = dict.fromkeys(self._local, 0)

    def _view(self, part: Slice, bindings: Bindings) -> Array:
        name = part.buffer
        array = self._memory[name] if name in self._memory else self._local[name][self._copy[name]]
        cut: list[slice] = []
        for span, size in zip(part.spans, array.shape, strict=True):
            start, length = self._start(span, bindings), span.length.at(bindings)
            if start < 0 or start + length > size:
                raise IndexError(f"{self.program.name}: {name} has {size} elements, not {start} to {start + length}")
            cut.append(slice(start, start + length))
        return array[tuple(cut)]

    def _start(self, span: Span, bindings: Bindings) -> int:
        if not isinstance(span.start, Looked):
            return span.start.at(bindings)
        found = int(self._local[span.start.buffer][self._copy[span.start.buffer]][span.start.place.at(bindings)])
        return found + span.start.extent if found < 0 else found

    def _move(self, move: Move, bindings: Bindings) -> None:
        source, destination = self._view(move.source, bindings), self._view(move.destination, bindings)
        if move.transposed:
            source = np.swapaxes(source, -1, -2)
        if move.order:
            source = source.transpose(move.order)
        if move.window is not None:
            source = windows(source, move.window, bindings)
        if "relu" in move.through:
            source = np.maximum(source, 0)
        if source.size != destination.size:
            raise ValueError(f"{self.program.name}: {source.shape} does not fill {destination.shape}")
        destination[...] = source.reshape(destination.shape)

    def _mmad(self, mmad: Mmad, bindings: Bindings) -> None:
        out = self._view(mmad.out, bindings)
        product = np.matmul(
            self._view(mmad.left, bindings).astype(out.dtype), self._view(mmad.right, bindings).astype(out.dtype)
        )
        if mmad.fresh and bindings[mmad.fresh]:
            out += product
        elif mmad.bias is not None:
            out[...] = self._view(mmad.bias, bindings) + product
        else:
            out[...] = product

    def _vector(self, op: VectorOp, bindings: Bindings) -> None:
        out = self._view(op.out, bindings)
        if op.op in INDICES:
            out[...] = index(op.op, out.shape)
            return
        inputs: list[Array | float] = []
        for part in op.inputs:
            if isinstance(part, Slice):
                inputs.append(self._view(part, bindings))
            else:
                inputs.append(out.dtype.type(part.at(bindings) if isinstance(part, Affine) else part))
        result = compute(op.op, tuple(inputs))
        out[...] = np.broadcast_to(result, out.shape)


def windows(source: Array, window: Window, bindings: Bindings) -> Array:
    """What a window move takes from a feature map [channels, rows, columns]: [rows, columns, channels * taps]."""
    places = [length.at(bindings) for length in window.places]
    starts = [start.at(bindings) for start in window.start]
    rows, columns = (
        np.arange(count)[:, None] * stride + np.arange(taps) * dilation + min(start, 0)
        for count, stride, taps, dilation, start in zip(
            places, window.stride, window.taps, window.dilation, starts, strict=True
        )
    )
    _, height, width = source.shape
    # Behind the last row and column of what is in L1 stand zeros, which every place beyond it is sent to.
    held = np.pad(source, ((0, 0), (0, 1), (0, 1)))
    y = np.where((rows >= 0) & (rows < height), rows, height)[:, :, None, None]
    x = np.where((columns >= 0) & (columns < width), columns, width)
    taken = held[:, y, x]  # [channels, rows, taps, columns, taps]
    return np.ascontiguousarray(taken.transpose(1, 3, 0, 2, 4)).reshape(*places, -1)


def _unset(buffer: Buffer) -> Array:
    """An array whose elements nobody has written."""
    array: Array = np.empty(buffer.shape, buffer.dtype.numpy())
    array.fill(np.nan if buffer.dtype.is_float else 1 if buffer.dtype == DType.BOOL else 85)
    return array


def _checked(program: str, buffer: Buffer, array: Array | None) -> Array:
    if array is None:
        raise OptionError(f"{program}: no array for input {buffer.name}")
    if array.dtype != buffer.dtype.numpy() or prod(array.shape) != prod(buffer.shape):
        wanted = f"{buffer.dtype.label}{list(buffer.shape)}"
        raise OptionError(f"{program}: input {buffer.name} is {array.dtype}{list(array.shape)}, not {wanted}")
    return array.reshape(buffer.shape)


def _read_only(array: Array) -> Array:
    view: Array = array.view()
    view.flags.writeable = False
    return view
