"""The search for a product's tile: the whole space, or a walk through it that looks at one tile in twenty.

``exhaustive`` evaluates every tile that fits the buffers. ``fast`` evaluates the blocks whose lower bound is least,
with the longest sum that fits, then goes from the best few on to better neighbours, until there are none or it has
evaluated its share. GE calls the choice ``GE_TILING_SEARCH_MODE``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from gexplorer.cost.tile import Floats, GemmTiles, Ints, ceil_div, read_only
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.gemm_kernel import GemmKernel
from gexplorer.kernels.landscape import ORDERS, Landscape, Space
from gexplorer.kernels.tile_cost import NOTHING, Held, kernel_us, too_small

_T = TypeVar("_T")
SearchMode = Literal["exhaustive", "fast"]
MODES: tuple[SearchMode, ...] = ("exhaustive", "fast")
SHARE = 20  # the fast search evaluates at most one tile of so many
_LEAST_BUDGET = 24  # but so many in any case
_ALIKE = 0.01  # times closer than this are the same to a model whose own error is larger
_CLIMBS = 3  # places from which it goes on


def space_of(kernel: GemmKernel, chip: Chip) -> Space:
    """All tiles worth a look: blocks in steps of what the cube takes, sums of 1, 2, 3, 4, 6, 8, 12, ... such steps.

    No tile is longer than the product (rounded up to the cube's shape), nor than L0A and L0B could hold of one.
    """
    work, size = kernel.work, chip.capacity
    unit_m, unit_n, unit_k = chip.cube.shape(work.dtype.bits)
    panel = unit_k * work.element_bytes
    m = _steps(work.m, unit_m, int(size.l0a_bytes // panel))
    n = _steps(work.n, unit_n, int(size.l0b_bytes // panel))
    most = -(-work.k // unit_k)
    powers = [1 << i for i in range(most.bit_length() + 1)]
    steps = sorted(
        {power for power in powers if power < 2 * most} | {3 * power for power in powers if 3 * power < most}
    )
    longest = max(size.l0a_bytes / unit_m, size.l0b_bytes / unit_n) / work.element_bytes
    k = np.array([unit_k * step for step in steps if unit_k * step <= longest], np.int64)
    return Space(m, n, k)


def search(kernel: GemmKernel, chip: Chip, mode: SearchMode = "fast", held: Held = NOTHING) -> Landscape:
    """The landscape of a product, and the tile that the search chooses.

    Args:
        kernel: the product and what follows it.
        chip: the chip.
        mode: ``exhaustive`` or ``fast``.
        held: what the rest of a fused kernel keeps in the same buffers.

    Raises:
        OptionError: there is no such mode.
    """
    if mode not in MODES:
        raise OptionError(f"tiling search mode {mode!r}: {' or '.join(MODES)} is wanted")
    evaluator = _Evaluator(kernel, chip, held)
    if mode == "exhaustive":
        evaluator.evaluate(np.flatnonzero(evaluator.codes == 0))
    else:
        _fast(evaluator)
    return evaluator.landscape()


@dataclass(slots=True)
class Searches:
    """Searches on one chip; equal kernels are searched once.

    Attributes:
        chip: the chip.
        mode: ``exhaustive`` or ``fast``.
        made: searches that were really made.
    """

    chip: Chip
    mode: SearchMode = "fast"
    made: int = 0
    _known: dict[Hashable, Any] = field(default_factory=dict["Hashable", Any])

    def find(self, kernel: GemmKernel, held: Held = NOTHING) -> Landscape:
        """The landscape of a kernel."""
        return self.once((kernel, held), lambda: search(kernel, self.chip, self.mode, held))

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What was made for an equal key, or is made now."""
        if key not in self._known:
            self._known[key] = make()
            self.made += 1
        return self._known[key]


class _Evaluator:
    """A search under way: which tiles fit, and what has been evaluated."""

    def __init__(self, kernel: GemmKernel, chip: Chip, held: Held) -> None:
        self._kernel, self._chip = kernel, chip
        self.space = space_of(kernel, chip)
        codes = np.empty(self.space.shape, np.int8)
        for single in (0, 1):
            codes[..., single] = too_small(kernel, self.space, not single, chip, held)[..., None]
        self.codes: NDArray[np.int8] = codes.ravel()
        self.total: Floats = np.full(len(self.codes), np.nan)
        self.evaluations = 0

    def evaluate(self, indices: NDArray[np.int64]) -> None:
        """Computes what tiles cost that fit and are not known yet."""
        indices = indices[(self.codes[indices] == 0) & np.isnan(self.total[indices])]
        *_, order, single = np.unravel_index(indices, self.space.shape)
        for o, name in enumerate(ORDERS):
            for s in (0, 1):
                some = indices[(order == o) & (single == s)]
                if len(some):
                    m, n, k = np.unravel_index(some, self.space.shape)[:3]
                    tiles = GemmTiles(self.space.m[m], self.space.n[n], self.space.k[k], name)
                    self.total[some] = kernel_us(self._kernel, tiles, not s, self._chip)
        self.evaluations += len(indices)

    def bound_us(self, m: NDArray[np.int64], n: NDArray[np.int64], single: NDArray[np.bool_]) -> Floats:
        """About the least time of blocks of the space's rows m and columns n: waves of whole blocks, no stalls.

        Loading and computing take turns where panels fit only once.
        """
        work, chip = self._kernel.work, self._chip
        rows, columns = self.space.m[m], self.space.n[n]
        count = -(-work.batch * ceil_div(work.m, rows) * ceil_div(work.n, columns) // chip.cube_cores)
        rows, columns = np.minimum(rows, work.m), np.minimum(columns, work.n)
        panel = work.k * work.element_bytes
        products = ceil_div(rows, chip.cube.m) * ceil_div(columns, chip.cube.n) * (panel / chip.cube.k_bytes)
        load = (rows + columns) * panel / chip.paths["gm->l1"].bytes_per_us
        compute = products / chip.cycles_per_us
        return np.asarray(np.where(single, compute + load, np.maximum(compute, load)) * count, np.float64)

    def best(self, count: int) -> NDArray[np.int64]:
        """The fastest tiles so far, the fastest first; of equals the first in number."""
        known = np.flatnonzero(~np.isnan(self.total))
        return known[np.argsort(self.total[known], kind="stable")[:count]]

    def chosen(self, best: int) -> int:
        """Of the tiles about as fast as the best, the one with the longest sum, which issues the fewest moves."""
        near = np.flatnonzero(self.total <= self.total[best] * (1 + _ALIKE))
        sums = self.space.k[np.unravel_index(near, self.space.shape)[2]]
        return int(near[np.lexsort((self.total[near], -sums))[0]])

    def landscape(self) -> Landscape:
        """What has been seen."""
        found = self.best(1)
        best = int(found[0]) if len(found) else None
        chosen = None if best is None else self.chosen(best)
        return Landscape(self.space, read_only(self.codes), read_only(self.total), best, chosen, self.evaluations)


def _fast(evaluator: _Evaluator) -> None:
    """The blocks of least bound, then from the best few to better neighbours."""
    space = evaluator.space
    budget = max(_LEAST_BUDGET, int((evaluator.codes == 0).sum()) // SHARE)
    evaluator.evaluate(_net(evaluator, budget // 2))
    done: set[int] = set()
    while evaluator.evaluations < budget:
        fresh = [int(i) for i in evaluator.best(_CLIMBS) if int(i) not in done]
        if not fresh:
            return
        done.add(fresh[0])
        near = _neighbours(fresh[0], space.shape)
        near = near[(evaluator.codes[near] == 0) & np.isnan(evaluator.total[near])]
        evaluator.evaluate(near[: budget - evaluator.evaluations])


def _net(evaluator: _Evaluator, count: int) -> NDArray[np.int64]:
    """The tiles with the least lower bounds: of each block the longest sum that fits twice, in both orders."""
    fit = (evaluator.codes == 0).reshape(evaluator.space.shape)
    double = fit[..., 0, 0]
    single = ~double.any(axis=2)  # blocks that only fit once
    usable = np.where(single[..., None], fit[..., 0, 1], double)
    m, n = (axis.ravel() for axis in np.nonzero(usable.any(axis=2)))
    longest = usable.shape[2] - 1 - usable[m, n, ::-1].argmax(axis=1)
    bound = evaluator.bound_us(m, n, single[m, n])
    first = np.argsort(bound, kind="stable")[: max(1, count // len(ORDERS))]
    picked = [
        np.ravel_multi_index((m[first], n[first], longest[first], order, single[m, n][first]), evaluator.space.shape)
        for order in np.arange(len(ORDERS))[:, None] * np.ones(len(first), np.int64)
    ]
    return np.concatenate(picked)


def _neighbours(index: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Tiles one step away along one axis, then two axes' steps and longer ones, nearest first."""
    place = np.array(np.unravel_index(index, shape))
    found = place + _STEPS
    inside = ((found >= 0) & (found < np.array(shape))).all(axis=1)
    return np.asarray(np.ravel_multi_index(tuple(found[inside].T), shape), np.int64)


def _all_steps() -> NDArray[np.int64]:
    """Differences of (m, n, k, order, buffering), the small ones first."""
    one = [
        step
        for size in (1, 2, 4, 8)
        for axis in range(2)
        for sign in (1, -1)
        for step in (tuple(sign * size * (i == axis) for i in range(5)),)
    ]
    flips = [(0, 0, s, 0, 0) for s in (-1, 1, -2, 2, -3)] + [(0, 0, 0, s, 0) for s in (-1, 1)]
    flips += [(0, 0, k, 0, s) for k in (0, 1) for s in (-1, 1)]
    both = [(a, b, 0, 0, 0) for size in (1, 2) for a in (size, -size) for b in (size, -size)]
    return np.array([*flips, *one[:4], *both, *one[4:]], np.int64)


_STEPS = _all_steps()


def _steps(length: int, unit: int, most: int) -> Ints:
    """Multiples of the unit up to the length (rounded up), or to the most."""
    return np.arange(unit, min(-(-length // unit) * unit, most) + 1, unit)
