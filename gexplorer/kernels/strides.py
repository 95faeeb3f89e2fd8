"""What reshapes, transposes and repeats make of a tensor: for each axis, how far its elements lie apart.

An axis is a list of factors, (length, stride) each, the slowest first: three axes merged into one are one axis of
three factors, and a repeated axis has stride 0. So every chain of views can be followed without touching data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

Factor = tuple[int, int]
Factors = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Strided:
    """A view of a tensor: the factors of each axis."""

    axes: tuple[Factors, ...]

    @staticmethod
    def whole(shape: Sequence[int]) -> Strided:
        """A tensor as it lies."""
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return Strided(tuple(((size, stride),) for size, stride in zip(shape, strides, strict=True)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(prod(size for size, _ in axis) for axis in self.axes)

    def transposed(self, order: Sequence[int]) -> Strided:
        """The axes in another order."""
        return Strided(tuple(self.axes[axis] for axis in order))

    def expanded(self, shape: Sequence[int]) -> Strided:
        """Repeated along axes of length 1, and along new ones in front."""
        axes = ((),) * (len(shape) - len(self.axes)) + self.axes
        own = (1,) * (len(shape) - len(self.axes)) + self.shape
        pairs = zip(axes, own, shape, strict=True)
        return Strided(tuple(((size, 0),) if was == 1 and size > 1 else axis for axis, was, size in pairs))

    def reshaped(self, shape: Sequence[int]) -> Strided | None:
        """Other axes over the same elements in the same order; None where an axis would fall between factors.

        >>> Strided.whole((2, 12)).reshaped((2, 3, 4)).axes
        (((2, 12),), ((3, 4),), ((4, 1),))
        """
        waiting = [factor for axis in self.axes for factor in axis if factor[0] > 1][::-1]
        axes: list[Factors] = []
        for size in shape:
            taken, needed = _take(waiting, size)
            if needed != 1:
                return None
            axes.append(taken)
        return Strided(tuple(axes))


def _take(waiting: list[Factor], needed: int) -> tuple[Factors, int]:
    """Takes factors of a product from the end of a list, splitting the last one; what it is short of, 1 for nothing."""
    taken: list[Factor] = []
    while needed > 1 and waiting:
        size, stride = waiting[-1]
        if needed % size == 0:
            waiting.pop()
            taken.append((size, stride))
            needed //= size
        elif size % needed == 0:
            rest = size // needed
            waiting[-1] = rest, stride
            taken.append((needed, stride * rest))
            needed = 1
        else:
            break
    return tuple(taken), needed
