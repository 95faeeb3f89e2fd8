"""Where a formula's values lie in UB: tiles that are used again once nothing reads them any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gexplorer.ir.dtypes import DType
from gexplorer.kernels.affine import Affine, least
from gexplorer.kernels.formula import Formula
from gexplorer.kernels.program import Buffer, Slice, Span, VectorOp
from gexplorer.kernels.vector_ops import REDUCTIONS


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a formula as it lies in UB; an axis along which it is repeated has length 1."""

    slice: Slice
    dtype: DType
    repeated: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A formula over tiles: the buffers that its intermediate values need, and its instructions."""

    buffers: tuple[Buffer, ...]
    instructions: tuple[VectorOp, ...]


_ONE = Span(Affine(), least(1))


def place(
    formula: Formula,
    operands: Sequence[Operand],
    outputs: Sequence[Slice],
    shape: tuple[int, ...],
    spans: tuple[Span, ...],
    prefix: str = "t",
) -> Placed:
    """The instructions of a formula for one tile.

    Args:
        formula: what is computed.
        operands: where its inputs lie.
        outputs: where its outputs go; the cast to their type is the last instruction.
        shape: a whole tile's shape.
        spans: the stretch of each axis that the tile at hand has.
        prefix: of the buffers' names.
    """
    pool = _Pool(shape, spans, prefix)
    places: dict[int, tuple[Slice, tuple[bool, ...]]] = {}
    instructions: list[VectorOp] = []
    for index, operand in enumerate(operands):
        places[index] = operand.slice, operand.repeated
        if operand.dtype != DType.FLOAT32 and not operand.dtype.is_integer:  # these are compared, cast or moved
            taken = pool.take(operand.repeated)
            instructions.append(VectorOp("copy", taken, (operand.slice,)))
            places[index] = taken, operand.repeated
    last = formula.last_uses()
    for index, step in enumerate(formula.instructions):
        values = [value for value in step.inputs if isinstance(value, int)]
        repeated = tuple(map(all, zip(*(places[value][1] for value in values), strict=True))) or (True,) * len(shape)
        if step.op in REDUCTIONS:
            repeated = (*repeated[:-1], True)
        # A tile that this instruction is the last to read may take its result: elements do not depend on each other.
        for value in dict.fromkeys(values):
            if last[value] == index:
                pool.give(*places[value])
        out = pool.take(repeated)
        inputs = tuple(places[x][0] if isinstance(x, int) else x for x in step.inputs)
        instructions.append(VectorOp(step.op, out, inputs))
        places[len(formula.inputs) + index] = out, repeated
    for value, out in zip(formula.outputs, outputs, strict=True):
        instructions.append(VectorOp("copy", out, (places[value][0],)))
    return Placed(pool.buffers, tuple(instructions))


class _Pool:
    """Tiles of float32, by the axes along which they have length 1."""

    def __init__(self, shape: tuple[int, ...], spans: tuple[Span, ...], prefix: str) -> None:
        self._shape, self._spans, self._prefix = shape, spans, prefix
        self._made: list[Buffer] = []
        self._free: dict[tuple[bool, ...], list[Slice]] = {}

    def take(self, repeated: tuple[bool, ...]) -> Slice:
        free = self._free.get(repeated)
        if free:
            return free.pop()
        shape = tuple(1 if once else size for once, size in zip(repeated, self._shape, strict=True))
        buffer = Buffer(f"{self._prefix}{len(self._made)}", "ub", shape, DType.FLOAT32)
        self._made.append(buffer)
        spans = tuple(_ONE if once else span.local for once, span in zip(repeated, self._spans, strict=True))
        return Slice(buffer.name, spans)

    def give(self, place: Slice, repeated: tuple[bool, ...]) -> None:
        if any(buffer.name == place.buffer for buffer in self._made):
            self._free.setdefault(repeated, []).append(place)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(self._made)
