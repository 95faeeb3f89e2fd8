"""What a core finds in L2 when it reads a panel: the first reader waits for HBM, later ones do not.

Analytic, without simulating a cache. A panel is *cold* in the wave in which it is first read, and in part again if more
than the usable part of L2 has passed since. Of s cores that read a cold panel in the same wave, one waits for every
byte and the others come somewhere in the middle of that wait: each waits (1 + 1/s) / 2 of it on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gexplorer.cost.tile import Floats, Ints
from gexplorer.cost.waves import Waves
from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip

NEWTON_STEPS = 12


@dataclass(frozen=True, slots=True)
class Residency:
    """Shares of a core's reads that wait for HBM, and what L2 loses; all of shape [T].

    Attributes:
        outer: of the outer panels, in full waves.
        inner: of the inner panels, in full waves.
        tail_outer: of the outer panels, in the last wave.
        tail_inner: of the inner panels, in the last wave.
        outer_sharers: cores that read an outer panel at once.
        inner_sharers: cores that read an inner panel at once.
        outer_lost: share of an outer panel that is gone from L2 when the next wave reads it.
        inner_lost: share of an inner panel that is gone from L2 when the next line reads it.
    """

    outer: Floats
    inner: Floats
    tail_outer: Floats
    tail_inner: Floats
    outer_sharers: Ints
    inner_sharers: Ints
    outer_lost: Floats
    inner_lost: Floats


def residency(work: Gemm, w: Waves, chip: Chip, order: str) -> Residency:
    """What the panels of a product find in L2."""
    cores, blocks = w.cores, w.full_blocks
    left_outer = order == "rows"
    outer_distinct = work.left_distinct if left_outer else 1.0
    inner_distinct = 1.0 if left_outer else work.left_distinct

    outer_sharers = np.minimum(w.line_blocks, np.minimum(cores, w.blocks))
    inner_sharers = np.clip(np.minimum(cores, w.blocks) // w.line_blocks, 1, w.lines // work.batch)

    outer_bytes = w.outer * work.k * work.element_bytes
    inner_bytes = w.inner * work.k * work.element_bytes
    out_bytes = w.outer * w.inner * work.out_bytes
    # Between two reads of an inner panel lies one line; between two waves of a line, one wave.
    usable = chip.l2_usable * chip.capacity.l2_bytes
    line = w.line_blocks * (inner_bytes * inner_distinct + out_bytes) + outer_bytes * outer_distinct
    wave = outer_sharers * (inner_bytes * inner_distinct + out_bytes) + outer_bytes * outer_distinct
    inner_lost = np.where(w.lines > work.batch, lost(line, usable), 0.0)
    outer_lost = np.where(w.line_blocks > cores, lost(wave, usable), 0.0)

    # Of the full waves' blocks, those that lie in the wave in which their panel is first read.
    any_blocks = np.maximum(blocks, 1)
    lines = -(-blocks // w.line_blocks)
    outer_first = np.minimum(blocks, lines * np.minimum(w.line_blocks, cores)) / any_blocks
    a_product = w.line_blocks * (w.lines // work.batch)
    products = -(-blocks // a_product)
    inner_first = np.minimum(blocks, products * np.maximum(w.line_blocks, cores)) / any_blocks

    # The last wave is the first to read inner panels where it begins in a product's first line, or a product in it.
    inner_new = (blocks % a_product < w.line_blocks) | (products < work.batch)

    outer_late = (1 + 1 / outer_sharers) / 2 * outer_distinct
    inner_late = (1 + 1 / inner_sharers) / 2 * inner_distinct
    return Residency(
        outer=np.maximum(outer_first * outer_late, outer_lost * outer_distinct),
        inner=np.maximum(inner_first * inner_late, inner_lost * inner_distinct),
        tail_outer=np.maximum((w.lines > lines) * outer_late, outer_lost * outer_distinct),
        tail_inner=np.maximum(inner_new * inner_late, inner_lost * inner_distinct),
        outer_sharers=outer_sharers,
        inner_sharers=inner_sharers,
        outer_lost=outer_lost,
        inner_lost=inner_lost,
    )


def lost(passed_bytes: Floats, usable_bytes: float) -> Floats:
    """Share of data that a cache no longer holds when it is read again, [T].

    A cache of size U that replaces at random, through which T bytes go round and round, still holds the share h of
    them with ``h = exp(-(1 - h) T / U)``: each miss, (1 - h) T in a round, throws a given byte out with a chance of
    1 / U. So all up to T = U, 20 % at T = 2 U, next to nothing at T = 4 U.

    Args:
        passed_bytes: bytes of a round, the data itself among them, [T].
        usable_bytes: size of the cache; 0 where there is none.
    """
    if usable_bytes == 0:
        return np.ones_like(passed_bytes)
    turns = passed_bytes / usable_bytes
    if (turns <= 1).all():
        return np.zeros_like(turns)
    over = np.maximum(turns, 1)
    held = np.zeros_like(turns)
    for _ in range(NEWTON_STEPS):  # from below, where the function is convex: every step comes nearer
        value = np.exp((held - 1) * over)
        held = held + (value - held) / np.maximum(1 - over * value, 1e-9)
    return np.where(turns <= 1, 0.0, 1 - np.minimum(held, 1))
