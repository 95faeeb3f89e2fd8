"""Bytes and instructions of a program, by core, without touching data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

from gexplorer.kernels.affine import Bindings
from gexplorer.kernels.program import Mmad, Move, Program, SetFlag, Simple, Slice, Swap, VectorOp, WaitFlag
from gexplorer.kernels.walk import walk

NAMES: Mapping[type, str] = MappingProxyType(
    {Move: "move", Mmad: "mmad", VectorOp: "vector", SetFlag: "set", WaitFlag: "wait", Swap: "swap"}
)


@dataclass(frozen=True, slots=True)
class Counts:
    """What the cores have moved and issued.

    Attributes:
        bytes_by_core: bytes by core and path, such as ``(0, "gm->l1")``; what is written is counted where a move casts
            on its way out of a core, what is read elsewhere: so in memory every byte is one that memory sees.
        instructions_by_core: number of instructions by core and name: ``move``, ``mmad``, ``vector``, ``set``,
            ``wait``, ``swap``.
        vector_elements: elements that vector instructions went over, by name of the instruction.
        products: multiplications of the cube.
    """

    bytes_by_core: Mapping[tuple[int, str], int]
    instructions_by_core: Mapping[tuple[int, str], int]
    vector_elements: Mapping[str, int]
    products: int

    @property
    def bytes_by_path(self) -> dict[str, int]:
        """Bytes of all cores together."""
        return _summed(self.bytes_by_core)

    @property
    def instructions(self) -> dict[str, int]:
        """Instructions of all cores together."""
        return _summed(self.instructions_by_core)

    @property
    def memory_bytes(self) -> int:
        """Bytes between memory (L2 and HBM) and the cores."""
        return sum(n for (_, path), n in self.bytes_by_core.items() if path.startswith("gm->") or path.endswith("->gm"))


@dataclass(slots=True)
class Tally:
    """Counts as they grow; ``counts`` is what has come together so far."""

    program: Program
    _bytes: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])
    _instructions: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])
    _vector: Counter[str] = field(default_factory=Counter[str])
    _products: int = 0
    _paths: dict[int, tuple[str, int]] = field(default_factory=dict[int, "tuple[str, int]"])

    def add(self, core: int, instruction: Simple, bindings: Bindings) -> None:
        """Counts one instruction."""
        self._instructions[core, NAMES[type(instruction)]] += 1
        match instruction:
            case Move():
                path, bits = self._path(instruction)
                # A window reads elements again and again; what it writes is what the path carries.
                seen = instruction.source if instruction.window is None else instruction.destination
                self._bytes[core, path] += (bits * prod(seen.shape(bindings)) + 7) // 8
            case Mmad():
                self._products += prod(instruction.left.shape(bindings)) * instruction.right.shape(bindings)[-1]
            case VectorOp():
                shapes = [s.shape(bindings) for s in (instruction.out, *instruction.inputs) if isinstance(s, Slice)]
                self._vector[instruction.op] += max(map(prod, shapes))
            case _:
                pass

    def _path(self, move: Move) -> tuple[str, int]:
        known = self._paths.get(id(move))
        if known is None:
            path = self.program.path(move)
            seen = move.destination if path.startswith("l0c->") else move.source
            known = self._paths[id(move)] = path, self.program.buffer(seen.buffer).dtype.bits
        return known

    @property
    def counts(self) -> Counts:
        """What has been counted."""
        return Counts(
            MappingProxyType(dict(self._bytes)),
            MappingProxyType(dict(self._instructions)),
            MappingProxyType(dict(self._vector)),
            self._products,
        )


def count(program: Program) -> Counts:
    """What a program moves and issues."""
    counter = Tally(program)
    for issued in walk(program):
        if issued.instruction is not None:
            counter.add(issued.core, issued.instruction, issued.bindings)
    return counter.counts


def _summed(by_core: Mapping[tuple[int, str], int]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for (_, name), number in sorted(by_core.items()):
        total[name] += number
    return dict(sorted(total.items()))
