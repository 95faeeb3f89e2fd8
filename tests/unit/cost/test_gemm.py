from __future__ import annotations

import pytest

from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.library import feasible_tiles, library_gemm, usual_block
from gexplorer.cost.overlap import body_us, double_buffered, pipeline_us
from gexplorer.cost.tile import GemmTiles, fits, occupancy
from gexplorer.cost.work import Gemm
from gexplorer.hardware.catalogue import load_chip
from gexplorer.hardware.quantities import Quantity

# The one core of a comparison with ZigZag 3.9.1: 16 x 16 x 16 products a cycle, no L2, a port to HBM, and a result
# that leaves while the next one is computed (here: L0C holds two).
ONE_CORE = """
name: one_core
like: teaching
clock: {{value: 1.85 GHz, source: test}}
cores: {{cube: {{value: 1, source: test}}, vector: {{value: 2, source: test}}}}
cube: {{head_cycles: {{value: 0, source: test}}, gap_cycles: {{value: 0, source: test}}}}
capacity:
  l1: {{value: 512 KiB, source: test}}
  l0a: {{value: 64 KiB, source: test}}
  l0b: {{value: 64 KiB, source: test}}
  l0c: {{value: 256 KiB, source: test}}
hbm:
  rate: {{value: {port} B/cycle, source: test}}
  cold_core_rate: {{value: {port} B/cycle, source: test}}
l2: {{usable: {{value: 0, source: test}}}}
paths:
  gm->l1: {{rate: {{value: {port} B/cycle, source: test}}, startup: {{value: 0 ns, source: test}}}}
  l1->l0a: {{rate: {{value: 256 B/cycle, source: test}}}}
  l1->l0b: {{rate: {{value: 128 B/cycle, source: test}}}}
  l0c->gm: {{rate: {{value: 128 B/cycle, source: test}}, startup: {{value: 0 ns, source: test}}}}
launch: {{cube: {{value: 0 us, source: test}}}}
"""


@pytest.fixture
def one_core(tmp_path):
    def make(port: int):
        path = tmp_path / f"port{port}.yaml"
        path.write_text(ONE_CORE.format(port=port))
        return load_chip(path)

    return make


@pytest.mark.parametrize(("port", "cycles"), [(128, 8_407_039), (32, 25_690_176)])
def test_a_published_academic_model_says_the_same_of_one_core(one_core, port, cycles):
    """ZigZag 3.9.1, GEMM 2048 x 4096 x 4096 fp16, output-stationary 128 x 256: cycles and 822.1 MB over the port."""
    chip = one_core(port)
    cost = gemm_cost(Gemm(2048, 4096, 4096), GemmTiles.of(128, 256, 64), chip)
    assert cost.total_us[0] * chip.cycles_per_us == pytest.approx(cycles, rel=0.01)
    assert cost.hbm_bytes[0] == 2048 * 4096 * 4096 * (1 / 128 + 1 / 256) * 2 + 2048 * 4096 * 2 == 822_083_584
    assert cost.bound[0] == ("cube" if port == 128 else "hbm")


def test_by_hand_on_the_teaching_chip():
    """Four cores, one 64 x 64 block each of K = 256; every figure can be worked out."""
    chip = load_chip("teaching")
    cost = gemm_cost(Gemm(128, 128, 256), GemmTiles.of(64, 64, 64), chip)
    assert cost.waves[0] == 1
    # 4 x 4 x 16 products of 16 x 16 x 16 and four heads of 10 cycles, at 1 GHz.
    assert cost.pipes["cube"][0] == pytest.approx((256 + 40) / 1000)
    # Panels of 64 x 256 fp16 from L1 at 200 bytes a cycle each.
    assert cost.pipes["mte1"][0] == pytest.approx(2 * 32768 / 200e3)
    # Both panels are cold and read by two cores: 3/4 of the bytes at 50 GB/s, the rest at 100, and 0.1 us of start.
    by_core = 2 * 32768 * (0.75 / 50e3 + 0.25 / 100e3)
    by_hbm = 4 * 32768 / 100e3
    assert cost.pipes["mte2"][0] == pytest.approx(max(by_core, by_hbm) + 0.1)
    assert cost.pipes["fixpipe"][0] == pytest.approx(64 * 64 * 2 / 100e3 + 0.1)
    compute = 64 * 64 * 256 / 4096 / 1000 + 4 * 20 / 1000
    last = 64 * 64 * 2 / 100e3 + 0.1
    body = cost.pipes["mte2"][0] + max(compute, 2 * 32768 / 200e3) / 4 + last
    assert cost.total_us[0] == pytest.approx(1 + body)
    assert cost.hbm_bytes[0] == cost.compulsory_bytes == (2 * 128 * 256 + 128 * 128) * 2
    assert cost.l2_bytes[0] == 4 * 65536 + 128 * 128 * 2
    assert (cost.l1_bytes[0], cost.ub_bytes[0]) == (4 * 65536, 0)
    assert cost.ratio("cube")[0] == pytest.approx(0.296 / cost.total_us[0])


