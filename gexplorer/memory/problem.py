"""The problem that every planner solves: buffers with lifetimes and sizes, to be placed in one pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Ints = NDArray[np.int64]

# No pool and no sum of live sizes may pass this: beyond it 64-bit sums would wrap.
LARGEST_BYTES = 1 << 62
FREE = -1


@dataclass(frozen=True, eq=False)
class Problem:
    """Offline dynamic storage allocation: give every buffer an offset so that no two live ones overlap.

    All arrays are int64 and read-only; make one with ``make_problem``, which checks them.

    Attributes:
        lower: [n] first program point at which a buffer is alive.
        upper: [n] first program point at which it is not any more; lifetimes are half-open, ``lower < upper``.
        size_bytes: [n] size, already rounded up as the alignment policy wants.
        names: [n] names for people; may be empty when nobody will read them.
        alignment_bytes: every offset is a multiple of it.
        pinned: [n] offset that a buffer must have, ``FREE`` where any will do; None when nothing is pinned.
        apart: [k, 2] pairs of buffers that must not share a byte although they are never alive together.
    """

    lower: Ints
    upper: Ints
    size_bytes: Ints
    names: Sequence[str] = ()
    alignment_bytes: int = 1
    pinned: Ints | None = None
    apart: Ints | None = None

    def __repr__(self) -> str:
        more = ", constrained" if self.is_constrained else ""
        return f"Problem({len(self)} buffers, bound_bytes={self.bound_bytes}{more})"

    def __len__(self) -> int:
        return len(self.size_bytes)

    @property
    def is_constrained(self) -> bool:
        """True when offsets are pinned or pairs kept apart; not every planner can do that."""
        return self.pinned is not None or self.apart is not None

    @cached_property
    def bound_bytes(self) -> int:
        """The max live load, or the end of the highest pinned buffer: no pool can be smaller."""
        from gexplorer.memory.bounds import max_live_load

        load = max_live_load(self.lower, self.upper, self.size_bytes)
        if self.pinned is None:
            return load
        held = self.pinned != FREE
        return max(load, int((self.pinned[held] + self.size_bytes[held]).max()))

    @property
    def unplanned_bytes(self) -> int:
        """The pool if nothing shared its place with anything."""
        return int(self.size_bytes.sum())

    def name(self, index: int) -> str:
        """The name of a buffer, its number where it has none."""
        return self.names[index] if len(self.names) else f"buffer {index}"


def make_problem(
    lower: ArrayLike,
    upper: ArrayLike,
    size_bytes: ArrayLike,
    names: Sequence[str] = (),
    *,
    alignment_bytes: int = 1,
    pinned: ArrayLike | None = None,
    apart: ArrayLike | None = None,
) -> Problem:
    """A problem of checked columns; sizes are rounded up to the alignment.

    Raises:
        OptionError: a column is of another form or length, a lifetime is empty, a size is negative, sums would not fit
            64 bits, an offset is not one that the alignment allows, or a pair names a buffer that is not there.
    """
    low, high, size = _column("lower", lower), _column("upper", upper), _column("size_bytes", size_bytes)
    if not len(low) == len(high) == len(size) or (len(names) and len(names) != len(low)):
        raise OptionError("a memory problem wants one lifetime, one size and at most one name for each buffer")

    def refuse(wrong: NDArray[np.bool_], why: Callable[[int], str]) -> None:
        if wrong.any():
            first = int(wrong.argmax())
            raise OptionError(f"{names[first] if len(names) else f'buffer {first}'}: {why(first)}")

    refuse(low >= high, lambda i: f"a lifetime from {low[i]} to {high[i]} is empty")
    far = (low < -LARGEST_BYTES) | (high > LARGEST_BYTES)
    refuse(far, lambda i: f"a lifetime from {low[i]} to {high[i]} goes beyond point {LARGEST_BYTES}")
    refuse(size < 0, lambda i: f"a size of {size[i]} bytes is negative")
    if alignment_bytes < 1:
        raise OptionError(f"an alignment of {alignment_bytes} bytes means nothing")
    if len(size) and float(size.sum(dtype=np.float64)) + float(alignment_bytes) * len(size) > LARGEST_BYTES:
        raise OptionError(f"the sizes add up to more than {LARGEST_BYTES} bytes")
    size = -(-size // alignment_bytes) * alignment_bytes
    pins = None if pinned is None else _column("pinned", pinned)
    if pins is not None:
        if len(pins) != len(size):
            raise OptionError(f"pinned: one offset for each of {len(size)} buffers is wanted, not {len(pins)}")
        places = pins.tolist()
        beyond = pins > LARGEST_BYTES - size
        refuse(beyond, lambda i: f"pinned at {places[i]}, it would end beyond byte {LARGEST_BYTES}")
        odd = (pins < FREE) | ((pins != FREE) & (pins % alignment_bytes != 0))
        refuse(odd, lambda i: f"an offset of {places[i]} is no multiple of {alignment_bytes} from 0")
        if not (pins != FREE).any():
            pins = None
    pairs = None if apart is None else _pairs(apart, len(size))
    for column in (low, high, size, pins, pairs):
        if column is not None:
            column.flags.writeable = False
    return Problem(low, high, size, tuple(names), alignment_bytes, pins, pairs)


def _column(name: str, values: ArrayLike) -> Ints:
    """A copy, so that nobody else can write to it."""
    column = np.asarray(values)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        raise OptionError(f"{name}: a list of whole numbers of at most 64 bits is wanted")
    if column.dtype.kind == "u" and column.size and int(column.max()) > np.iinfo(np.int64).max:
        raise OptionError(f"{name}: {int(column.max())} does not fit")
    return column.astype(np.int64)


def _pairs(apart: ArrayLike, buffers: int) -> Ints | None:
    try:
        table = np.asarray(apart)
    except ValueError:  # rows of different lengths
        table = np.zeros(1)
    if not table.size:
        return None
    if table.ndim != 2 or table.shape[-1] != 2:
        raise OptionError("apart: pairs of two buffers are wanted")
    pairs = _column("apart", table.ravel())
    if (wrong := pairs[(pairs < 0) | (pairs >= buffers)]).size:
        raise OptionError(f"apart: no buffer {wrong[0]}, there are {buffers}")
    return pairs.reshape(-1, 2)
