"""What a program does to memory, as columns: which operator writes and reads which tensor, in execution order.

A *point* is one moment of the program: an operator runs there. An If, Loop or Scan takes a point where it begins, the
points of its bodies, and a point where it ends. Planning and proving both start from these columns, and share
nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

BEFORE = -1  # the writer of what is there before the program starts
# Half an exbibyte: all tensors of a program together. Addresses of any plan, padding and pins with it, then stay far
# from the end of 64 bits.
MOST_BYTES = 1 << 59
UNSIZED = -1  # the size of a tensor whose shape is not known, or that does not live in device memory


class Kind(IntEnum):
    """What a tensor is to the program; only INTERMEDIATE and WORKSPACE share the pool."""

    WEIGHT = 0  # a parameter of the model
    CONSTANT = 1  # shapes, indices, folded results
    INPUT = 2
    OUTPUT = 3
    STATE = 4  # an input that goes on as an output, such as a KV cache: it outlives the program
    INTERMEDIATE = 5
    WORKSPACE = 6  # scratch of one operator


class Sharing(IntEnum):
    """Why two tensors may lie in the same bytes."""

    VIEW = 0  # the same bytes under another shape: nobody writes
    IN_PLACE = 1  # an operator writes its result over an input that nobody needs any more
    CONCAT = 2  # a part is written where the whole will be: the Concat itself has nothing to do
    SPLIT = 3  # a part is read where the whole lies: the Split itself has nothing to do


@dataclass(frozen=True, eq=False)
class MayShare:
    """Places where tensors may share bytes, as columns of equal length.

    Attributes:
        guest: [m] the tensor that would lie in another's bytes.
        host: [m] the other: a view's source, the input overwritten, the whole of a Concat or Split.
        offset_bytes: [m] where in the host the guest begins.
        sharing: [m] a ``Sharing``.
        point: [m] where the operator that allows it runs.
    """

    guest: Ints
    host: Ints
    offset_bytes: Ints
    sharing: Ints
    point: Ints

    def __len__(self) -> int:
        return len(self.guest)


@dataclass(frozen=True, eq=False)
class Program:
    """The columns. Arrays are int64 and read-only.

    Attributes:
        operators: name of the operator at each point.
        tensors: name of each tensor.
        size_bytes: [n] bytes as stored, before any alignment; ``UNSIZED`` where unknown.
        kind: [n] a ``Kind``.
        writer: [n] the point that writes a tensor, ``BEFORE`` for what is there from the start.
        read_tensor: [m] with ``read_point``: tensor ``read_tensor[i]`` is read at ``read_point[i]``; sorted by tensor.
        read_point: [m].
        may_share: what an allocator is allowed to place in the same bytes.
        loops: [k, 2] first point of each loop's turns and the point where it ends: what is written before and read
            inside must last to its end. (Where it begins, initial values are read once, before the turns.)
        unsized: why a tensor has no size, by its name.
        streams: [points] the stream of each point; None while there is one.
        syncs: [j, 2] point ``syncs[i, 1]`` waits until ``syncs[i, 0]`` is done (besides the order inside a stream).
    """

    operators: Sequence[str]
    tensors: Sequence[str]
    size_bytes: Ints
    kind: Ints
    writer: Ints
    read_tensor: Ints
    read_point: Ints
    may_share: MayShare
    loops: Ints
    unsized: Mapping[str, str] = field(default_factory=dict)
    streams: Ints | None = None
    syncs: Ints | None = None

    def __repr__(self) -> str:
        return f"Program({len(self)} points, {len(self.tensors)} tensors)"

    def __len__(self) -> int:
        """Number of points."""
        return len(self.operators)

    def readers(self, tensor: int) -> Ints:
        """The points that read a tensor, ascending."""
        first, last = np.searchsorted(self.read_tensor, (tensor, tensor + 1))
        return np.sort(self.read_point[first:last])
