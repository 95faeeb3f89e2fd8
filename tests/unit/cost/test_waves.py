from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.waves import waves
from gexplorer.cost.work import Gemm


def dealt_out(work: Gemm, m: int, n: int, order: str, cores: int):
    """Heights (along the outer side) of the blocks of each wave, block by block as cores take them."""
    rows = [min(m, work.m - at) for at in range(0, work.m, m)]
    columns = [min(n, work.n - at) for at in range(0, work.n, n)]
    lines, line = (rows, columns) if order == "rows" else (columns, rows)
    blocks = [height for _ in range(work.batch) for height in lines for _ in line]
    return [blocks[at : at + cores] for at in range(0, len(blocks), cores)]


@given(
    st.integers(1, 400), st.integers(1, 400), st.integers(1, 130), st.integers(1, 130),
    st.sampled_from(["rows", "columns"]), st.integers(1, 30), st.sampled_from([1, 16]),
)  # fmt: skip
def test_the_closed_form_is_what_cores_get_block_by_block(m, n, tile_m, tile_n, order, cores, unit):
    work = Gemm(m, n, 64)
    got = waves(work, GemmTiles.of(tile_m, tile_n, 16, order), cores)
    wanted = dealt_out(work, tile_m, tile_n, order, cores)
    assert got.count[0] == len(wanted)
    assert got.blocks[0] == sum(map(len, wanted))
    assert got.full[0] == sum(len(wave) == cores for wave in wanted)
    assert got.outer_sum(unit)[0] == sum(-(-max(wave) // unit) for wave in wanted)
    if got.tail[0]:
        assert got.tail_outer[0] == max(wanted[-1])
    assert got.tail_idle[0] == pytest.approx(1 - sum(map(len, wanted)) / (len(wanted) * cores))


def test_a_batch_counts_every_line_as_a_whole_one():
    work = Gemm(100, 64, 64, batch=3)
    got = waves(work, GemmTiles.of(64, 64, 16), 4)
    assert got.blocks[0] == 6
    assert got.outer_sum()[0] == 2 * 64


def test_many_tiles_at_once_are_as_one_by_one():
    work = Gemm(1000, 700, 300)
    m, n = np.array([16, 48, 128, 1024]), np.array([256, 16, 32, 1024])
    together = waves(work, GemmTiles(m, n, np.full(4, 16)), 24)
    for index in range(4):
        alone = waves(work, GemmTiles.of(int(m[index]), int(n[index]), 16), 24)
        assert together.count[index] == alone.count[0]
        assert together.outer_sum(16)[index] == alone.outer_sum(16)[0]
