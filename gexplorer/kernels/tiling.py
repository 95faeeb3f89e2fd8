"""The search for a product's tile: none, a walk that looks at one tile in twenty, or the whole space.

``library`` takes what a library would (``cost/library.py``). ``fast`` looks at that one, evaluates the blocks whose
lower bound is least, with the longest sum that fits, then goes from the best few on to better neighbours, until there
are none or it has evaluated its share. ``exhaustive`` evaluates every tile that fits the buffers. Each is told what the
one before it has found, so a longer search never chooses a slower tile. The articles call the choice
``GE_TILING_SEARCH_MODE``.

What ``fast`` saves is evaluations. Here one costs 2 us, as thousands are one numpy expression, so both searches take
about the same CPU time; where an evaluation is a run on the chip, or a compilation, it is all that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from gexplorer.cost.library import library_gemm
from gexplorer.cost.tile import Floats, GemmTiles, Ints, ceil_div, read_only
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile
from gexplorer.kernels.landscape import ORDERS, Landscape, Space
from gexplorer.kernels.tile_cost import NOTHING, Held, kernel_us, too_small

_T = TypeVar("_T")
SearchMode = Literal["library", "fast", "exhaustive"]
MODES: tuple[SearchMode, ...] = ("library", "fast", "exhaustive")
SHARE = 20  # the fast search evaluates at most one tile of so many
_LEAST_BUDGET = 24  # but so many in any case
_ALIKE = 0.01  # times closer than this are the same to a model whose own error is larger
_CLIMBS = 3  # places from which it goes on


def space_of(kernel: GemmKernel, chip: Chip) -> Space:
    """All tiles worth a look: blocks in steps of what the cube takes, sums of 1, 2, 3, 4, 6, 8, 12, ... such steps.

    No tile is longer than the product (rounded up to the cube's shape), nor than L0A and L0B could hold of one; but a
    library's tile is among them, which may be both.
    """
    return _space_with(library_gemm(kernel.work, chip).tile, kernel, chip)


def _space_with(usual: GemmTiles, kernel: GemmKernel, chip: Chip) -> Space:
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
    return Space(np.union1d(m, usual.m), np.union1d(n, usual.n), np.union1d(k, usual.k))


def search(kernel: GemmKernel, chip: Chip, mode: SearchMode = "fast", held: Held = NOTHING) -> Landscape:
    """The landscape of a product, and the tile that the search chooses.

    Args:
        kernel: the product and what follows it.
        chip: the chip.
        mode: ``library``, ``fast`` or ``exhaustive``. Where the library's tile does not fit, because of what rides on
            the product, ``library`` searches as ``fast`` does.
        held: what the rest of a fused kernel keeps in the same buffers.

    Raises:
        OptionError: there is no such mode.
    """
    if mode not in MODES:
        raise OptionError(f"tiling search mode {mode!r}: one of {', '.join(MODES)} is wanted")
    evaluator = _Evaluator(kernel, chip, held)
    evaluator.evaluate(evaluator.usual)
    if mode == "library" and evaluator.evaluations:
        return evaluator.landscape()
    evaluator.settle()
    _fast(evaluator)
    if mode == "exhaustive":
        evaluator.settle()
        evaluator.evaluate(np.flatnonzero(evaluator.codes == 0))
    return evaluator.landscape()


@dataclass(slots=True)
class Searches:
    """Searches on one chip; equal kernels are searched once.

    Attributes:
        chip: the chip.
        mode: ``library``, ``fast`` or ``exhaustive``.
        made: searches that were really made.
    """

    chip: Chip
    mode: SearchMode = "fast"
    made: int = 0
    _known: dict[Hashable, Any] = field(default_factory=dict["Hashable", Any])

    def find(self, kernel: GemmKernel, held: Held = NOTHING, *, chip: Chip | None = None) -> Landscape:
        """The landscape of a kernel; ``chip`` is what a kernel of several products leaves of the chip for one."""
        own = chip or self.chip
        return self.once((kernel, held, own.capacity), lambda: search(kernel, own, self.mode, held))

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What was made for an equal key, or is made now."""
        if key not in self._known:
            self._known[key] = make()
            self.made += 1
        return self._known[key]


class _Evaluator:
    """A search under way: which tiles fit, and what has been evaluated."""

    def __init__(self, kernel: GemmKernel, chip: Chip, held: Held) -> None:
        self._kernel, self.work, self.chip = kernel, kernel.work, chip
        tile = library_gemm(kernel.work, chip).tile
        self.space = _space_with(tile, kernel, chip)
        codes = np.empty(self.space.shape, np.int8)
        for single in (0, 1):
            codes[..., single] = too_small(kernel, self.space, not single, chip, held)[..., None]
        self.codes: NDArray[np.int8] = codes.ravel()
        self.total: Floats = np.full(len(self.codes), np.nan)
        # Tiles longer than the product are the library's, and known already.
        size, unit = self.space, chip.cube.shape(self.work.dtype.bits)
        m, n, k = (
            axis < length + one
            for axis, length, one in zip(
                (size.m, size.n, size.k), (self.work.m, self.work.n, self.work.k), unit, strict=True
            )
        )
        sensible = (m[:, None, None] & n[:, None] & k)[..., None, None]
        self.sensible: NDArray[np.bool_] = np.broadcast_to(sensible, size.shape).ravel()
        self.evaluations = 0
        self._most_us = np.inf
        number = self.space.index(GemmTile(int(tile.m[0]), int(tile.n[0]), int(tile.k[0]), tile.order))
        self.usual = np.array([number], np.int64)

    def settle(self) -> None:
        """From here on no slower tile is chosen than would be now."""
        found = self.best(1)
        if len(found):
            self._most_us = float(self.total[self.chosen(int(found[0]))])

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
                    self.total[some] = kernel_us(self._kernel, tiles, not s, self.chip)
        self.evaluations += len(indices)

    def bound_us(self, m: NDArray[np.int64], n: NDArray[np.int64], single: NDArray[np.bool_]) -> Floats:
        """About the least time of blocks of the space's rows m and columns n: waves of whole blocks, no stalls.

        Loading and computing take turns where panels fit only once.
        """
        work, chip = self.work, self.chip
        rows, columns = self.space.m[m], self.space.n[n]
        count = -(-work.batch * ceil_div(work.m, rows) * ceil_div(work.n, columns) // chip.cube_cores)
        rows, columns = np.minimum(rows, work.m), np.minimum(columns, work.n)
        panel = work.k * work.element_bytes
        products = ceil_div(rows, chip.cube.m) * ceil_div(columns, chip.cube.n) * (panel / chip.cube.k_bytes)
        load = (rows + columns) * panel / chip.paths["gm->l1"].bytes_per_us
        compute = products * chip.cube.step_cycles(work.dtype.bits, hf32=work.hf32) / chip.cycles_per_us
        return np.asarray(np.where(single, compute + load, np.maximum(compute, load)) * count, np.float64)

    def best(self, count: int) -> NDArray[np.int64]:
        """The fastest tiles so far, the fastest first; of equals the first in number."""
        known = np.flatnonzero(~np.isnan(self.total))
        return known[np.argsort(self.total[known], kind="stable")[:count]]

    def chosen(self, best: int) -> int:
        """Of the tiles about as fast as the best, the one with the longest sum, which issues the fewest moves."""
        near = np.flatnonzero(self.total <= min(self.total[best] * (1 + _ALIKE), self._most_us))
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
        near = near[(evaluator.codes[near] == 0) & np.isnan(evaluator.total[near]) & evaluator.sensible[near]]
        evaluator.evaluate(near[: budget - evaluator.evaluations])


def _net(evaluator: _Evaluator, count: int) -> NDArray[np.int64]:
    """The tiles with the least lower bounds: of each block the longest sum that fits twice, in both orders."""
    fit = (evaluator.codes == 0).reshape(evaluator.space.shape)
    double = fit[..., 0, 0]
    single = ~double.any(axis=2)  # blocks that only fit once
    # Blocks longer than the product are the library's, and known already.
    usable = np.where(single[..., None], fit[..., 0, 1], double) & evaluator.sensible.reshape(fit.shape)[..., 0, 0]
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
