from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gexplorer.cost.attention import attention_cost, attention_traffic
from gexplorer.cost.attention_tiles import USUAL_TILE, AttentionTiles, assumed_tiles, attention_fits, is_wide
from gexplorer.cost.work import Attention
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType

TILE = AttentionTiles.of(128, 128)


WIDE = Attention(1, 2048, 2048, 768, dtype=DType.FLOAT32)  # SimpleAttention's head


def counted(work: Attention, tile_q: int, tile_k: int, *, sliced: bool = False) -> tuple[float, float]:
    """Bytes of operands and of what is handed over, counted loop by loop."""
    e = work.dtype.bits // 8
    operands = handed = 0
    for _ in range(work.heads):
        for q in range(0, work.queries, tile_q):
            rows = min(tile_q, work.queries - q)
            operands += rows * (work.width + work.columns) * e  # Q in, output out
            operands += sliced * (
                2 * rows * work.columns * 4 - rows * work.width * e
            )  # cleared, read at last; no Q yet
            seen = work.keys - work.queries + q + rows if work.causal else work.keys
            for k in range(0, seen, tile_k):
                keys = min(tile_k, seen - k)
                operands += keys * (work.width + work.columns) * e
                operands += sliced * rows * (work.width * e + 2 * work.columns * 4)  # Q, and the output to and fro
                handed += 2 * rows * keys * (4 + e) + 2 * rows * work.columns * 4
    return operands, handed


@pytest.mark.parametrize(
    "work",
    [
        Attention(32, 2048, 2048, 128),
        Attention(3, 100, 333, 64, 48),
        Attention(8, 1, 4096, 128),
        Attention(2, 1000, 1000, 64, causal=True),
        Attention(3, 300, 777, 64, 48, causal=True),
        Attention(1, 300, 100, 64, causal=True),
    ],
)
def test_traffic_agrees_with_the_loops(work):
    got = attention_traffic(work, TILE)
    assert (got.operands[0], got.hand_over[0]) == pytest.approx(counted(work, 128, 128), rel=1e-12)
    tiles = AttentionTiles(np.array([16, 48, 512]), np.array([256, 32, 16]))
    got = attention_traffic(work, tiles)
    for i, (queries, keys) in enumerate(zip(tiles.queries.tolist(), tiles.keys.tolist(), strict=True)):
        assert (got.operands[i], got.hand_over[i]) == pytest.approx(counted(work, queries, keys), rel=1e-12)


@pytest.mark.parametrize("work", [WIDE, Attention(3, 100, 333, 764, 1048), Attention(2, 300, 777, 900, causal=True)])
def test_traffic_of_a_head_in_slices_agrees_with_the_loops(work):
    tiles = AttentionTiles(np.array([16, 64, 128]), np.array([256, 32, 128]), np.array([16, 64, 32]))
    got = attention_traffic(work, tiles)
    for i, (queries, keys) in enumerate(zip(tiles.queries.tolist(), tiles.keys.tolist(), strict=True)):
        wanted = counted(work, queries, keys, sliced=True)
        assert (got.operands[i], got.hand_over[i]) == pytest.approx(wanted, rel=1e-12)


def test_by_hand_a_tile_of_the_articles_head_in_slices():
    """128 x 128 scores, MMADs of 128 x 128 x 64: twelve for the scores, two for each of six parts of the output."""
    chip = load_chip("Ascend910B3")
    cost = attention_cost(WIDE, chip, AttentionTiles.of(128, 128, 64))
    tiles, e = 16, 4
    panel, scores, ends = 128 * 768 * e, 128 * 128 * 4, 128 * 768 * 4
    assert cost.waves[0] == 1
    each = (128 * 128 * 64 / (16 * 16 * 8) * chip.cube.step_cycles(32) + 14 + chip.cube.gap_cycles) / 1800
    assert cost.pipes["cube"][0] / tiles == pytest.approx((12 + 6 * 2) * each)
    rate = {path: chip.paths[path].bytes_per_us for path in chip.paths}
    cleared, read = ends / 2 / rate["ub->gm"], ends / 2 / rate["gm->ub"]  # by two vector cores
    # Q, K, V and the probabilities to L1, more than what goes to UB; P to L0A for each part.
    assert cost.pipes["mte2"][0] == pytest.approx(tiles * (3 * panel + scores) / rate["gm->l1"] + read)
    assert cost.pipes["mte3"][0] == pytest.approx(tiles * (scores + panel) / 2 / rate["ub->gm"] + cleared)
    to_l0 = (panel + 6 * scores) / rate["l1->l0a"] + 2 * panel / rate["l1->l0b"]
    assert cost.pipes["mte1"][0] == pytest.approx(tiles * to_l0)
    assert cost.bound[0] == "cube"
    # Before all pipes work: the first tile's softmax, from the scores in L0C to the probabilities in L1, and a part.
    passes = 2 + chip.vector.exp_passes + 2 * chip.vector.reduce_passes
    softmax = (scores / rate["gm->ub"] + scores * passes / 128 / 1800 + scores / rate["ub->gm"]) / 2
    softmax += scores / rate["l0c->gm"] + scores / rate["gm->l1"]
    others = sum(us[0] for pipe, us in cost.pipes.items() if pipe not in ("cube", "hbm")) - cleared - read
    startup = chip.paths["gm->l1"].startup_us + chip.paths["ub->gm"].startup_us
    waiting = softmax + others / tiles / 6 + cleared + read + startup
    assert cost.total_us[0] == pytest.approx(cost.launch_us + cost.pipes["cube"][0] + waiting)


