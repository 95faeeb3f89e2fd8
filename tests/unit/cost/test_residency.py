from __future__ import annotations

import numpy as np
import pytest

from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.residency import lost, residency
from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.waves import waves
from gexplorer.cost.work import Gemm
from gexplorer.hardware.catalogue import load_chip

CHIP = load_chip("teaching")  # four cores, 16 MiB of L2


def found(work: Gemm, m: int, n: int, order: str = "rows"):
    tiles = GemmTiles.of(m, n, 64, order)
    return residency(work, waves(work, tiles, CHIP.cube_cores), CHIP, order)


def test_one_block_a_core_finds_everything_cold():
    got = found(Gemm(64, 256, 128), 64, 64)  # one line of four blocks: the left panel is shared, the right ones not
    assert got.outer_sharers[0] == 4
    assert got.inner_sharers[0] == 1
    assert got.inner[0] == 1
    assert got.outer[0] == pytest.approx((1 + 1 / 4) / 2)


def test_the_second_line_finds_inner_panels_in_l2():
    got = found(Gemm(128, 256, 128), 64, 64)  # two lines, a wave each
    assert got.inner[0] == pytest.approx(1 / 2)
    assert got.outer[0] == pytest.approx((1 + 1 / 4) / 2)


def test_a_last_wave_on_known_panels_is_hot():
    got = found(Gemm(64 * 5, 64 * 2, 128), 64, 64)  # five lines of two: the last wave is the fifth line
    assert got.tail_inner[0] == 0
    assert got.tail_outer[0] == pytest.approx((1 + 1 / 2) / 2)
    alone = found(Gemm(64, 64 * 3, 128), 64, 64)  # fewer blocks than cores: only a last wave, all of it cold
    assert alone.tail_inner[0] == 1


def test_what_does_not_fit_l2_comes_again():
    small, large = Gemm(1024, 1024, 1024), Gemm(1024, 16384, 1024)  # 2 and 32 MiB of right matrix
    assert found(small, 128, 128).inner_lost[0] == 0
    gone = found(large, 128, 128).inner_lost[0]
    # 32 MiB of the right matrix, two panels of the left one and a line of outputs go round in 16 MiB.
    assert gone == pytest.approx(1 - 0.153, abs=0.01)
    fits, overflows = (gemm_cost(work, GemmTiles.of(128, 128, 64), CHIP) for work in (small, large))
    assert fits.hbm_bytes[0] == fits.compulsory_bytes
    # Eight lines of blocks: after the first, each finds that share of the right matrix gone.
    again = 7 * 1024 * 16384 * 2 * gone
    assert overflows.hbm_bytes[0] == pytest.approx(overflows.compulsory_bytes + again)


def test_a_cache_that_replaces_at_random_loses_what_a_simulation_says():
    rng = np.random.default_rng(0)
    for size, rounds in ((400, 0.8), (400, 1.25), (400, 2.0), (400, 4.0)):
        items = int(size * rounds)
        slots, where, hits = np.full(size, -1), {}, 0
        for turn in range(60):
            for item in range(items):
                if item in where:
                    hits += turn >= 30
                    continue
                slot = int(rng.integers(size)) if len(where) == size else len(where)
                where.pop(int(slots[slot]), None)
                slots[slot], where[item] = item, slot
        simulated = 1 - hits / (30 * items)
        assert lost(np.array([float(items)]), size)[0] == pytest.approx(simulated, abs=0.03)


def test_losses_are_continuous_and_grow():
    turns = np.linspace(0.5, 6, 500)
    got = lost(turns, 1.0)
    assert got[0] == 0
    assert lost(np.array([1.0]), 0.0).tolist() == [1]
    steps = np.diff(got)
    assert steps.min() >= 0
    assert steps.max() < 0.03
    held = 1 - got[turns > 1.02]
    assert held == pytest.approx(np.exp((held - 1) * turns[turns > 1.02]), abs=1e-4)


def test_both_orders_of_a_square_product_are_alike():
    work = Gemm(512, 512, 256)
    rows, columns = (found(work, 64, 64, order) for order in ("rows", "columns"))
    assert rows.outer[0] == columns.outer[0]
    assert rows.inner[0] == columns.inner[0]
