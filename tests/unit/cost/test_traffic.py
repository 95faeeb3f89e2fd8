from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.traffic import gemm_traffic, hong_kung_bytes
from gexplorer.cost.work import Gemm, conv_as_gemm
from gexplorer.ir.dtypes import DType


def counted(work: Gemm, tile_m: int, tile_n: int, tile_k: int):
    """Bytes of left, right and output, counted move by move as the loops of a kernel make them."""
    e, out_e = work.dtype.bits // 8, (work.out_dtype or work.dtype).bits // 8
    left = right = out = 0
    for _ in range(work.batch):
        for m in range(0, work.m, tile_m):
            height = min(tile_m, work.m - m)
            for n in range(0, work.n, tile_n):
                width = min(tile_n, work.n - n)
                for k in range(0, work.k, tile_k):
                    depth = min(tile_k, work.k - k)
                    left += height * depth * e
                    right += depth * width * e
                out += height * width * out_e
    return left, right, out


@given(
    st.integers(1, 90), st.integers(1, 90), st.integers(1, 90),
    st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.integers(1, 3),
    st.sampled_from([DType.FLOAT16, DType.INT8, DType.FLOAT32]),
    st.sampled_from([None, DType.FLOAT32]),
)  # fmt: skip
def test_the_closed_form_agrees_with_the_loops_to_the_byte(m, n, k, tile_m, tile_n, tile_k, batch, dtype, out_dtype):
    work = Gemm(m, n, k, dtype, out_dtype, batch)
    got = gemm_traffic(work, GemmTiles.of(tile_m, tile_n, tile_k))
    left, right, out = counted(work, tile_m, tile_n, tile_k)
    assert (got.left[0], got.right[0], got.out[0]) == (left, right, out)
    assert got.on_chip[0] == left + right + out


def test_even_tiles_move_m_n_k_times_the_sum_of_the_inverses():
    work = Gemm(2048, 4096, 4096)
    got = gemm_traffic(work, GemmTiles.of(128, 256, 64))
    assert got.left[0] + got.right[0] == 2048 * 4096 * 4096 * (1 / 128 + 1 / 256) * 2
    assert got.on_chip[0] == 822_083_584


def test_many_tiles_at_once():
    work = Gemm(100, 200, 300)
    m, n = np.array([16, 32, 128]), np.array([48, 256, 16])
    got = gemm_traffic(work, GemmTiles(m, n, np.full(3, 16)))
    for index in range(3):
        assert got.on_chip[index] == sum(counted(work, int(m[index]), int(n[index]), 16))


def test_a_convolution_reads_overlapping_windows_of_one_map():
    work = conv_as_gemm(56 * 56, 64, 128, (3, 3))
    assert (work.m, work.n, work.k) == (3136, 128, 576)
    assert work.left_distinct == pytest.approx(1 / 9)
    assert work.compulsory_bytes == pytest.approx((3136 * 64 + 576 * 128 + 3136 * 128) * 2)
    assert conv_as_gemm(196, 64, 128, (1, 1)).left_distinct == 1
    assert conv_as_gemm(196, 64, 128, (2, 2), stride=(2, 2)).left_distinct == 1
    grouped = conv_as_gemm(196, 64, 128, (3, 3), groups=4)
    assert (grouped.batch, grouped.n, grouped.k) == (4, 32, 144)
    assert grouped.flops == 2 * 196 * 128 * 144


def test_hong_kung_bound_of_the_accumulator():
    assert hong_kung_bytes(Gemm(2048, 4096, 4096), 128 << 10) / 1e6 == pytest.approx(759, abs=0.5)
