"""Runs a program in its memory: one pool of bytes, every planned tensor a view into it at its planned offset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.arguments import checked, sizes_of
from gexplorer.execution.placing import Placing, place
from gexplorer.execution.program import Instruction, Place, Program, Tensor
from gexplorer.execution.sessions import Sessions
from gexplorer.execution.storage import block, packed, texts, unpacked
from gexplorer.ir.constant import FileSource
from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

# Called behind each instruction with what it wrote, by tensor name; the arrays are gone with the next instruction.
Watch = Callable[[Instruction, Mapping[str, Any]], None]

# What dead memory holds in a poisoned run: NaN in every float type, so that no sum can hide it (a float32 of 0xAA is
# -3e-13, which vanishes beside what it is added to).
POISON = 0xFF
# Plans of shapes that a machine keeps; the least recently used goes.
_MOST_PLACINGS = 64


@dataclass(frozen=True, eq=False)
class Run:
    """What came of one run.

    Attributes:
        outputs: the results by their outside names: arrays, lists for sequences, None for what is absent.
        seconds: wall time of the whole run.
        planning_seconds: the part of it that planning memory for new shapes took; 0 where the plan was there.
        instruction_seconds: [instructions] wall time of each.
        placing: where everything lay.
    """

    outputs: Mapping[str, Any]
    seconds: float
    planning_seconds: float
    instruction_seconds: NDArray[np.float64] = field(repr=False)
    placing: Placing = field(repr=False)


class Machine:
    """Runs one program, any number of times; one run at a time, whatever thread asks.

    Args:
        program: what to run.
        private: gives every tensor memory of its own instead of its place in the plan.
        poison: fills the pool before a run, every result's place before it is written (unless it shares its buffer
            with what is read), and every buffer where its life ends, so that whoever reads too late, or what nobody
            wrote, finds it there. What control flow writes where it ends may lie where something ended within it, so
            that place is filled in between. ``before`` only fills the pool before a run: that is right in any order
            of kernels.
        pattern: the byte that poison is. No byte is wrong for every type: a boolean takes ``POISON`` for true, so that
            only a run with 0 as well finds a lost true.
        sessions: loaded kernels, to share them between machines of one program.
    """

    def __init__(
        self,
        program: Program,
        *,
        private: bool = False,
        poison: bool | Literal["before"] = False,
        pattern: int = POISON,
        sessions: Sessions | None = None,
    ) -> None:
        self.program = program
        self.private = private
        self.poison = poison
        self.pattern = pattern
        self.sessions = sessions or Sessions(program.kernels)
        self._placings: dict[tuple[tuple[str, int], ...], Placing] = {}
        self._constants: dict[str, Any] = {}
        self._pool: Bytes | None = None
        self._ending, self._ending_within = _ending(program) if poison is True else ({}, {})
        self._busy = Lock()

    def run(self, inputs: Mapping[str, Any], *, watch: Watch | None = None) -> Run:
        """Runs the program once.

        Args:
            inputs: an array for every input without a default (a list for a sequence).
            watch: called behind each instruction with what it wrote.

        Raises:
            ModelError: weights are missing, an input has another name, shape or element type than wanted, or a kernel
                fails; the message names the instruction.
        """
        with self._busy:
            return self._run(inputs, watch)

    def _run(self, inputs: Mapping[str, Any], watch: Watch | None) -> Run:
        start = perf_counter()
        self._require_weights()
        given = checked(self.program, inputs)
        placing, planning = self._placing(sizes_of(self.program, given))
        memory = self._memory(placing)
        for name, value in given.items():
            memory.give(self.program.tensors[name], value)
        seconds = np.zeros(len(self.program.instructions))
        for number, instruction in enumerate(self.program.instructions):
            before = perf_counter()
            if self.private or not instruction.is_spared:
                self._execute(instruction, memory, self._ending_within.get(number, ()))
            if watch is not None:
                watch(instruction, {name: memory.read(name) for name in instruction.outputs})
            for buffer in self._ending.get(number, ()):
                memory.fill(buffer)
            seconds[number] = perf_counter() - before
        outputs = {outside: _kept(memory.read(name)) for outside, name in self.program.outputs}
        return Run(outputs, perf_counter() - start, planning, seconds, placing)

    def _execute(self, instruction: Instruction, memory: _Memory, ended: Sequence[int]) -> None:
        inputs = [memory.read(name) for name in instruction.inputs]
        if self.poison is True:
            memory.fill_before(instruction)
        try:
            results = self.sessions.run(instruction.kernel, inputs)
            if ended:
                results = [_kept(value) for value in results]  # one may be what was read, which is poisoned now
                for buffer in ended:
                    memory.fill(buffer)
            memory.write_all(instruction, results)
        except ModelError as error:
            raise ModelError(f"{instruction.name}: {error}") from None

    def _require_weights(self) -> None:
        missing = self.program.missing
        if len(missing) > 0:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            source = self.program.constants[missing[0]].source
            cure = f"; they are looked for in {source.path}" if isinstance(source, FileSource) else ""
            raise ModelError(f"weights not available: {missing[0]}{more}{cure}")

    def _placing(self, sizes: Mapping[str, int]) -> tuple[Placing, float]:
        key = tuple(sorted(sizes.items()))
        found = self._placings.pop(key, None)
        seconds = 0.0
        if found is None:
            start = perf_counter()
            found = place(self.program, sizes)
            seconds = 0.0 if self.program.is_fixed else perf_counter() - start
            if len(self._placings) >= _MOST_PLACINGS:
                self._placings.pop(next(iter(self._placings)))
        self._placings[key] = found
        return found, seconds

    def _memory(self, placing: Placing) -> _Memory:
        pool = None
        if not self.private:
            if self._pool is None or len(self._pool) < placing.pool_bytes:
                self._pool = block(placing.pool_bytes, "the pool")
            pool = self._pool
            if self.poison:
                pool[:] = self.pattern
        return _Memory(self.program, placing, pool, self._constants, self.pattern)


class _Memory:
    """The memory of one run.

    Args:
        program: what runs.
        placing: where buffers lie.
        pool: the pool; None where every tensor has memory of its own.
        constants: arrays of constants that have been read, kept from run to run.
        pattern: the byte that poison is.
    """

    def __init__(
        self, program: Program, placing: Placing, pool: Bytes | None, constants: dict[str, Any], pattern: int
    ) -> None:
        self._pattern = pattern
        self._program = program
        self._tensors = program.tensors
        self._placing = placing
        self._pool = pool
        self._constants = constants
        self._held: dict[str, Any] = {}  # what has memory of its own: outside the pool, or all in a private run
        self._blocks: dict[int, Bytes] = {}  # buffers of inputs, outputs and state

    def give(self, tensor: Tensor, value: Any) -> None:
        """Takes an input; its bytes are read where they lie."""
        if self._pool is None or tensor.buffer < 0 or tensor.dtype is None:
            self._held[tensor.name] = value
        else:
            self._blocks[tensor.buffer] = packed(value, tensor.dtype)

    def read(self, name: str) -> Any:
        """A tensor as the plan says it lies there."""
        if name in self._held:
            return self._held[name]
        tensor = self._tensors[name]
        if name in self._program.constants:
            return self._constant(name)
        array = unpacked(self._place(tensor), _dtype(tensor), self._placing.shapes[name])
        return array if array.flags.aligned else array.copy()  # a plan without alignment may place anything anywhere

    def write_all(self, instruction: Instruction, results: list[Any]) -> None:
        """Puts the results of an instruction where the plan wants them; see ``write``."""
        if len(results) != len(instruction.outputs):
            raise ModelError(f"{len(results)} results, {len(instruction.outputs)} are wanted")
        for name, value in zip(instruction.outputs, results, strict=True):
            self.write(self._tensors[name], value)

    def write(self, tensor: Tensor, value: Any) -> None:
        """Puts a result where the plan wants it.

        Raises:
            ModelError: it has another shape or element type than the plan was made for.
        """
        shape = self._placing.shapes.get(tensor.name)
        if shape is not None and (not isinstance(value, np.ndarray) or value.shape != shape):
            raise ModelError(f"{tensor.name} is planned as {list(shape)}, but has {_described(value)}")
        if shape is not None and value.dtype != _dtype(tensor).numpy():
            raise ModelError(f"{tensor.name} is planned as {_dtype(tensor).label}, but is {value.dtype}")
        if shape is None or self._pool is None:
            self._held[tensor.name] = value
        else:
            self._place(tensor)[:] = packed(value, _dtype(tensor))

    def fill(self, buffer: int) -> None:
        """Poisons a buffer of the pool."""
        if self._pool is not None:
            begin = int(self._placing.offset_bytes[buffer])
            self._pool[begin : begin + int(self._placing.size_bytes[buffer])] = self._pattern

    def fill_before(self, instruction: Instruction) -> None:
        """Poisons the places of results that share no buffer with what is read: nothing may still be needed there.

        What control flow writes where it ends may lie where something is that it reads before.
        """
        if self._pool is None:
            return
        read = {self._tensors[name].buffer for name in instruction.inputs}
        for name in instruction.outputs:
            tensor = self._tensors[name]
            late = tensor.buffer >= 0 and int(self._program.buffers.first[tensor.buffer]) > instruction.first_point
            if tensor.place is not Place.OUTSIDE and tensor.buffer not in read and not late:
                self._place(tensor)[:] = self._pattern
        if instruction.workspace >= 0:
            self.fill(instruction.workspace)

    def _place(self, tensor: Tensor) -> Bytes:
        assert self._pool is not None
        size_bytes = tensor.nbytes(self._placing.shapes[tensor.name])
        if tensor.place is Place.POOL:
            begin = int(self._placing.offset_bytes[tensor.buffer]) + tensor.offset_bytes
            return self._pool[begin : begin + size_bytes]
        memory = self._blocks.get(tensor.buffer)
        if memory is None:
            memory = self._blocks[tensor.buffer] = self._block(tensor)
        return memory[tensor.offset_bytes : tensor.offset_bytes + size_bytes]

    def _block(self, tensor: Tensor) -> Bytes:
        owner = self._program.buffers.names[tensor.buffer]
        if tensor.place is Place.CONSTANT:
            return packed(self._constant(owner), self._program.constants[owner].dtype)
        return block(int(self._placing.size_bytes[tensor.buffer]), tensor.name)

    def _constant(self, name: str) -> Any:
        found = self._constants.get(name)
        if found is None:
            constant = self._program.constants[name]
            found = constant.array()
            if constant.dtype is DType.STRING:
                found = texts(found)
            self._constants[name] = found
        return found


def _dtype(tensor: Tensor) -> Any:
    assert tensor.dtype is not None
    return tensor.dtype


def _described(value: Any) -> str:
    return str(list(value.shape)) if isinstance(value, np.ndarray) else f"a {type(value).__name__}"


def _kept(value: Any) -> Any:
    """A result that the next run does not overwrite."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _ending(program: Program) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The buffers of the pool whose lives end with each instruction, and those whose lives end within it."""
    lasts = np.array([instruction.last_point for instruction in program.instructions], np.int64)
    rows = program.buffers.in_pool
    ending: dict[int, list[int]] = {}
    within: dict[int, list[int]] = {}
    if len(lasts):
        numbers = np.minimum(np.searchsorted(lasts, program.buffers.last[rows]), len(lasts) - 1)
        early = program.buffers.last[rows] < lasts[numbers]
        for number, row, is_early in zip(numbers.tolist(), rows.tolist(), early.tolist(), strict=True):
            (within if is_early else ending).setdefault(number, []).append(row)
    return ending, within
