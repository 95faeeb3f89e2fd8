from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.points import read_points
from gexplorer.cost.tile import GemmTiles, fits
from gexplorer.cost.traffic import gemm_traffic, hong_kung_bytes
from gexplorer.cost.work import Gemm
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.hardware.quantities import Quantity
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.count import count
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile
from gexplorer.kernels.interpreter import require_capacity
from gexplorer.kernels.landscape import BUFFERS
from gexplorer.kernels.tile_cost import Held
from gexplorer.kernels.tiling import Searches, search, space_of
from tests.unit.kernels.test_gemm import RELU, gated

SHAPES = [
    *((1536, 1536, 1536), (3072, 3072, 3072), (6144, 6144, 6144), (7680, 7680, 7680), (16, 3200, 5120)),
    *((16, 9496, 5120), (136, 768, 5120), (136, 3200, 5120), (1024, 576, 6144), (20, 6144, 16384), (160, 6144, 2048)),
    *((1, 4096, 4096), (1, 152064, 3584), (2048, 18944, 3584), (81, 2592, 64), (322, 38, 230), (3927, 24, 3779)),
    *((98, 16, 1149), (25, 88, 2501), (512, 512, 512), (8541, 126, 263), (64, 11008, 4096), (333, 777, 999)),
]


@pytest.mark.parametrize("chip", ["teaching", "Ascend910B3", "Ascend910A"])
def test_exhaustive_is_brute_force_on_a_small_space(chip):
    chip = load_chip(chip)
    kernel = GemmKernel(Gemm(70, 50, 100))
    found = search(kernel, chip, "exhaustive")
    best = float("inf")
    for m, n, k, order in product(range(16, 81, 16), range(16, 65, 16), (16, 32, 48, 64, 96, 128), ("rows", "columns")):
        tiles = GemmTiles.of(m, n, k, order)
        index = found.space.index(GemmTile(m, n, k, order))
        fit = all(bool(f[0]) for f in fits(kernel.work, tiles, chip).values())
        assert bool(found.feasible[index]) == fit
        if fit:
            us = float(gemm_cost(kernel.work, tiles, chip).total_us[0])
            assert found.total_us[index] == pytest.approx(us)
            best = min(best, us)
    assert found.best_us <= best
    assert found.evaluations == int(found.feasible.sum())


@pytest.mark.parametrize("chip", ["teaching", "Ascend910B3", "Ascend910A"])
def test_fast_is_within_five_per_cent_at_a_twentieth(chip):
    chip = load_chip(chip)
    whole = share = 0
    for shape in SHAPES:
        kernel = GemmKernel(Gemm(*shape))
        fast, exhaustive = search(kernel, chip, "fast"), search(kernel, chip, "exhaustive")
        assert exhaustive.best_us <= fast.best_us <= 1.05 * exhaustive.best_us, shape
        assert fast.evaluations <= max(24, exhaustive.evaluations / 20), shape
        whole, share = whole + exhaustive.evaluations, share + fast.evaluations
    assert share <= whole / 20


def test_published_products_are_among_the_shapes():
    published = {p.shape for p in read_points() if p.op.lower().startswith("gemm")}
    assert len(published & set(SHAPES)) >= 10


@pytest.mark.parametrize("mode", ["fast", "exhaustive"])
def test_every_tile_is_accounted_for_and_too_large_ones_name_the_buffer(mode):
    chip, kernel = load_chip("teaching"), GemmKernel(Gemm(600, 700, 300))
    found = search(kernel, chip, mode)
    assert found.feasible.sum() + sum(found.kept_out().values()) == len(found.total_us) == np.prod(found.space.shape)
    assert set(found.kept_out()) == {"l0a", "l0b", "l0c"}
    assert np.isnan(found.total_us[~found.feasible]).all()
    for index in np.linspace(0, len(found.total_us) - 1, 97).astype(int):
        tile = found.space.tile(int(index))
        assert found.space.index(tile) == index
        program = gemm_program(kernel, tile, chip)
        reason = BUFFERS[found.too_small[index]]
        if reason:
            with pytest.raises(OptionError, match=" overflows: ") as caught:
                require_capacity(program, chip)
            assert str(caught.value).startswith("MatMul: ")
        else:
            require_capacity(program, chip)


def test_the_heat_map_has_one_cell_for_each_block():
    chip, kernel = load_chip("teaching"), GemmKernel(Gemm(600, 700, 300))
    found = search(kernel, chip, "exhaustive")
    times, blocked = found.plane()
    assert times.shape == blocked.shape == (len(found.space.m), len(found.space.n))
    assert np.nanmin(times) == found.best_us
    assert (np.isnan(times) == (blocked > 0)).all()
    at = {int(m): i for i, m in enumerate(found.space.m)}
    assert BUFFERS[blocked[at[512], at[512]]] == "l0c"
    with pytest.raises(ValueError, match="read-only"):
        found.total_us[0] = 0


@pytest.mark.parametrize("mode", ["fast", "exhaustive"])
def test_the_shorter_of_equal_programs_wins(mode):
    """Tiles within one per cent of the best are alike; the one with the longest sum issues the fewest moves."""
    for chip in map(load_chip, ("teaching", "Ascend910B3")):
        found = search(GemmKernel(Gemm(16, 9496, 5120)), chip, mode)
        alike = np.flatnonzero(found.total_us <= 1.01 * found.best_us)
        sums = found.space.k[np.unravel_index(alike, found.space.shape)[2]]
        assert found.best in alike
        assert found.tile.k == sums.max() > sums.min()
        assert found.best_us == np.nanmin(found.total_us) <= found.chosen_us <= 1.01 * found.best_us


