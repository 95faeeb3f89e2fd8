"""What a kernel of the vector unit computes: a formula over tensors, element by element or row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from gexplorer.ir.dtypes import DType
from gexplorer.kernels.formula import Formula


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that a kernel reads or writes; an axis along which it is repeated has length 1."""

    name: str
    shape: tuple[int, ...]
    dtype: DType

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

        The last axis stays by itself where rows are reduced along it.

        >>> from gexplorer.kernels.formula import Writer
        >>> f = Writer(("x", "y"))
        >>> add = f.formula(f("add", 0, 1))
        >>> x, y = Tensor("x", (2, 3, 4, 5), DType.FLOAT32), Tensor("y", (1, 1, 4, 5), DType.FLOAT32)
        >>> VectorKernel(x.shape, add, (x, y), (Tensor("z", x.shape, DType.FLOAT32),)).merged.shape
        (6, 20)
        """
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
