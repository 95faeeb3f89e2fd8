"""Runs a program in its pool and with private buffers, and finds the first kernel that then gives other bits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.machine import POISON, Machine
from gexplorer.execution.program import Instruction, Place, Program
from gexplorer.execution.sessions import Sessions
from gexplorer.validation.original import KernelError

if TYPE_CHECKING:
    from gexplorer.execution.placing import Placing

    Feed = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Clobbered:
    """Where a run in the pool went wrong.

    Attributes:
        instruction: the first one that gives other bits; "" where all give the same and only an input was lost.
        tensor: what it reads, or the input, whose bytes are no longer what they were; "" where none can be told.
        culprit: the tensor that was written there in between, "" where the bytes were poisoned as dead.
        writer: the instruction that wrote it.
        output: the first result that differs, "" where none does: the error stays inside.
        wrong_bytes: how many of its bytes.
    """

    instruction: str
    tensor: str
    culprit: str
    writer: str
    output: str
    wrong_bytes: int


class PoolTrial:
    """One program, run in several ways on the same inputs.

    Args:
        program: what runs; its plan need not be sound.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._sessions = Sessions(program.kernels)
        self._private = Machine(program, private=True, sessions=self._sessions)
        self.pool_bytes = 0
        self._known: tuple[Feed, dict[str, bytes], Mapping[str, Any]] | None = None

    def results(self, feed: Feed) -> Mapping[str, Any]:
        """The results with private buffers, by their outside names."""
        return self._reference(feed)[1]

    def unsteady(self, feed: Feed) -> str:
        """The first instruction that gives other bits when all is run again with private buffers; "" for none."""
        first, second = self._private_run(feed)[0], self._private_run(feed)[0]
        return next((name for name, digest in first.items() if second[name] != digest), "")

    def compare(
        self, feed: Feed, order: Sequence[Instruction] | None = None, pattern: int = POISON
    ) -> Clobbered | None:
        """Runs the program with private buffers and in the pool; None where every result has the same bits.

        Args:
            feed: the inputs.
            order: another order of the instructions that streams and events allow, run in a pool full of poison; None
                for the plan's own, which is run with dead bytes poisoned too.
            pattern: the byte that poison is.

        Raises:
            KernelError: it cannot be run with private buffers either.
            ModelError: it cannot be run in its pool.
        """
        wanted, expected = self._reference(feed)
        program = self.program if order is None else replace(self.program, instructions=tuple(order))
        pooled = Machine(program, poison=True if order is None else "before", pattern=pattern, sessions=self._sessions)
        given = {name: _copied(value) for name, value in feed.items()}
        wrong: list[Instruction] = []

        def watch(instruction: Instruction, written: Mapping[str, Any]) -> None:
            if not wrong and digest_of(written) != wanted[instruction.name]:
                wrong.append(instruction)

        try:
            run = pooled.run(given, watch=watch)
        except ValueError as error:  # numpy's, of a tensor that reaches beyond its memory
            raise ModelError(f"a tensor does not fit where the plan puts it: {error}") from None
        self.pool_bytes = run.placing.pool_bytes
        if wrong:
            return self._explained(wrong[0], program.instructions, run.placing, expected, run.outputs)
        for name, value in expected.items():
            if _bits(value) != _bits(run.outputs[name]):
                tensor = dict(self.program.outputs)[name]
                return self._lost(tensor, program.instructions, run.placing, name, value, run.outputs[name])
        for name, value in feed.items():
            if _bits(value) != _bits(given[name]):
                return self._lost(name, program.instructions, run.placing, "", value, given[name])
        return None

    def _reference(self, feed: Feed) -> tuple[dict[str, bytes], Mapping[str, Any]]:
        """What every instruction writes, as fingerprints, and the results; kept for the last inputs."""
        if self._known is None or self._known[0] is not feed:
            self._known = (feed, *self._private_run(feed))
        return self._known[1:]

    def _private_run(self, feed: Feed) -> tuple[dict[str, bytes], Mapping[str, Any]]:
        found: dict[str, bytes] = {}

        def watch(instruction: Instruction, written: Mapping[str, Any]) -> None:
            found[instruction.name] = digest_of(written)

        try:
            return found, self._private.run(feed, watch=watch).outputs
        except ModelError as error:
            raise KernelError(str(error)) from None

    def _explained(
        self,
        wrong: Instruction,
        order: Sequence[Instruction],
        placing: Placing,
        expected: Mapping[str, Any],
        actual: Mapping[str, Any],
    ) -> Clobbered:
        output = next((name for name, value in expected.items() if _bits(value) != _bits(actual[name])), "")
        count = _differing(expected[output], actual[output]) if output else 0
        for tensor in wrong.inputs:
            culprit, writer = self._overwriter(tensor, wrong, order, placing)
            if culprit:
                return Clobbered(wrong.name, tensor, culprit, writer, output, count)
        dead = next((name for name in wrong.inputs if self._is_dead(name, wrong)), "")
        return Clobbered(wrong.name, dead, "", "", output, count)

    def _lost(
        self, tensor: str, order: Sequence[Instruction], placing: Placing, output: str, expected: Any, actual: Any
    ) -> Clobbered:
        culprit, writer = self._overwriter(tensor, None, order, placing)
        return Clobbered("", tensor, culprit, writer, output, _differing(expected, actual))

    def _overwriter(
        self, tensor: str, reader: Instruction | None, order: Sequence[Instruction], placing: Placing
    ) -> tuple[str, str]:
        """What was written last over a tensor's bytes between its own writer and a reader, and by whom."""
        mine = self._range(tensor, placing)
        if mine is None:
            return "", ""
        found = ("", "")
        for instruction in order:
            if instruction is reader:
                # its own results count: where they lie over what it reads, they are poisoned before it starts
                shared = [name for name in instruction.outputs if self._meets(name, mine, placing)]
                shared = [name for name in shared if self._buffer(name) != self._buffer(tensor)]
                return (shared[0], instruction.name) if shared and not found[0] else found
            if tensor in instruction.outputs:
                found = ("", "")
            elif not instruction.is_spared:
                for name in instruction.outputs:
                    if self._meets(name, mine, placing):
                        found = (name, instruction.name)
        return found

    def _meets(self, name: str, mine: tuple[object, int, int], placing: Placing) -> bool:
        its = self._range(name, placing)
        return its is not None and its[0] == mine[0] and max(its[1], mine[1]) < min(its[2], mine[2])

    def _range(self, name: str, placing: Placing) -> tuple[object, int, int] | None:
        """Which memory a tensor lies in, its first byte there and the byte behind its last."""
        tensor = self.program.tensors[name]
        if tensor.buffer < 0 or name not in placing.shapes:
            return None
        size = tensor.nbytes(placing.shapes[name])
        if tensor.place is Place.POOL:
            begin = int(placing.offset_bytes[tensor.buffer]) + tensor.offset_bytes
            return "pool", begin, begin + size
        return tensor.buffer, tensor.offset_bytes, tensor.offset_bytes + size

    def _buffer(self, name: str) -> int:
        return self.program.tensors[name].buffer

    def _is_dead(self, name: str, reader: Instruction) -> bool:
        """Whether the life of a tensor's buffer ends before the instruction that reads it."""
        tensor, buffers = self.program.tensors[name], self.program.buffers
        return tensor.place is Place.POOL and int(buffers.last[tensor.buffer]) < reader.first_point


def digest_of(written: Mapping[str, Any]) -> bytes:
    """A fingerprint of the bits of some tensors."""
    digest = hashlib.blake2b(digest_size=16)
    for value in written.values():
        digest.update(_bits(value))
    return digest.digest()


def _bits(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return repr((value.shape, value.tolist())).encode(errors="surrogatepass")
        return repr((value.shape, value.dtype.name)).encode() + value.tobytes()
    if isinstance(value, list):
        return b"".join(_bits(item) for item in value)
    return repr(value).encode()


def _differing(expected: Any, actual: Any) -> int:
    a, b = (np.frombuffer(_bits(value), np.uint8) for value in (expected, actual))
    return int(np.count_nonzero(a != b)) if len(a) == len(b) else max(len(a), len(b))


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value
