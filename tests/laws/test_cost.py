"""Laws that hold for any work, any tile and any chip; none needs a measurement.

Sources: compulsory traffic and the roofline (Williams et al. 2009); the red-blue pebble bound (Hong and Kung 1981);
attention's traffic (FlashAttention, Dao et al. 2022).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gexplorer.cost.attention import attention_cost, attention_traffic
from gexplorer.cost.attention_tiles import AttentionTiles
from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.kernel import KernelCost
from gexplorer.cost.library import ORDERS, feasible_tiles, library_gemm
from gexplorer.cost.roofline import roofline
from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.traffic import gemm_traffic, hong_kung_bytes
from gexplorer.cost.vector import move_cost, vector_cost
from gexplorer.cost.vector_work import elementwise, layer_norm, rms_norm, softmax, transpose
from gexplorer.cost.work import Attention, Gemm
from gexplorer.hardware.catalogue import chip_names, load_chip
from gexplorer.hardware.quantities import Quantity
from gexplorer.ir.dtypes import DType

NUDGE = 1 + 1e-9  # rounding of floats

chips = st.sampled_from(chip_names()).map(load_chip)
lengths = st.one_of(st.integers(1, 300), st.integers(1, 9000))
dtypes = st.sampled_from([DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.INT8])
gemms = st.builds(
    Gemm, lengths, lengths, lengths, dtypes, st.sampled_from([None, DType.FLOAT32]), st.integers(1, 4),
    st.sampled_from([1.0, 1 / 9]), st.booleans(),
)  # fmt: skip
sizes = st.integers(1, 16).map(lambda n: 16 * n)
tiles = st.builds(GemmTiles.of, sizes, sizes, sizes, st.sampled_from(["rows", "columns"]))
attentions = st.builds(
    Attention, st.integers(1, 40), lengths, lengths, st.sampled_from([32, 64, 128, 1500]),
    dtype=st.sampled_from([DType.FLOAT16, DType.FLOAT32]), causal=st.booleans(),
)  # fmt: skip
vectors = st.one_of(
    st.builds(softmax, lengths, lengths, dtypes),
    st.builds(layer_norm, lengths, lengths, dtypes, added=st.booleans()),
    st.builds(rms_norm, lengths, lengths, dtypes),
    st.builds(elementwise, st.tuples(lengths, lengths), dtypes, inputs=st.integers(1, 3)),
)
moves = st.builds(transpose, st.tuples(lengths, lengths), dtypes, st.integers(1, 600))

RATES = (
    *("hbm.rate", "hbm.cold_core_rate", "paths.gm->l1.rate", "paths.l1->l0a.rate", "paths.l1->l0b.rate"),
    *("paths.l0c->gm.rate", "paths.gm->ub.rate", "paths.ub->gm.rate", "vector.bytes_per_cycle", "clock"),
)


def cost_of(work, tile, chip) -> KernelCost:
    if isinstance(work, Gemm):
        return gemm_cost(work, tile, chip)
    if isinstance(work, Attention):
        return attention_cost(work, chip)
    return move_cost(work, chip) if hasattr(work, "run_bytes") else vector_cost(work, chip)


works = st.one_of(gemms, attentions, vectors, moves)


@given(works, tiles, chips)
@settings(max_examples=300)
def test_no_kernel_beats_the_roofline(work, tile, chip):
    cost = cost_of(work, tile, chip)
    found = roofline(work, chip)
    roof = found.least_us
    if cost.hbm_bytes[0] < work.compulsory_bytes:  # L2 holds the data: only the unit's roof is left
        roof = found.flops / found.peak_flops_per_us if found.peak_flops_per_us else 0
    assert cost.total_us[0] * NUDGE >= roof + cost.launch_us


# TFLOPS of int8, fp16, bf16 and fp32. 910B and 910C: msModeling, tensor_cast/device.py, by cores; 910B1 has a 910C's
# die's. First generation: Huawei's data sheets (Atlas 300T and 300I Pro), where fp32 is cast to fp16.
_FULL_A2 = (752, 376, 353.9, 99.5)
PUBLISHED = {
    "Ascend910B1": _FULL_A2,
    "Ascend910B2": _FULL_A2,
    "Ascend910B3": (626, 313, 294.9, 83),
    "Ascend910B4": (560, 280, 245.8, 75),
    "Ascend910_9391": _FULL_A2,
    "Ascend910A": (512, 256, 256, 256),
    "Ascend310P3": (140, 70, 70, 70),
}
PUBLISHED_DTYPES = (DType.INT8, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32)


@pytest.mark.parametrize("dtype", PUBLISHED_DTYPES)
@pytest.mark.parametrize("name", [name for name in chip_names() if name != "teaching"])
def test_no_product_is_faster_than_the_published_peak(name, dtype):
    """Whatever its tile: large products, and so deep a sum that nothing but the cube counts."""
    chip, flops_per_us = load_chip(name), PUBLISHED[name][PUBLISHED_DTYPES.index(dtype)] * 1e6
    for work in (Gemm(8192, 8192, 8192, dtype), Gemm(3072, 2560, 1 << 20, dtype, DType.FLOAT16)):
        for order in ORDERS:
            cost = gemm_cost(work, feasible_tiles(work, chip, order), chip)
            assert work.flops / cost.total_us.min() <= flops_per_us
    if dtype is not DType.INT8:
        attention = Attention(40, 8192, 8192, 128, dtype=dtype)
        assert attention.flops / attention_cost(attention, chip).total_us.min() <= flops_per_us


@given(works, tiles, chips)
@settings(max_examples=300)
def test_no_pipe_works_longer_than_the_kernel_takes(work, tile, chip):
    cost = cost_of(work, tile, chip)
    for pipe in cost.pipes:
        assert 0 <= cost.ratio(pipe)[0] <= NUDGE, pipe
    assert cost.bound[0] in {*cost.pipes, "launch"}
    assert np.isfinite(cost.total_us).all()
    assert 0 <= cost.tail_idle[0] < 1


@given(gemms, tiles, chips)
@settings(max_examples=300)
def test_compulsory_bytes_are_least_and_hbm_gives_no_more_than_cores_take(work, tile, chip):
    cost = gemm_cost(work, tile, chip)
    assert work.compulsory_bytes == cost.compulsory_bytes <= cost.hbm_bytes[0] * NUDGE
    assert cost.hbm_bytes[0] <= cost.l2_bytes[0] * NUDGE


@given(works, tiles, chips, st.sampled_from(RATES), st.floats(1.01, 4))
@settings(max_examples=400)
def test_a_faster_chip_is_never_slower(work, tile, chip, key, factor):
    before, after = cost_of(work, tile, chip), cost_of(work, tile, chip.scaled({key: factor}))
    assert after.total_us[0] <= before.total_us[0] * NUDGE


@given(works, tiles, chips)
def test_a_larger_l2_is_never_slower(work, tile, chip):
    more = cost_of(work, tile, chip.scaled({"capacity.l2": 2}))
    assert more.total_us[0] <= cost_of(work, tile, chip).total_us[0] * NUDGE


@given(
    st.builds(Gemm, lengths, lengths, lengths, dtypes), st.sampled_from(["Ascend910B3", "Ascend910A", "teaching"]),
    st.sampled_from(["l1", "l0a", "l0b", "l0c"]), st.sampled_from(["rows", "columns"]),
)  # fmt: skip
@settings(max_examples=40)
def test_a_larger_buffer_is_never_slower_with_the_best_tile(work, name, buffer, order):
    small = load_chip(name)
    large = small.scaled({f"capacity.{buffer}": 2})
    best = [gemm_cost(work, feasible_tiles(work, chip, order), chip).total_us.min() for chip in (small, large)]
    assert best[1] <= best[0] * NUDGE


@given(st.integers(1, 24), st.sampled_from([2048, 4096, 10_000]))
def test_wave_law(cores, k):
    """C blocks take as long as one; one more takes twice as long, where computing binds."""
    chip = load_chip("Ascend910B1").scaled({"paths.gm->l1.rate": 1e3, "hbm.cold_core_rate": 1e3, "hbm.rate": 1e6})
    startless = {key: Quantity(0, "us") for key in ("launch.cube", "paths.gm->l1.startup", "paths.l0c->gm.startup")}
    chip = chip.with_values({"cores.cube": Quantity(cores), **startless})
    one, full, more = (
        gemm_cost(Gemm(64, 64 * blocks, k), GemmTiles.of(64, 64, 64), chip) for blocks in (1, cores, cores + 1)
    )
    assert one.waves[0] == full.waves[0] == 1
    assert more.waves[0] == 2
    assert full.pipes["cube"][0] == one.pipes["cube"][0]
    assert more.pipes["cube"][0] == 2 * one.pipes["cube"][0]
    assert full.total_us[0] == pytest.approx(one.total_us[0], rel=0.01)
    assert more.total_us[0] == pytest.approx(2 * one.total_us[0], rel=0.02)
    assert full.tail_idle[0] == 0
    assert more.tail_idle[0] == pytest.approx(1 - (cores + 1) / (2 * cores))


@given(gemms, sizes, sizes, chips)
def test_no_tile_in_l0c_beats_the_bound_of_hong_and_kung(work, m, n, chip):
    assume(m * n * 4 <= chip.capacity.l0c_bytes)
    traffic = gemm_traffic(work, GemmTiles.of(m, n, 16))
    assert traffic.on_chip[0] * NUDGE >= hong_kung_bytes(work, chip.capacity.l0c_bytes)


@pytest.mark.parametrize("work", [Gemm(6144, 6144, 6144), Gemm(8192, 8192, 8192), Gemm(4096, 11008, 4096)])
def test_large_products_come_within_six_per_cent_of_that_bound(work):
    chip = load_chip("Ascend910B3")
    bound = hong_kung_bytes(work, chip.capacity.l0c_bytes)
    traffic = gemm_traffic(work, feasible_tiles(work, chip, "rows"))
    assert bound < (traffic.left + traffic.right).min() <= 1.06 * bound
    # A block of 128 x 256 loses 6.1 % against a square one of the same size.
    usual = gemm_traffic(work, library_gemm(work, chip).tile)
    assert (usual.left + usual.right)[0] <= 1.061 * bound


@given(st.integers(3, 7), st.sampled_from([32, 64, 128]), st.sampled_from([16, 32, 64, 128]), st.integers(1, 32))
def test_attention_reloads_as_n_squared_d_over_the_tile(log_n, width, tile, heads):
    def reload(n: int, d: int, rows: int) -> float:
        work = Attention(heads, n, n, d)
        return attention_traffic(work, AttentionTiles.of(rows, 128)).operands[0] - heads * 2 * n * d * 2

    n = 128 << log_n
    assert reload(2 * n, width, tile) == 4 * reload(n, width, tile)
    assert reload(n, 2 * width, tile) == 2 * reload(n, width, tile)
    assert reload(n, width, 2 * tile) == reload(n, width, tile) / 2
    assert reload(n, width, tile) == heads * 2 * n * width * (n / tile) * 2


@given(gemms, st.lists(st.tuples(sizes, sizes, sizes), min_size=2, max_size=6), chips)
@settings(max_examples=100)
def test_thousands_of_tiles_at_once_cost_what_each_costs_alone(work, several, chip):
    m, n, k = (np.array(column) for column in zip(*several, strict=True))
    together = gemm_cost(work, GemmTiles(m, n, k), chip)
    for index, tile in enumerate(several):
        alone = gemm_cost(work, GemmTiles.of(*tile), chip)
        assert together.total_us[index] == pytest.approx(alone.total_us[0], rel=1e-12)
        assert together.hbm_bytes[index] == pytest.approx(alone.hbm_bytes[0], rel=1e-12)
        assert together.bound[index] == alone.bound[0]