def test_no_tile_is_assumed_that_a_wide_head_does_not_fit():
    chip = load_chip("Ascend910B3")
    assert not attention_fits(WIDE, AttentionTiles.of(16, 16), chip)[0]
    (tiles,) = assumed_tiles(WIDE, chip)
    assert tiles.slice is not None
    assert attention_fits(WIDE, tiles, chip).all()
    assert attention_cost(WIDE, chip).total_us[0] == attention_cost(WIDE, chip, tiles).total_us.min()
    # 256 x 128 would be faster, if L0A and L0C held it.
    larger = AttentionTiles.of(256, 128, 64)
    assert not attention_fits(WIDE, larger, chip)[0]
    larger_chip = chip.scaled({"capacity.l0a": 2, "capacity.l0b": 2, "capacity.l0c": 2})
    assert attention_fits(WIDE, larger, larger_chip)[0]
    assert attention_cost(WIDE, larger_chip).total_us[0] < attention_cost(WIDE, chip).total_us[0]
    # In float16 small tiles hold it whole; slices are faster than any of them.
    half = replace(WIDE, dtype=DType.FLOAT16)
    whole, sliced = assumed_tiles(half, chip)
    assert (whole.slice, attention_fits(half, whole, chip).all()) == (None, True)
    us = [attention_cost(half, chip, tiles).total_us.min() for tiles in (whole, sliced)]
    assert attention_cost(half, chip).total_us[0] == min(us) == us[1]
    # UB holds the output so far of 128 queries of 381 columns, beside three numbers a row.
    for width, wide in ((381, False), (382, True)):
        assert is_wide(replace(half, width=width), chip) == wide
    (usual,) = assumed_tiles(replace(WIDE, width=128), chip)
    assert (usual.queries.tolist(), usual.keys.tolist(), usual.slice) == ([USUAL_TILE[0]], [USUAL_TILE[1]], None)


def test_an_output_that_l2_does_not_hold_goes_to_hbm_and_back_for_each_tile():
    chip, work, tiles = load_chip("Ascend910B3"), replace(WIDE, heads=20), AttentionTiles.of(128, 128, 64)
    workspace = 20 * 2 * 128 * 768 * 4
    usable = chip.l2_usable * chip.capacity.l2_bytes
    held, lost = (
        attention_cost(work, chip.scaled({"capacity.l2": f * workspace / usable}), tiles) for f in (1.01, 0.99)
    )
    assert held.hbm_bytes[0] == work.compulsory_bytes
    assert lost.hbm_bytes[0] - held.hbm_bytes[0] == 2 * attention_traffic(work, tiles).carried[0]
    assert lost.total_us[0] >= held.total_us[0]


def test_published_figures_of_thirty_two_heads():
    """N = 2048, d = 128, 32 heads, fp16: 1,141 MB through HBM with the scores in memory, 67 MB without."""
    work = Attention(32, 2048, 2048, 128)
    n, d = 2048, 128
    standard = 32 * (4 * n * d + 4 * n * n) * 2
    assert standard / 1e6 == pytest.approx(1141, abs=0.5)
    assert work.compulsory_bytes / 1e6 == pytest.approx(67, abs=0.2)
    assert standard / work.compulsory_bytes == pytest.approx(17, abs=0.1)
    assert attention_traffic(work, TILE).operands[0] / 1e6 == pytest.approx(570, abs=1)


def test_reloading_grows_as_the_square_of_the_length_and_falls_with_the_tile():
    def reload(n: int, tile: int) -> float:
        work = Attention(1, n, n, 128)
        return attention_traffic(work, AttentionTiles.of(tile, 128)).operands[0] - 2 * n * 128 * 2

    assert reload(8192, 128) == 4 * reload(4096, 128)
    assert reload(4096, 256) == reload(4096, 128) / 2


def test_by_hand_a_tile_of_scores_on_910b2():
    """Two products of 128^3 against eight passes over 128 x 128 scores on two vector cores: the vector unit binds."""
    chip = load_chip("Ascend910B2")
    cost = attention_cost(Attention(1, 2048, 2048, 128), chip)
    tiles = 16  # sixteen blocks of queries on 24 cores, sixteen tiles of keys each
    assert cost.waves[0] == 1
    assert cost.pipes["cube"][0] / tiles == pytest.approx((2 * 512 + 2 * (14 + chip.cube.gap_cycles)) / 1800)
    # Difference, cast, exponential and two reductions of 1.5 over the scores, two passes over the output.
    passes = 16384 * (2 + 1 + 2 * 1.5) + 16384 * 2
    assert cost.pipes["vector"][0] / tiles == pytest.approx(passes * 4 / 128 / 2 / 1800)
    assert cost.bound[0] == "vector"