def test_large_products_come_near_the_lower_bound_of_traffic():
    chip, work = load_chip("Ascend910B3"), Gemm(2048, 4096, 4096)
    tile = search(GemmKernel(work), chip, "exhaustive").tile
    moved = gemm_traffic(work, GemmTiles.of(tile.m, tile.n, tile.k))
    assert moved.left[0] + moved.right[0] <= 1.0622 * hong_kung_bytes(work, chip.capacity.l0c_bytes)
    assert moved.on_chip[0] <= 822_083_584


def test_single_buffers_let_larger_tiles_in_and_take_turns():
    chip, kernel = load_chip("teaching"), GemmKernel(Gemm(256, 256, 512))
    found = search(kernel, chip, "exhaustive")
    double, single = (found.space.index(GemmTile(64, 128, 64, "rows", double)) for double in (True, False))
    assert found.total_us[double] < found.total_us[single]
    large = found.space.index(GemmTile(64, 128, 128, "rows", True))
    assert BUFFERS[found.too_small[large]] == "l0b"
    assert found.feasible[found.space.index(GemmTile(64, 128, 128, "rows", False))]


def test_riders_share_the_buffers():
    """Sums or panels that a fused kernel keeps beside the product leave smaller tiles, and a slower product."""
    chip, kernel = load_chip("Ascend910B3"), GemmKernel(Gemm(4096, 4096, 4096))
    alone = search(kernel, chip, "exhaustive")
    half = search(kernel, chip, "exhaustive", Held(l0c_bytes=chip.capacity.l0c_bytes // 2))
    assert alone.tile.m * alone.tile.n == 2 * half.tile.m * half.tile.n
    assert 1.15 * alone.chosen_us < half.chosen_us < 1.6 * alone.chosen_us
    panel = search(kernel, chip, "exhaustive", Held(l1_bytes_per_row=4096 * 2))
    assert panel.tile.m <= 64 - 16
    assert panel.kept_out()["l1"] > 0
    assert panel.chosen_us > alone.chosen_us
    none = search(kernel, chip, "exhaustive", Held(l1_bytes=chip.capacity.l1_bytes))
    assert (none.tile, none.best, none.chosen_us) == (None, None, float("inf"))


def test_an_epilogue_counts_against_ub_and_costs_time():
    chip = load_chip("Ascend910B3").with_values({"capacity.ub": Quantity(4, "KiB")})
    found = search(gated(1, 512, 512, 512), chip, "exhaustive")
    assert found.kept_out()["ub"] > 0
    require_capacity(gemm_program(gated(1, 512, 512, 512), found.tile, chip), chip)
    chip = load_chip("Ascend910B3")
    bare, relu, full = (
        search(kernel, chip, "exhaustive").chosen_us
        for kernel in (
            GemmKernel(Gemm(512, 512, 512)),
            GemmKernel(Gemm(512, 512, 512), epilogue=RELU),
            gated(1, 512, 512, 512),
        )
    )
    assert bare == relu < full


def test_an_epilogue_touches_memory_only_where_cube_and_vector_unit_are_apart():
    """On the coupled chip the sums never see memory; on the split one they go out to L2 and come in again."""
    moved = {}
    for name in ("Ascend910A", "Ascend910B3"):
        program = gemm_program(gated(1, 512, 512, 64), GemmTile(128, 128, 64), load_chip(name))
        moved[name] = count(program).memory_bytes
    assert moved["Ascend910B3"] - moved["Ascend910A"] == 2 * 4 * 512 * 512


def test_equal_kernels_are_searched_once():
    searches = Searches(load_chip("teaching"))
    first = searches.find(GemmKernel(Gemm(64, 64, 64)))
    assert searches.find(GemmKernel(Gemm(64, 64, 64))) is first
    searches.find(GemmKernel(Gemm(64, 64, 64, DType.FLOAT32)))
    searches.find(GemmKernel(Gemm(64, 64, 64)), Held(l0c_bytes=1024))
    assert searches.made == 3


def test_anything_else_is_worked_out_once_too():
    searches, made = Searches(load_chip("teaching")), []
    for key in ("a", "b", "a"):
        assert searches.once(key, lambda key=key: made.append(key) or len(made)) in (1, 2)
    assert made == ["a", "b"]


def test_a_wrong_mode_is_named():
    with pytest.raises(OptionError, match="tiling search mode 'best': one of library, fast, exhaustive is wanted"):
        search(GemmKernel(Gemm(64, 64, 64)), load_chip("teaching"), "best")


def test_more_room_is_never_slower():
    chip = load_chip("teaching")
    kernel = GemmKernel(Gemm(640, 640, 640))
    times = []
    for factor in (1, 2, 4):
        size = replace(
            chip.capacity, l0c_bytes=factor * chip.capacity.l0c_bytes, l0a_bytes=factor * chip.capacity.l0a_bytes
        )
        times.append(search(kernel, replace(chip, capacity=size), "exhaustive").chosen_us)
    assert times == sorted(times, reverse=True)
    assert len(space_of(kernel, chip).m) == 40