def test_short_panels_arrive_no_faster_than_their_transfers_start():
    chip, work = load_chip("teaching"), Gemm(128, 128, 256)
    long, short = (gemm_cost(work, GemmTiles.of(64, 64, k), chip).pipes["mte2"][0] for k in (64, 16))
    # Four transfers of 0.1 us hide behind 1.3 us of data, sixteen do not.
    assert long < 1.6
    assert short == pytest.approx(16 * 0.1)
    at_once = chip.with_values({"paths.gm->l1.startup": Quantity(0, "ns")})
    same = (gemm_cost(work, GemmTiles.of(64, 64, k), at_once).pipes["mte2"][0] for k in (64, 16))
    assert next(same) == next(same)


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_each_panel_takes_its_own_way_to_l0(order):
    chip = load_chip("Ascend910B3")
    cost = gemm_cost(Gemm(48, 256, 512), GemmTiles.of(48, 256, 64, order), chip)
    left, right = 48 * 512 * 2 / (238 * 1800), 256 * 512 * 2 / (119 * 1800)
    assert cost.pipes["mte1"][0] == pytest.approx(left + right)
    assert cost.pipes["cube"][0] == pytest.approx((3 * 16 * 32 + 8 * 14) / 1800)


def test_a_block_that_fills_l0c_waits_for_its_store():
    chip = load_chip("Ascend910_9391")
    work = Gemm(1536, 1536, 1536)
    full, half = (gemm_cost(work, GemmTiles.of(128, n, 64), chip) for n in (256, 128))
    fits_twice = chip.with_values({"capacity.l0c": Quantity(256, "KiB")})
    overlapped = gemm_cost(work, GemmTiles.of(128, 256, 64), fits_twice)
    stores = full.pipes["fixpipe"][0]
    assert full.total_us[0] - overlapped.total_us[0] == pytest.approx(stores * 2 / 3, rel=0.1)  # all but the last
    assert half.waves[0] == 2 * full.waves[0]


def test_the_rule_of_two_footprints():
    import numpy as np

    assert double_buffered(np.array([64.0, 65.0]), 128).tolist() == [True, False]
    inner, store, last = np.array([10.0, 10.0]), np.array([6.0, 15.0]), np.array([1.0, 1.0])
    assert body_us(inner, store, last, np.array([True, True])).tolist() == [11, 15]
    assert body_us(inner, store, last, np.array([False, False])).tolist() == [16, 25]
    assert pipeline_us(np.array([8.0]), np.array([4.0]), np.array([0.25])).tolist() == [9]


def test_tiles_fit_every_buffer_and_are_all_there():
    chip, work = load_chip("Ascend910B3"), Gemm(100, 80, 200)
    tiles = feasible_tiles(work, chip, "rows")
    assert all(fit.all() for fit in fits(work, tiles, chip).values())
    got = {*zip(tiles.m.tolist(), tiles.n.tolist(), tiles.k.tolist(), strict=True)}
    size = chip.capacity
    wanted = {
        (m, n, k)
        for m in range(16, 113, 16)
        for n in range(16, 81, 16)
        for k in (16, 32, 64, 128, 256)
        if 2 * m * k * 2 <= size.l0a_bytes and 2 * n * k * 2 <= size.l0b_bytes
        and m * n * 4 <= size.l0c_bytes and 4 * (m + n) * k <= size.l1_bytes
    }  # fmt: skip
    assert got == wanted


def test_occupancy_is_what_a_tile_takes_of_each_buffer():
    shares = occupancy(Gemm(512, 512, 512), GemmTiles.of(128, 256, 64), load_chip("Ascend910B3"))
    assert {name: share[0] for name, share in shares.items()} == {"l0a": 0.5, "l0b": 1, "l0c": 1, "l1": 0.1875}


def test_nobody_can_change_a_tile_or_a_cost():
    tiles = GemmTiles.of(128, 256, 64)
    cost = gemm_cost(Gemm(512, 512, 512), tiles, load_chip("teaching"))
    for array in (tiles.m, cost.total_us, cost.pipes["cube"], cost.waves):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        cost.pipes["cube"] = cost.total_us


@pytest.mark.parametrize(
    ("chip", "block"), [("Ascend910B3", (128, 256)), ("Ascend910A", (256, 256)), ("teaching", (128, 128))]
)
def test_the_usual_block_fills_l0c(chip, block):
    assert usual_block(load_chip(chip)) == block


def test_a_library_keeps_its_block_while_cores_are_busy_and_cuts_finer_below():
    chip = load_chip("Ascend910_9391")
    kept = library_gemm(Gemm(4096, 4096, 4096), chip).tile
    assert (kept.m[0], kept.n[0], kept.k[0]) == (128, 256, 64)
    narrow = library_gemm(Gemm(16, 3200, 5120), chip)
    assert narrow.tile.n[0] < 256
    assert narrow.total_us < library_gemm(Gemm(16, 3200, 5120), chip, (16, 256, 64)).total_us


def test_the_ranking_of_published_pairs_of_tiles():
    """CATLASS, docs/zh/1_Practice/11_matmul_optimization.md: the second tile of each pair was measured faster."""
    from gexplorer.ir.dtypes import DType

    b2, b3 = load_chip("Ascend910B2"), load_chip("Ascend910B3")
    for work, chip, slower, faster in (
        (Gemm(1024, 576, 6144), b3, (128, 256, 64), (256, 128, 64)),
        (Gemm(20, 6144, 16384), b3, (128, 256, 64), (32, 320, 32)),
        (Gemm(1, 768, 5120, DType.FLOAT32), b2, (128, 128, 64), (16, 32, 256)),
    ):
        assert library_gemm(work, chip, faster).total_us < library_gemm(work, chip, slower).total_us
