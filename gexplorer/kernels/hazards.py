"""Checks that a program's flags suffice: whatever the pace of the pipes, no buffer is used too soon.

Every pipe has a clock; an instruction knows which instructions of other pipes are sure to be over, because it stands
behind a wait for a flag that was set behind them (happens-before, by vector clocks). Two instructions that touch the
same copy of a buffer, at least one of them writing, must be ordered that way, or be on one pipe.
Source of the method: Mattern 1989, "Virtual time and global states of distributed systems".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gexplorer.kernels.affine import Bindings
from gexplorer.kernels.program import Mmad, Move, Pipe, Program, SetFlag, Simple, Slice, Swap, VectorOp, WaitFlag
from gexplorer.kernels.text import instruction_text
from gexplorer.kernels.walk import Issued, walk

Clock = dict[Pipe, int]
_Place = tuple[str, int]  # a buffer's copy
_Flag = tuple[Pipe, Pipe, str, int]


@dataclass(frozen=True, slots=True)
class Hazard:
    """What can go wrong.

    Attributes:
        core: where.
        buffer: whose flags are at fault.
        what: ``race`` (two pipes on one copy), ``never_set`` (a wait that never ends), ``set_twice``, ``left_up``
            (a flag that nobody took down when the core was done).
        instruction: the instruction at which it shows; "" at the end.
    """

    core: int
    buffer: str
    what: str
    instruction: str


def hazards(program: Program) -> tuple[Hazard, ...]:
    """Everything that is wrong with a program's flags, each instruction's first fault once; empty for a good one."""
    found: dict[tuple[str, str, str], Hazard] = {}
    core: _Core | None = None
    for issued in walk(program):
        if core is None or issued.core != core.number:
            if core is not None:
                _note(found, core.left_up())
            core = _Core(program, issued.core)
        _note(found, core.follow(issued))
    if core is not None:
        _note(found, core.left_up())
    return tuple(found.values())


def _note(found: dict[tuple[str, str, str], Hazard], new: list[Hazard]) -> None:
    for hazard in new:
        found.setdefault((hazard.buffer, hazard.what, hazard.instruction), hazard)


@dataclass(slots=True)
class _Touched:
    """Who wrote a place last, and who has read it since: pipe and time."""

    written: tuple[Pipe, int] | None = None
    read: Clock = field(default_factory=dict["Pipe", int])


class _Core:
    """One core's clocks, flags and buffers."""

    def __init__(self, program: Program, number: int) -> None:
        self.number = number
        self._program = program
        self._copies = {buffer.name: buffer.copies for buffer in program.buffers}
        self._copy = dict.fromkeys(self._copies, 0)
        self._clocks: dict[Pipe, Clock] = {}
        self._flags: dict[_Flag, Clock] = {}
        self._places: dict[_Place, _Touched] = {}

    def follow(self, issued: Issued) -> list[Hazard]:
        """Takes note of an instruction; what is wrong with it."""
        match issued.instruction:
            case None:
                return []
            case Swap(name):
                self._copy[name] = (self._copy[name] + 1) % self._copies[name]
                return []
            case SetFlag() as flag:
                key = self._key(flag)
                twice = key in self._flags
                self._flags[key] = dict(self._clocks.get(flag.source, {}))
                return [self._hazard(flag.buffer, "set_twice", flag)] if twice else []
            case WaitFlag() as flag:
                seen = self._flags.pop(self._key(flag), None)
                if seen is None:
                    return [self._hazard(flag.buffer, "never_set", flag)]
                clock = self._clocks.setdefault(flag.target, {})
                clock |= {pipe: max(time, clock.get(pipe, 0)) for pipe, time in seen.items()}
                return []
            case instruction:
                return self._touch(instruction, issued.bindings)

    def left_up(self) -> list[Hazard]:
        """Flags that are up at the end."""
        return [Hazard(self.number, flag[2], "left_up", "") for flag in self._flags]

    def _touch(self, instruction: Move | Mmad | VectorOp, bindings: Bindings) -> list[Hazard]:
        pipe = self._program.pipe(instruction)
        assert pipe is not None
        clock = self._clocks.setdefault(pipe, {})
        clock[pipe] = now = clock.get(pipe, 0) + 1
        reads, write = _accesses(instruction, bindings)
        wrong = self._look_up(instruction)
        for name in reads:
            touched = self._touched(name)
            if not _over(touched.written, clock):
                wrong.append(self._hazard(name, "race", instruction))
            touched.read[pipe] = now
        touched = self._touched(write)
        if not (_over(touched.written, clock) and all(_over(read, clock) for read in touched.read.items())):
            wrong.append(self._hazard(write, "race", instruction))
        touched.written, touched.read = (pipe, now), {}
        return wrong

    def _look_up(self, instruction: Move | Mmad | VectorOp) -> list[Hazard]:
        """The scalar unit reads indices before it issues a move."""
        wrong: list[Hazard] = []
        for place in instruction.looked if isinstance(instruction, Move) else ():
            clock = self._clocks.setdefault("scalar", {})
            clock["scalar"] = now = clock.get("scalar", 0) + 1
            touched = self._touched(place.buffer)
            if not _over(touched.written, clock):
                wrong.append(self._hazard(place.buffer, "race", instruction))
            touched.read["scalar"] = now
        return wrong

    def _touched(self, name: str) -> _Touched:
        return self._places.setdefault((name, self._copy[name]), _Touched())

    def _key(self, flag: SetFlag | WaitFlag) -> _Flag:
        copy = self._copy[flag.buffer] if flag.copy is None else flag.copy
        return flag.source, flag.target, flag.buffer, copy

    def _hazard(self, buffer: str, what: str, instruction: Simple) -> Hazard:
        return Hazard(self.number, buffer, what, instruction_text(instruction, self._program))


def _over(event: tuple[Pipe, int] | None, clock: Mapping[Pipe, int]) -> bool:
    """True where an instruction of a pipe is sure to be over."""
    return event is None or clock.get(event[0], 0) >= event[1]


def _accesses(instruction: Move | Mmad | VectorOp, bindings: Bindings) -> tuple[tuple[str, ...], str]:
    """Buffers that an instruction reads, and the one that it writes."""
    match instruction:
        case Move():
            return (instruction.source.buffer,), instruction.destination.buffer
        case VectorOp():
            return tuple(x.buffer for x in instruction.inputs if isinstance(x, Slice)), instruction.out.buffer
        case Mmad():
            reads = (instruction.left.buffer, instruction.right.buffer)
            anew = not instruction.fresh or not bindings[instruction.fresh]
            return (*reads, *((instruction.bias.buffer,) if anew and instruction.bias else ())), instruction.out.buffer
