"""The tile program of rows that are reduced and that UB cannot hold: piece by piece, in several passes.

A softmax over a vocabulary goes over its row three times: for the greatest element, for the sum, for the result. Each
pass reads what it needs again and computes from it what the pass before could not keep. What is reduced so far stays
in UB, one number a row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import inf, prod

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels import registers
from gexplorer.kernels.affine import Affine, least
from gexplorer.kernels.formula import Formula, Instruction
from gexplorer.kernels.handover import Handover, finishes, starts
from gexplorer.kernels.program import Axis, Buffer, Loop, Move, Program, Slice, Span, VectorOp, pipe_of, tile
from gexplorer.kernels.program import Instruction as Step
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel
from gexplorer.kernels.vector_ops import REDUCTIONS

# What a reduction starts from, and how two parts of it come together.
_IDENTITY = {"reduce_sum": 0.0, "reduce_max": -inf, "reduce_min": inf}
_TOGETHER = {"reduce_sum": "add", "reduce_max": "max", "reduce_min": "min"}
_ONE = Span(Affine(), least(1))


@dataclass(frozen=True, slots=True)
class _Pass:
    """One way along the rows.

    Attributes:
        formula: what is computed for a piece.
        values: which of the kernel's values its inputs are: tensors, or what was reduced before.
        reduced: the values that it reduces; empty for the last pass, which gives the results.
    """

    formula: Formula
    values: tuple[int, ...]
    reduced: tuple[int, ...]


def passes_of(formula: Formula) -> tuple[_Pass, ...]:
    """The passes of a formula: each reduces what can be reduced by then, the last gives the results."""
    inputs = len(formula.inputs)
    level = dict.fromkeys(range(inputs), 0)
    reductions: dict[int, int] = {}
    for index, step in enumerate(formula.instructions, inputs):
        deepest = max((level[value] for value in step.inputs if isinstance(value, int)), default=0)
        level[index] = deepest + (step.op in REDUCTIONS)
        if step.op in REDUCTIONS:
            reductions[index] = deepest
    last = max(level[value] for value in formula.outputs)
    found: list[_Pass] = []
    for number in range(last):
        reduced = tuple(value for value, when in reductions.items() if when == number)
        known = {*range(inputs), *(value for value, when in reductions.items() if when < number)}
        found.append(_Pass(*_part_of(formula, reduced, known), reduced))
    return (*found, _Pass(*_part_of(formula, formula.outputs, {*range(inputs), *reductions}), ()))


def wide_program(kernel: VectorKernel, cut: tuple[int, ...], chip: Chip, name: str = "Vector") -> Program:
    """The program of a kernel whose rows are cut; as ``vector_program`` for the rest.

    Raises:
        OptionError: it gives out rows and what they were reduced to at once.
    """
    split, (*outer, width) = chip.cube_vector_path == "gm", kernel.shape
    mte2 = pipe_of("gm->ub", split=split)
    axes = tuple(Axis(f"i{j}", size, step) for j, (size, step) in enumerate(zip(outer, cut, strict=False)))
    spans = (*(axis.span for axis in axes), tile("c", cut[-1], width))
    narrow = _all_narrow(kernel, name)
    memory = [Buffer(t.name, "gm", t.shape, t.dtype, role="input") for t in kernel.inputs]
    memory += [Buffer(t.name, "gm", t.shape, t.dtype, role="output") for t in kernel.outputs]
    loaded = {i: Handover(_place(t, cut), mte2, "vector") for i, t in enumerate(kernel.inputs)}
    leaving = [Handover(_place(t, cut), "vector", "mte3") for t in kernel.outputs]
    steps: list[Step] = []
    made: list[Buffer] = []
    held: dict[int, Buffer] = {}
    for number, one in enumerate(passes_of(kernel.formula)):
        shape = (*cut[:-1], 1)
        for value in one.reduced:
            held[value] = Buffer(f"r{value}", "ub", shape, DType.FLOAT32)
            op = kernel.formula.instructions[value - len(kernel.inputs)].op
            steps.append(VectorOp("copy", _row(held[value], spans), (_IDENTITY[op],)))
        operands, fetch = _operands(kernel, one, spans, loaded, held)
        used = [loaded[value] for value in one.values if value in loaded]
        parts = [Buffer(f"p{value}", "ub", shape, DType.FLOAT32) for value in one.reduced]
        results = [_row(part, spans) for part in parts]
        if not one.reduced:
            results = [
                _slice(h.buffer.name, t, kernel, spans, local=True)
                for h, t in zip(leaving, kernel.outputs, strict=True)
            ]
        placed = registers.place(one.formula, operands, results, cut, spans, f"t{number}_")
        body: list[Step] = [*fetch, *(i for h in used for i in h.get)]
        body += [i for h in leaving for i in h.take] if not one.reduced else []
        body += placed.instructions
        for value, part in zip(one.reduced, results, strict=False):
            op = kernel.formula.instructions[value - len(kernel.inputs)].op
            whole = _row(held[value], spans)
            body.append(VectorOp(_TOGETHER[op], whole, (whole, part)))
        body += [i for h in used for i in h.free]
        if not one.reduced:
            body += [i for h in leaving for i in h.give]
            for handover, tensor, result in zip(leaving, kernel.outputs, results, strict=True):
                body += handover.use(Move(result, _slice(tensor.name, tensor, kernel, spans)))
        made += (*parts, *placed.buffers)
        steps += body if not one.reduced and narrow else [Loop("c", least(width), cut[-1], tuple(body))]
    handovers = (*loaded.values(), *leaving)
    return Program(
        name=name,
        chip=chip.name,
        split=split,
        cores=chip.vector_cores,
        buffers=(*memory, *(h.buffer for h in handovers), *held.values(), *made),
        axes=axes,
        start=starts(*handovers),
        body=tuple(steps),
        finish=finishes(*handovers),
    )


def wide_tile(kernel: VectorKernel, chip: Chip) -> tuple[int, ...]:
    """One row at a time, in the longest pieces of a power of two that UB holds.

    Raises:
        OptionError: not even the shortest piece fits.
    """
    for exponent in reversed(range(4, kernel.shape[-1].bit_length())):
        cut = (*(1 for _ in kernel.shape[:-1]), 1 << exponent)
        program = wide_program(kernel, cut, chip)
        if sum(b.total_bytes for b in program.buffers if b.level == "ub") <= chip.capacity.ub_bytes:
            return cut
    raise OptionError(f"not even 16 elements of a row fit the {chip.capacity.ub_bytes} bytes of UB of {chip.name}")


def wide_bytes(kernel: VectorKernel, cut: tuple[int, ...]) -> dict[str, int]:
    """Bytes by path of ``wide_program``, of all cores together: every pass reads what it needs again."""
    blocks = [-(-size // step) for size, step in zip(kernel.shape, cut, strict=True)]
    total: Counter[str] = Counter()
    narrow = _all_narrow(kernel, "Vector")
    for one in passes_of(kernel.formula):
        pieces = blocks if one.reduced or not narrow else [*blocks[:-1], 1]
        for value in one.values:
            if value < len(kernel.inputs):
                tensor = kernel.inputs[value]
                sizes = zip(tensor.shape, kernel.shape, pieces, strict=True)
                total["gm->ub"] += tensor.dtype.nbytes(
                    prod(count if size == 1 < whole else size for size, whole, count in sizes)
                )
    total["ub->gm"] = sum(tensor.nbytes for tensor in kernel.outputs)
    return dict(total)


def _part_of(formula: Formula, wanted: tuple[int, ...], known: set[int]) -> tuple[Formula, tuple[int, ...]]:
    """The instructions behind some values, from what is known; and which known values it reads."""
    inputs = len(formula.inputs)
    needed: set[int] = set()
    waiting = [value for value in wanted if value not in known]
    read = {value for value in wanted if value in known}
    while waiting:
        value = waiting.pop()
        if value in needed:
            continue
        needed.add(value)
        for term in formula.instructions[value - inputs].inputs:
            if isinstance(term, int):
                (read.add if term in known else waiting.append)(term)
    order = (*sorted(read), *sorted(needed))
    place = {value: number for number, value in enumerate(order)}
    steps = tuple(
        Instruction(step.op, tuple(place[term] if isinstance(term, int) else term for term in step.inputs))
        for step in (formula.instructions[value - inputs] for value in sorted(needed))
    )
    values = tuple(sorted(read))
    return Formula(tuple(f"v{value}" for value in values), steps, tuple(place[value] for value in wanted)), values


def _operands(
    kernel: VectorKernel, one: _Pass, spans: tuple[Span, ...], loaded: dict[int, Handover], held: dict[int, Buffer]
) -> tuple[list[registers.Operand], list[Step]]:
    """Where a pass finds its inputs, and the moves that bring them."""
    operands: list[registers.Operand] = []
    fetch: list[Step] = []
    for value in one.values:
        if value not in loaded:
            alone = (False,) * (len(spans) - 1)
            operands.append(registers.Operand(_row(held[value], spans), DType.FLOAT32, (*alone, True)))
            continue
        tensor, handover = kernel.inputs[value], loaded[value]
        there = _slice(handover.buffer.name, tensor, kernel, spans, local=True)
        fetch += handover.fill(Move(_slice(tensor.name, tensor, kernel, spans), there))
        operands.append(registers.Operand(there, tensor.dtype, _repeated(tensor, kernel)))
    return operands, fetch


def _place(tensor: Tensor, cut: tuple[int, ...]) -> Buffer:
    shape = tuple(min(size, step) for size, step in zip(tensor.shape, cut, strict=True))
    return Buffer(f"{tensor.name}_ub", "ub", shape, tensor.dtype, 2)


def _row(buffer: Buffer, spans: tuple[Span, ...]) -> Slice:
    """One number for each row of a block."""
    return Slice(buffer.name, (*(span.local for span in spans[:-1]), _ONE))


def _slice(name: str, tensor: Tensor, kernel: VectorKernel, spans: tuple[Span, ...], *, local: bool = False) -> Slice:
    cut = (
        _ONE if once else span.local if local else span
        for span, once in zip(spans, _repeated(tensor, kernel), strict=True)
    )
    return Slice(name, tuple(cut))


def _repeated(tensor: Tensor, kernel: VectorKernel) -> tuple[bool, ...]:
    return tuple(size == 1 < whole for size, whole in zip(tensor.shape, kernel.shape, strict=True))


def _all_narrow(kernel: VectorKernel, name: str) -> bool:
    """True where only what rows were reduced to is given out."""
    kinds = {tensor.shape[-1] == 1 < kernel.shape[-1] for tensor in kernel.outputs}
    if len(kinds) > 1:
        raise OptionError(f"{name}: rows of {kernel.shape[-1]} elements, and what they are reduced to, at once")
    return kinds.pop()
