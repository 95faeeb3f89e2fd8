"""What a kernel of the vector unit computes: a formula over tensors, element by element or row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from gexplorer.ir.dtypes import DType
from gexplorer.kernels.formula import Formula


@dataclass(frozen=True, slots=True)
class Region:
    """Where a tensor lies in a larger one, its axes perhaps in another order.

    Attributes:
        buffer: name of the larger one; several tensors may lie in it.
        shape: its shape.
        axes: for each of its axes the axis of the kernel that goes along it.
        start: for each of its axes the first element.
    """

    buffer: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    start: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that a kernel reads or writes; an axis along which it is repeated has length 1.

    Attributes:
        name: unique in its kernel.
        shape: its shape, as the kernel goes along it.
        dtype: element type.
        region: where it lies; None for a buffer of its own, in just that shape.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    region: Region | None = None

    @property
    def buffer(self) -> str:
        """Name of the buffer in memory."""
        return self.name if self.region is None else self.region.buffer

    @property
    def memory_shape(self) -> tuple[int, ...]:
        """Shape of that buffer."""
        return self.shape if self.region is None else self.region.shape

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.dtype.nbytes(prod(self.shape))


@dataclass(frozen=True, slots=True)
class VectorKernel:
    """A formula over tensors.

    Attributes:
        shape: of the elements that are computed.
        formula: what is computed; where it reduces, it does so along the last axis.
        inputs: one for each input of the formula, of as many axes as the shape.
        outputs: one for each output; after a reduction with length 1 on the last axis.
    """

    shape: tuple[int, ...]
    formula: Formula
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs, then outputs."""
        return *self.inputs, *self.outputs

    @property
    def merged(self) -> VectorKernel:
        """The same with as few axes as possible: neighbours become one where every tensor has both or neither.

        The last axis stays by itself where rows are reduced along it, and all do where a tensor lies in a larger one.

        >>> from gexplorer.kernels.formula import Writer
        >>> f = Writer(("x", "y"))
        >>> add = f.formula(f("add", 0, 1))
        >>> x, y = Tensor("x", (2, 3, 4, 5), DType.FLOAT32), Tensor("y", (1, 1, 4, 5), DType.FLOAT32)
        >>> VectorKernel(x.shape, add, (x, y), (Tensor("z", x.shape, DType.FLOAT32),)).merged.shape
        (6, 20)
        """
        if any(tensor.region is not None for tensor in self.tensors):
            return self
        groups: list[list[int]] = []
        last = len(self.shape) - 1
        for axis, length in enumerate(self.shape):
            if length == 1 and not (axis == last and self.formula.reduces):
                continue
            kept = axis == last and self.formula.reduces
            if groups and not kept and self._alike(groups[-1][-1], axis):
                groups[-1].append(axis)
            else:
                groups.append([axis])
        if self.formula.reduces and len(groups) == 1:
            groups.insert(0, [])
        groups = groups or [[]]

        def merge(shape: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(prod(shape[axis] for axis in group) for group in groups)

        def again(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(replace(tensor, shape=merge(tensor.shape)) for tensor in tensors)

        return VectorKernel(merge(self.shape), self.formula, again(self.inputs), again(self.outputs))

    def _alike(self, a: int, b: int) -> bool:
        return all((tensor.shape[a] == 1) == (tensor.shape[b] == 1) for tensor in self.tensors)
