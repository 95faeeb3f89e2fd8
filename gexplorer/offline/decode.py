"""Plain data back to a program. Nothing is believed: numbers must lie where they can, or the file is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gexplorer.errors import ModelError
from gexplorer.execution.program import Buffers, Instruction, Kernel, Place, Program, Tensor
from gexplorer.ir.constant import Constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, parse_dim
from gexplorer.memory.problem import LARGEST_BYTES
from gexplorer.memory.program import Kind

Data = Mapping[str, Any]


def program(
    instructions: Data, kernels: Sequence[Kernel], memory: Data, constants: Data, defaults: Mapping[str, Constant]
) -> Program:
    """The program that some sections describe.

    Args:
        instructions: the section of that name.
        kernels: the kernels.
        memory: the section of that name.
        constants: constants by tensor name.
        defaults: inputs that may be left out.

    Raises:
        ModelError: a number is not one that it may be, or the plan lets two tensors overlap while both are needed.
        KeyError, TypeError, ValueError, AttributeError: the data has another form.
    """
    buffers = _buffers(memory)
    columns = instructions["tensors"]
    rows = zip(*(columns[k] for k in ("name", "dtype", "shape", "place", "buffer", "offset_bytes")), strict=True)
    listed = [
        Tensor(
            _text(name),
            None if dtype is None else DType.parse(dtype),
            None if shape is None else tuple([_dim(d) for d in shape]),
            Place(place),
            _within(buffer, -1, len(buffers), "buffer"),
            _within(offset, 0, LARGEST_BYTES, "offset"),
        )
        for name, dtype, shape, place, buffer, offset in rows
    ]
    tensors = {tensor.name: tensor for tensor in listed}
    if len(tensors) < len(listed):
        raise ModelError("two tensors have one name")
    names = list(tensors)
    made = Program(
        name=_text(instructions["name"]),
        inputs=_names(instructions["inputs"], names),
        defaults=defaults,
        outputs=tuple([(_text(outside), _names([number], names)[0]) for outside, number in instructions["outputs"]]),
        tensors=tensors,
        kernels=tuple(kernels),
        instructions=_instructions(instructions["instructions"], names, len(kernels), len(buffers)),
        buffers=buffers,
        pool_bytes=_within(memory["pool_bytes"], 0, LARGEST_BYTES, "pool"),
        is_fixed=bool(memory["is_fixed"]),
        alignment_bytes=_within(memory["alignment_bytes"], 1, 1 << 30, "alignment"),
        padding_bytes=_within(memory["padding_bytes"], 0, 1 << 30, "padding"),
        gap_points=_within(memory["gap_points"], 1, 3, "gap"),
        planner=_text(memory["planner"]),
        constants=constants,
    )
    _require_places(made)
    _require_values(made)
    return made


def _instructions(columns: Data, names: list[str], kernels: int, buffers: int) -> tuple[Instruction, ...]:
    keys = ("name", "op", "kernel", "spared", "inputs", "outputs", "first_point", "last_point", "workspace")
    found: list[Instruction] = []
    end = -1
    for name, op, kernel, spared, inputs, outputs, first, last, workspace in zip(
        *(columns[key] for key in keys), strict=True
    ):
        first = _within(first, end + 1, LARGEST_BYTES, "point")
        end = _within(last, first, LARGEST_BYTES, "point")
        found.append(
            Instruction(
                _text(name),
                _text(op),
                _within(kernel, 0, kernels, "kernel"),
                bool(spared),
                _names(inputs, names),
                _names(outputs, names),
                first,
                end,
                _within(workspace, -1, buffers, "workspace"),
            )
        )
    return tuple(found)


def _buffers(memory: Data) -> Buffers:
    columns = memory["buffers"]
    kind, first, last, size, offset = (
        _column(columns[key]) for key in ("kind", "first", "last", "size_bytes", "offset_bytes")
    )
    names = tuple([_text(name) for name in columns["name"]])
    if not len(names) == len(kind) == len(first) == len(last) == len(size) == len(offset):
        raise ModelError("the columns of its buffers differ in length")
    wrong = (kind < min(Kind)) | (kind > max(Kind)) | (first < 0) | (last < first) | (last > LARGEST_BYTES)
    wrong |= (size < 0) | (size > LARGEST_BYTES) | (offset < -1) | (offset > LARGEST_BYTES)
    if wrong.any():
        raise ModelError(f"buffer {names[int(wrong.argmax())]} has a kind, life, size or offset that cannot be")
    return Buffers(names, kind, first, last, size, offset)


def _require_places(made: Program) -> None:
    """Every tensor lies in its buffer, every buffer in the pool, and no two at the same time in the same bytes."""
    buffers = made.buffers
    for tensor in made.tensors.values():
        if (tensor.place is Place.OUTSIDE) != (tensor.buffer < 0) and tensor.place is not Place.CONSTANT:
            raise ModelError(f"{tensor.name} is {tensor.place}, and its buffer is {tensor.buffer}")
        if tensor.buffer < 0:
            continue
        if (tensor.place is Place.POOL) != (buffers.kind[tensor.buffer] >= Kind.INTERMEDIATE):
            raise ModelError(f"{tensor.name} is {tensor.place}, and its buffer is not")
        if tensor.dtype is None or not tensor.dtype.bits or tensor.shape is None or None in tensor.shape:
            raise ModelError(f"{tensor.name} has a buffer, but no size")
        if made.is_fixed:
            if tensor.is_symbolic:
                raise ModelError(f"{tensor.name} has no fixed size, though the plan has")
            size_bytes = tensor.nbytes(tensor.shape)  # pyright: ignore[reportArgumentType]
            if not 0 <= tensor.offset_bytes + size_bytes <= buffers.size_bytes[tensor.buffer]:
                raise ModelError(f"{tensor.name} is larger than its buffer")
    if made.is_fixed:
        _require_sound(made)


def _require_sound(made: Program) -> None:
    from gexplorer.memory.problem import make_problem
    from gexplorer.memory.verify import verify_placement

    buffers = made.buffers
    rows = buffers.in_pool
    problem = make_problem(
        buffers.first[rows],
        buffers.last[rows] + made.gap_points,
        buffers.size_bytes[rows],
        [buffers.names[row] for row in rows.tolist()],
        alignment_bytes=made.alignment_bytes,
    )
    if not np.array_equal(problem.size_bytes, buffers.size_bytes[rows]):
        raise ModelError("a buffer's size is no multiple of the alignment")
    if verify_placement(problem, buffers.offset_bytes[rows], made.pool_bytes):
        raise ModelError("its memory plan is not sound")


def _require_values(made: Program) -> None:
    """Whatever an instruction reads is there by then."""
    there = {*made.inputs, *made.constants}
    for name in made.constants:
        constant, tensor = made.constants[name], made.tensors.get(name)
        if tensor is None or tensor.dtype is not constant.dtype or tensor.shape != constant.shape:
            raise ModelError(f"constant {name} is no tensor of its own type")
    for instruction in made.instructions:
        for name in instruction.inputs:
            if name not in there:
                raise ModelError(f"{instruction.name} reads {name}, which nobody has written by then")
        there.update(instruction.outputs)
    for outside, name in made.outputs:
        if name not in there:
            raise ModelError(f"result {outside} is {name}, which nobody writes")
    if not made.defaults.keys() <= set(made.inputs):
        raise ModelError("a default of what is no input")


def _names(numbers: Any, names: list[str]) -> tuple[str, ...]:
    return tuple([names[_within(number, 0, len(names), "tensor")] for number in numbers])


def _within(value: Any, least: int, end: int, what: str) -> int:
    if value.__class__ is not int or not least <= value < end:
        raise ModelError(f"{what} {str(value)[:40]} does not exist")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _dim(value: Any) -> Dim:
    if value is None:
        return None
    if isinstance(value, str):
        return parse_dim(value)
    return _within(value, 0, LARGEST_BYTES, "dimension")


def _column(values: Any) -> np.ndarray:
    if not isinstance(values, list):
        raise TypeError
    if not all(value.__class__ is int for value in values):  # pyright: ignore[reportUnknownVariableType]
        raise TypeError
    column = np.array(values, np.int64)
    column.flags.writeable = False
    return column
