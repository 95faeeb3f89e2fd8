"""How a hot loop runs: as plain Python while it is short, compiled by numba once it is long.

Importing numba costs about 0.3 s and compiling a loop as much again, the first time on a machine; a model of 300
kernels is planned in milliseconds without either. So a loop is written once, in what Python and numba have in
common, and runs plain until its plain runs have cost about what compiling would: whoever rents until the rent
reaches the price never pays more than twice the best. Both ways give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np

# What a loop sees of an array: it indexes it, slices it, walks over it and asks for its length.
Cells = list[int]

# Inner steps that plain Python does in about the time that importing numba takes (some 0.1 us each).
PRICE = 3_000_000
# Once a loop is compiled, inputs above this many steps go there; below it the call costs more than the loop.
TINY = 200


class Hot:
    """A loop over arrays, plain or compiled.

    Arrays are one-dimensional and C-contiguous, other arguments int or bool. What it writes into is named in
    ``writes``; every other array is an input.
    """

    def __init__(self, loop: FunctionType, writes: tuple[str, ...]) -> None:
        names = loop.__code__.co_varnames[: loop.__code__.co_argcount]
        self.__doc__ = loop.__doc__
        self._loop = loop
        self._written = frozenset(names.index(name) for name in writes)
        self._spent = 0
        self._machine_code: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any, work: int) -> int:
        """Runs the loop; ``work`` is about the number of inner steps that it will take."""
        if self._machine_code is None and self._spent + work < PRICE:
            self._spent += work
            return self.plain(*arguments)
        if work < TINY or not _has_numba():
            return self.plain(*arguments)
        return self.compiled(*arguments)

    def plain(self, *arguments: Any) -> int:
        """Runs the loop as Python, over lists: those are much faster to index than arrays."""
        lists = [item.tolist() if isinstance(item, np.ndarray) else item for item in arguments]
        result = self._loop(*lists)
        for position in self._written:
            arguments[position][:] = lists[position]
        return result

    def compiled(self, *arguments: Any) -> int:
        """Runs the loop as machine code; an array that may not be written is another type, so all inputs are."""
        if self._machine_code is None:
            self._machine_code = _compile(self._loop)
        return self._machine_code(
            *(
                _read_only(item) if isinstance(item, np.ndarray) and place not in self._written else item
                for place, item in enumerate(arguments)
            )
        )


def hot(*, writes: tuple[str, ...]) -> Callable[[Callable[..., int]], Hot]:
    """Makes a loop ``Hot``; a decorator.

    >>> @hot(writes=("sums",))
    ... def running_sums(values, sums):
    ...     total = 0
    ...     for i in range(len(values)):
    ...         total += values[i]
    ...         sums[i] = total
    ...     return total
    >>> sums = np.zeros(3, np.int64)
    >>> running_sums(np.array([1, 2, 3]), sums, work=3), sums.tolist()
    (6, [1, 3, 6])
    """

    def decorate(loop: Callable[..., int]) -> Hot:
        assert isinstance(loop, FunctionType)
        return Hot(loop, writes)

    return decorate


@cache
def _has_numba() -> bool:
    return find_spec("numba") is not None


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _compile(loop: FunctionType) -> Callable[..., Any]:
    from numba import njit

    try:
        return njit(cache=True)(loop)
    except RuntimeError:  # the code is in no file (a notebook), or no folder may be written: compile each time
        return njit(loop)