def test_waves_and_heads():
    chip = load_chip("Ascend910B2")
    one, full, more = (attention_cost(Attention(heads, 128, 4096, 128), chip) for heads in (1, 24, 25))
    assert one.total_us[0] == full.total_us[0]
    body = full.total_us[0] - full.launch_us
    assert (more.total_us[0] - more.launch_us) / body == pytest.approx(2, rel=0.01)


def test_a_causal_mask_spares_half_of_the_scores():
    plain, causal = Attention(1, 1024, 1024, 64), Attention(1, 1024, 1024, 64, causal=True)
    assert causal.scores == 1024 * 1025 / 2
    assert Attention(1, 1, 4096, 64, causal=True).scores == 4096  # the last query sees everything
    assert Attention(1, 4, 6, 64, causal=True).scores == 3 + 4 + 5 + 6
    assert Attention(1, 6, 4, 64, causal=True).scores == 1 + 2 + 3 + 4
    chip = load_chip("Ascend910B2")
    # Eight blocks have a core each, and the last of them sees all keys; of many blocks a core has long and short ones.
    assert attention_cost(causal, chip).total_us[0] == attention_cost(plain, chip).total_us[0]
    many = replace(plain, heads=48)
    spared = (
        attention_cost(replace(many, causal=True), chip).pipes["vector"][0]
        / attention_cost(many, chip).pipes["vector"][0]
    )
    assert spared == pytest.approx((8 + 1) / 2 / 8)


@pytest.mark.parametrize("heads", [1, 7, 48])
@pytest.mark.parametrize("lengths", [(5120, 5120), (2048, 3000), (1000, 300)])
def test_the_busiest_core_of_a_causal_attention_is_dealt_the_longest_blocks(heads, lengths):
    """Block by block: sorted by length, dealt out in turn."""
    chip = load_chip("Ascend910B2")
    work = Attention(heads, *lengths, 128, causal=True)
    cost = attention_cost(work, chip, TILE)
    firsts = range(0, work.queries, 128)
    seen = [min(max(work.keys - work.queries + first + 128, 0), work.keys) for first in firsts for _ in range(heads)]
    cores = [sum(sorted(seen, reverse=True)[core :: chip.cube_cores]) for core in range(chip.cube_cores)]
    one = attention_cost(replace(work, heads=1, queries=128, keys=128, causal=False), chip, TILE)
    assert cost.pipes["vector"][0] == pytest.approx(max(cores) / 128 * one.pipes["vector"][0])


def test_a_mask_is_read_tile_by_tile():
    chip, plain = load_chip("Ascend910B2"), Attention(32, 2048, 2048, 128)
    masked = replace(plain, mask_bytes=2)
    bare, got = (attention_traffic(work, TILE) for work in (plain, masked))
    assert got.masks[0] == 32 * 2048 * 2048 * 2
    assert got.operands[0] - bare.operands[0] == got.masks[0]
    assert got.hand_over[0] == bare.hand_over[0]
    one, other = (attention_cost(work, chip) for work in (plain, masked))
    assert other.ub_bytes[0] - one.ub_bytes[0] == got.masks[0]
    assert other.l1_bytes[0] == one.l1_bytes[0]
    # as wide as four bytes of sums: half as much again for the vector cores' MTE2, which the scores' path shares
    assert other.pipes["mte2"][0] > one.pipes["mte2"][0]


def test_coupled_cores_hand_over_from_buffer_to_buffer():
    work = Attention(32, 2048, 2048, 128)
    apart, coupled = (attention_cost(work, load_chip(name)) for name in ("Ascend910B1", "Ascend910A"))
    traffic = attention_traffic(work, TILE)
    assert apart.l2_bytes[0] == traffic.operands[0] + traffic.hand_over[0]
    assert coupled.l2_bytes[0] == traffic.operands[0]
    scores, elements = 32 * 2048 * 2048, 32 * 2048 * 128
    assert apart.ub_bytes[0] == scores * 4 + 16 * elements * 4 + scores * 2 + elements * 2
    assert apart.l1_bytes[0] == elements * 2 + 16 * 2 * elements * 2 + scores * 2


def test_a_further_pass_over_the_scores_costs_time():
    chip = load_chip("Ascend910B2")
    usual, more = (attention_cost(Attention(1, 8192, 8192, 128, extra_passes=p), chip) for p in (0, 1))
    assert more.pipes["vector"][0] / usual.pipes["vector"][0] == pytest.approx(9 / 8)
