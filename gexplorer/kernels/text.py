"""A tile program as text: the same program always gives the same lines."""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.kernels.affine import Affine, Inside, Least, least, variable
from gexplorer.kernels.program import (
    Buffer,
    Instruction,
    Loop,
    Mmad,
    Move,
    Program,
    SetFlag,
    Slice,
    Span,
    Swap,
    VectorOp,
)

INDENT = "  "


def to_text(program: Program, *, flags: bool = True) -> str:
    """A program, one instruction a line; ``dm`` is the length of the tile that starts at ``m``.

    Of a feature map, ``rows`` and ``columns`` are as many as the block's windows see.

    Args:
        program: the program.
        flags: false leaves out flags and swaps of double buffers, so that what is computed stands out.
    """
    where = "cube and vector cores apart" if program.split else "cube and vector unit in one core"
    writer = _Writer(program, flags)
    lines = [f"kernel {program.name} on {program.chip}: {program.cores} cores, {where}"]
    lines += [f"{INDENT}{line}" for line in _table([_buffer(buffer) for buffer in program.buffers])]
    grid = ", ".join(f"{a.variable} below {a.extent} by {a.step}" for a in program.axes)
    lines += writer.block("start", program.start)
    lines += writer.block(f"each block of ({grid}), {program.blocks} dealt to cores in turn", program.body)
    lines += writer.block("finish", program.finish)
    return "\n".join(lines) + "\n"


def instruction_text(instruction: Instruction, program: Program) -> str:
    """One instruction; of a loop its head."""
    return _Writer(program, True).instruction(instruction)


class _Writer:
    """Writes instructions, with a short name for the length of each loop's tile."""

    def __init__(self, program: Program, flags: bool) -> None:
        self._program, self._flags = program, flags
        self._lengths: dict[Least | Inside, str] = {axis.span.length: f"d{axis.variable}" for axis in program.axes}
        for found in program.instructions():
            if isinstance(found, Loop):
                rest = (limit - variable(found.variable) for limit in found.extent.of)
                self._lengths[least(found.step, *rest)] = f"d{found.variable}"
            elif isinstance(found, Move) and found.window is not None:
                _, rows, columns = found.source.spans
                self._lengths |= {rows.length: "rows", columns.length: "columns"}

    def block(self, head: str, body: Sequence[Instruction]) -> list[str]:
        """A head, and its instructions further in; nothing where there are none."""
        lines = self._lines(body)
        return [f"{head}:", *(INDENT + line for line in lines)] if lines else []

    def instruction(self, found: Instruction) -> str:
        """One line."""
        match found:
            case Move():
                riders = [*found.through, *(["transposed"] if found.transposed else [])]
                riders += [f"axes {' '.join(map(str, found.order))}"] if found.order else []
                if found.window is not None:
                    taps, stride = (f"{a}x{b}" for a, b in (found.window.taps, found.window.stride))
                    riders.append(f"windows {taps} by {stride}")
                tail = f"  [{', '.join(riders)}]" if riders else ""
                way = f"{self._slice(found.destination)} = {self._slice(found.source)}"
                return f"{self._head('move', found)} {self._program.path(found)}: {way}{tail}"
            case Mmad():
                first = self._slice(found.bias) if found.bias else "0"
                anew = f" + ({found.fresh} > 0 ? itself : {first})" if found.fresh else ""
                product = f"{self._slice(found.left)} @ {self._slice(found.right)}"
                return f"{self._head('mmad', found)} {self._slice(found.out)} = {product}{anew}"
            case VectorOp():
                inputs = ", ".join(map(self._input, found.inputs))
                return f"{self._head('vector', found)} {self._slice(found.out)} = {found.op} {inputs}".rstrip()
            case Swap():
                return f"swap {found.buffer}"
            case Loop():
                return f"for {found.variable} below {self._length(found.extent)} by {found.step}"
            case _:
                word = "set" if isinstance(found, SetFlag) else "wait"
                copy = "" if found.copy is None else f"[{found.copy}]"
                return f"{word} {found.source} -> {found.target}: {found.buffer}{copy}"

    def _lines(self, body: Sequence[Instruction]) -> list[str]:
        lines: list[str] = []
        for found in body:
            if self._flags or isinstance(found, Move | Mmad | VectorOp | Loop):
                lines.append(self.instruction(found))
            if isinstance(found, Loop):
                lines += [INDENT + line for line in self._lines(found.body)]
        return lines

    def _input(self, part: Slice | Affine | float) -> str:
        if isinstance(part, Slice):
            return self._slice(part)
        return f"({part})" if isinstance(part, Affine) else f"{part:.9g}"

    def _slice(self, part: Slice) -> str:
        return f"{part.buffer}[{', '.join(map(self._span, part.spans))}]"

    def _span(self, span: Span) -> str:
        start, length = str(span.start), self._length(span.length)
        if length == "1" and span.start.terms:
            return start
        return length if start == "0" else f"{start} :+ {length}"

    def _length(self, length: Least | Inside) -> str:
        return self._lengths.get(length) or str(length)

    def _head(self, word: str, found: Move | Mmad | VectorOp) -> str:
        return f"{word:<6} {self._program.pipe(found) or '':<8}"


def _buffer(buffer: Buffer) -> tuple[str, ...]:
    copies = f"x {buffer.copies}" if buffer.copies > 1 else ""
    kind = f"{buffer.dtype.label}[{', '.join(map(str, buffer.shape))}]"
    role = "" if buffer.role == "local" else buffer.role
    return buffer.level, buffer.name, kind, copies, f"{buffer.total_bytes} bytes", role


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
