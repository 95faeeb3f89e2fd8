"""The part ``kernel``: what the first core does in each of the dearest kernels, instruction by instruction."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.kernels.count import Tally
from gexplorer.kernels.interpreter import capacities
from gexplorer.kernels.program import Loop, Mmad, Move, Slice, Swap, VectorOp
from gexplorer.kernels.text import INDENT, instruction_text
from gexplorer.kernels.walk import walk
from gexplorer.views.explorer.columns import NOTHING, Texts, floats, ints, ragged
from gexplorer.views.explorer.tiling import dearest_kernels, kernels_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gexplorer.kernels.affine import Bindings
    from gexplorer.kernels.generated import Generated
    from gexplorer.kernels.program import Instruction, Program
    from gexplorer.kernels.stage import DistinctKernel
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

# Kernels that differ, the dearest in all first.
MOST_KERNELS = 16
# Kernels that differ and have no program, whose reasons are told.
MOST_MISSING = 64
# Moves and computing instructions of a program that are told: of most a whole block, from the first move to the last.
MOST_STEPS = 640


def kernel_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """The first instructions of the first core, for each program of the dearest kernels; None where nothing was costed.

    Flags between pipes are left out: they say when, not what. ``content`` is what a step leaves in the copy of the
    buffer that it writes: the stretch of the source that was moved there, or what was computed. ``missing`` are the
    kernels that have no program, the dearest first, with the reason.
    """
    kernels = kernels_of(subject)
    if kernels is None or subject.cost is None:
        return None
    texts = Texts()
    dearest = dearest_kernels(kernels, subject.cost)
    written = [kernel for kernel in dearest if kernel.programs]
    missing = [kernel for kernel in dearest if kernel.missing is not None]
    programs: list[dict[str, object]] = []
    steps: dict[Program, dict[str, object]] = {}  # kernels may have equal ones
    for kernel in written[:MOST_KERNELS]:
        alike = ints(numbering.last.get(node, NOTHING) for node in kernel.nodes)
        programs += [_program(kernel, program, alike, texts, steps) for program in kernel.programs]
    more = max(len(written) - MOST_KERNELS, 0)
    return {
        "programs": programs,
        "more": more,
        "missing": [_missing(kernel, numbering, texts) for kernel in missing[:MOST_MISSING]],
        "more_missing": max(len(missing) - MOST_MISSING, 0),
        "strings": texts.strings,
    }


def _missing(kernel: DistinctKernel, numbering: Numbering, texts: Texts) -> dict[str, object]:
    return {
        "name": texts(kernel.nodes[0]),
        "type": texts(kernel.op),
        "alike": ints(numbering.last.get(node, NOTHING) for node in kernel.nodes),
        "reason": texts(kernel.missing.reason if kernel.missing is not None else ""),
    }


def _program(
    kernel: DistinctKernel,
    generated: Generated,
    alike: object,
    texts: Texts,
    known: dict[Program, dict[str, object]],
) -> dict[str, object]:
    program = generated.program
    lines, line_of = _lines(program)
    sizes = capacities(generated.chip)
    used = {buffer.level for buffer in program.buffers}
    paths = sorted({program.path(one) for one in program.instructions() if isinstance(one, Move)})
    total = generated.bytes_by_path
    if program not in known:
        known[program] = _steps(program, line_of, paths, texts)
    return {
        "name": texts(kernel.nodes[0]),
        "type": texts(kernel.op),
        "alike": alike,
        "text": texts(generated.text),
        "tile": texts(generated.tile_text),
        "cores": program.cores,
        "blocks": program.blocks,
        "lines": ints(map(texts, lines)),
        "levels": [{"name": level, "capacity_bytes": size} for level, size in sizes.items() if level in used],
        "buffers": [
            {
                "name": texts(buffer.name),
                "level": buffer.level,
                "copies": buffer.copies,
                "copy_bytes": buffer.tile_bytes,
                "role": buffer.role,
            }
            for buffer in program.buffers
        ],
        "paths": [{"name": path, "total_bytes": total.get(path, 0)} for path in paths],
        **known[program],
    }


def _steps(program: Program, line_of: Mapping[int, int], paths: Sequence[str], texts: Texts) -> dict[str, object]:
    number = {buffer.name: place for place, buffer in enumerate(program.buffers)}
    current = dict.fromkeys(number, 0)
    tally = Tally(program)
    tile, total, whole = 0, 0, True
    rows: list[tuple[int, ...]] = []
    moved: list[float] = []
    held: list[float] = []
    read: list[list[int]] = []
    read_copy: list[list[int]] = []
    for issued in walk(program):
        if issued.core:
            break
        found = issued.instruction
        if found is None:
            tile += 1
        elif isinstance(found, Swap):
            current[found.buffer] = (current[found.buffer] + 1) % program.buffer(found.buffer).copies
        elif isinstance(found, Move | Mmad | VectorOp):
            if len(rows) == MOST_STEPS:
                whole = False
                break
            target = found.destination if isinstance(found, Move) else found.out
            path = paths.index(program.path(found)) if isinstance(found, Move) else NOTHING
            before = total
            if isinstance(found, Move):
                tally.add(0, found, issued.bindings)
                total = sum(tally.counts.bytes_by_core.values())
            moved.append(total - before)
            held.append(program.buffer(target.buffer).dtype.nbytes(prod(target.shape(issued.bindings))))
            where = ", ".join(f"{name} {value}" for name, value in sorted(issued.bindings.items()))
            block = NOTHING if issued.block is None else issued.block
            place = number[target.buffer]
            content = texts(_content(found, issued.bindings))
            pipe = texts(program.pipe(found) or "scalar")
            sources = [part.buffer for part in _sources(found, issued.bindings)]
            read.append([number[source] for source in sources])
            read_copy.append([current[source] for source in sources])
            rows.append(
                (line_of[id(found)], pipe, tile, block, texts(where), place, current[target.buffer], content, path)
            )  # fmt: skip
    names = ("line", "pipe", "turn", "block", "where", "buffer", "copy", "content", "path")
    columns = np.array(rows, np.int32).reshape(-1, len(names)).T
    steps: dict[str, object] = {name: column.copy() for name, column in zip(names, columns, strict=True)}
    steps |= {"moved_bytes": floats(moved), "held_bytes": floats(held)}
    steps["reads_at"], steps["reads"] = ragged(read)
    steps["reads_copy"] = ragged(read_copy)[1]
    return {"steps": steps, "whole": whole}


def _sources(found: Move | Mmad | VectorOp, bindings: Bindings) -> list[Slice]:
    """What an instruction reads; a product that adds to its result reads that too."""
    match found:
        case Move():
            return [found.source]
        case Mmad():
            adds = bool(found.fresh) and bindings.get(found.fresh, 0) != 0
            first = [found.bias] if isinstance(found.bias, Slice) and not adds else []
            return [found.left, found.right, *([found.out] if adds else first)]
        case VectorOp():
            return [part for part in found.inputs if isinstance(part, Slice)]


def _content(found: Move | Mmad | VectorOp, bindings: Bindings) -> str:
    match found:
        case Move():
            return _slice(found.source, bindings)
        case Mmad():
            anew = not found.fresh or bindings.get(found.fresh, 0) == 0
            return f"{'' if anew else '+ '}{found.left.buffer} @ {found.right.buffer}"
        case VectorOp():
            return f"{found.op} {', '.join(part.buffer for part in found.inputs if isinstance(part, Slice))}".rstrip()


def _slice(part: Slice, bindings: Bindings) -> str:
    """A stretch in numbers; of a place that the scalar unit looks up, how."""
    spans: list[str] = []
    for span in part.spans:
        length = span.length.at(bindings)
        start = getattr(span.start, "at", None)
        if start is None:
            spans.append(str(span.start))
            continue
        begin = start(bindings)
        spans.append(str(begin) if length == 1 else f"{begin}:{begin + length}")
    return f"{part.buffer}[{', '.join(spans)}]"


def _lines(program: Program) -> tuple[list[str], dict[int, int]]:
    """The program without flags as text; and by identity of each instruction its line."""
    grid = ", ".join(f"{axis.variable} below {axis.extent} by {axis.step}" for axis in program.axes)
    parts = (("start", program.start), (f"each block of ({grid})", program.body), ("finish", program.finish))
    lines: list[str] = []
    line_of: dict[int, int] = {}

    def write(body: Sequence[Instruction], depth: int) -> None:
        for found in body:
            if not isinstance(found, Loop | Move | Mmad | VectorOp):
                continue
            line_of[id(found)] = len(lines)
            lines.append(INDENT * depth + instruction_text(found, program))
            if isinstance(found, Loop):
                write(found.body, depth + 1)

    for head, body in parts:
        if any(isinstance(one, Loop | Move | Mmad | VectorOp) for one in body):
            lines.append(f"{head}:")
            write(body, 1)
    return lines, line_of
