"""The executable form of a compiled model: instructions over tensors in buffers, independent of any graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.ir.symbols import Symbol
from gexplorer.memory.program import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.ir.constant import Constant
    from gexplorer.ir.dtypes import DType
    from gexplorer.ir.symbols import Dim

    Ints = NDArray[np.int64]

NO_BUFFER = -1


class Place(StrEnum):
    """Where a tensor lies."""

    POOL = "pool"
    CONSTANT = "constant"
    INPUT = "input"
    OUTPUT = "output"
    STATE = "state"  # an input that goes on as an output
    OUTSIDE = "outside"  # on the host: no tensor of numbers, or of a size that only a run tells


# The place of what lies in a buffer of some kind.
PLACES: Mapping[Kind, Place] = {
    Kind.WEIGHT: Place.CONSTANT,
    Kind.CONSTANT: Place.CONSTANT,
    Kind.INPUT: Place.INPUT,
    Kind.OUTPUT: Place.OUTPUT,
    Kind.STATE: Place.STATE,
    Kind.INTERMEDIATE: Place.POOL,
    Kind.WORKSPACE: Place.POOL,
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor.

    Attributes:
        name: unique in the program.
        dtype: element type; None for what is no tensor, or of a type that is not known.
        shape: dimensions, symbols for those that the inputs of a run give; None where the rank is not known.
        place: where it lies.
        buffer: number of the buffer that it lies in, ``NO_BUFFER`` for one outside.
        offset_bytes: where in that buffer it begins.
    """

    name: str
    dtype: DType | None
    shape: tuple[Dim, ...] | None
    place: Place
    buffer: int = NO_BUFFER
    offset_bytes: int = 0

    @property
    def is_symbolic(self) -> bool:
        """True when a dimension is a symbol."""
        return self.shape is not None and any(isinstance(dim, Symbol) for dim in self.shape)

    def nbytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of the packed tensor in a shape; 0 where the width of its elements is not fixed."""
        count = 1
        for dim in shape:
            count *= dim
        return self.dtype.nbytes(count) if self.dtype is not None else 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """What instructions compute; equal ones share it.

    Attributes:
        op: the operator, such as ``MatMul`` or the name of a fused kernel.
        domain: its domain, "" for ai.onnx.
        engine: GE's engine that would run it.
        model: a serialised ``onnx.ModelProto`` of this kernel alone, inputs and outputs in the instructions' order.
    """

    op: str
    domain: str
    engine: str
    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One operator of the compiled graph.

    Attributes:
        name: the operator's name, unique.
        op: its type, for people.
        kernel: number of the kernel that computes it.
        is_spared: True where the plan lets all results lie in bytes that are there already: nothing runs.
        inputs: the tensors that it reads, without doubles, in the order of the kernel's inputs.
        outputs: the tensors that it writes, in the order of the kernel's outputs.
        first_point: the point of the memory plan at which it begins.
        last_point: the one at which it ends; another only for control flow, whose bodies lie between.
        workspace: number of the buffer that is its scratch, ``NO_BUFFER`` for none.
    """

    name: str
    op: str
    kernel: int
    is_spared: bool
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    first_point: int
    last_point: int
    workspace: int = NO_BUFFER


@dataclass(frozen=True, eq=False)
class Buffers:
    """Blocks of memory and their lives, as columns; int64 and read-only. Points are inclusive.

    Attributes:
        names: name of each buffer: the tensor that it is named after.
        kind: [b] a ``memory.program.Kind``.
        first: [b] the first point at which it is needed.
        last: [b] the last one.
        size_bytes: [b] size with padding and alignment; 0 where the inputs of a run decide.
        offset_bytes: [b] where in the pool; -1 for what is not in the pool, or not placed yet.
    """

    names: tuple[str, ...]
    kind: Ints
    first: Ints
    last: Ints
    size_bytes: Ints
    offset_bytes: Ints

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def in_pool(self) -> Ints:
        """The buffers that share the pool."""
        return np.flatnonzero(self.kind >= Kind.INTERMEDIATE)


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled model that can run.

    Attributes:
        name: of the model.
        inputs: tensors that a caller gives, in order.
        defaults: for an input that may be left out, what it is then.
        outputs: name of each result as the outside knows it, and the tensor that it is.
        tensors: every tensor by name.
        kernels: what instructions compute.
        instructions: in execution order.
        buffers: blocks of memory.
        pool_bytes: the pool of the saved plan; 0 where the inputs of a run decide.
        is_fixed: True when the saved plan holds for every run; False where sizes depend on the inputs' shapes.
        alignment_bytes: of buffers in the pool.
        padding_bytes: GE's addition to a tensor before alignment, see ``memory.policy.Policy``.
        gap_points: points between the end of a life and the next use of its bytes: 1, or 2 for ``safe``.
        planner: who places the buffers of a run where the plan is not fixed.
        constants: weights and constants by tensor name; read when asked for.
    """

    name: str
    inputs: tuple[str, ...]
    defaults: Mapping[str, Constant]
    outputs: tuple[tuple[str, str], ...]
    tensors: Mapping[str, Tensor]
    kernels: tuple[Kernel, ...]
    instructions: tuple[Instruction, ...]
    buffers: Buffers
    pool_bytes: int
    is_fixed: bool
    alignment_bytes: int
    padding_bytes: int
    gap_points: int
    planner: str
    constants: Mapping[str, Constant]

    def __repr__(self) -> str:
        pool = f"pool_bytes={self.pool_bytes}" if self.is_fixed else "pool by the inputs' shapes"
        return f"Program({self.name!r}, {len(self.instructions)} instructions, {len(self.kernels)} kernels, {pool})"

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Constants whose bytes do not exist; while there are any, the program cannot run."""
        return tuple(name for name, constant in self.constants.items() if not constant.available)

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """Tensors that live on the host, not in the pool."""
        return tuple(tensor.name for tensor in self.tensors.values() if tensor.place is Place.OUTSIDE)
