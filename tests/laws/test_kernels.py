"""Laws of the kernel level: numbers, bytes and flags of random kernels, whatever the shape and the tile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gexplorer.cost.attention import attention_traffic
from gexplorer.cost.attention_tiles import AttentionTiles
from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.traffic import gemm_traffic
from gexplorer.cost.work import Attention, Gemm
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel
from gexplorer.kernels.conv_kernel import ConvKernel, ConvTile
from gexplorer.kernels.conv_tile import conv_tile
from gexplorer.kernels.count import count
from gexplorer.kernels.formula import Writer
from gexplorer.kernels.gather_kernel import GatherKernel, GatherTile, gather_tile
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile, Operand
from gexplorer.kernels.interpreter import steps
from gexplorer.kernels.rowwise import layer_norm, rms_norm, softmax
from gexplorer.kernels.tiling import search
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel
from gexplorer.kernels.vector_program import vector_tile
from tests.kernels import check_gemm, gemm_inputs
from tests.unit.kernels.test_attention import check_attention
from tests.unit.kernels.test_conv import check_conv, epilogue
from tests.unit.kernels.test_gather import check_gather
from tests.unit.kernels.test_vector import check_vector
from tests.unit.kernels.test_wide_rows import check_wide

CHIPS = st.sampled_from(["teaching", "Ascend910B3", "Ascend910A"]).map(load_chip)
FLOATS = st.sampled_from([DType.FLOAT16, DType.FLOAT32])
LENGTHS = st.integers(1, 90)
BLOCKS = st.sampled_from([16, 32, 48, 64])
ELEMENTWISE = ("abs", "neg", "tanh", "max", "min", "add", "sub", "mul")
few = settings(max_examples=40, deadline=None)
fewer = settings(max_examples=20, deadline=None)


@st.composite
def formulas(draw, inputs):
    """Up to six instructions over the inputs, of which all are read; one output."""
    write = Writer(tuple(f"x{i}" for i in range(inputs)))
    values = list(range(inputs))
    total = 0
    for value in values[1:]:
        total = write(draw(st.sampled_from(["add", "sub", "max"])), total, value)
        values.append(total)
    for _ in range(draw(st.integers(1, 5))):
        op = draw(st.sampled_from(ELEMENTWISE))
        other = draw(st.sampled_from([*values, 0.5, -2.0]))
        total = write(op, total) if op in ("abs", "neg", "tanh") else write(op, total, other)
        values.append(total)
    return write.formula(total)


@st.composite
def gemms(draw):
    """A product with any riders."""
    batch, dtype = draw(st.integers(1, 3)), draw(FLOATS)
    m, n, k = (draw(LENGTHS) for _ in range(3))
    work = Gemm(m, n, k, dtype, DType.FLOAT32, batch)
    flags = [draw(st.booleans()) for _ in range(4)]
    operands, formula = (), None
    if draw(st.booleans()):
        sizes = [
            tuple(draw(st.sampled_from([1, size])) for size in (batch, m, n)) for _ in range(draw(st.integers(0, 2)))
        ]
        operands = tuple(Operand(f"x{i + 1}", shape, draw(FLOATS)) for i, shape in enumerate(sizes))
        formula = draw(formulas(1 + len(operands)))
    bias = draw(st.none() | FLOATS)
    return GemmKernel(work, *flags, bias, formula, operands)


@st.composite
def cuts(draw, dtype):
    k = draw(st.sampled_from([8, 16, 32, 40])) * (1 if dtype is DType.FLOAT32 else 2)
    return GemmTile(draw(BLOCKS), draw(BLOCKS), k, draw(st.sampled_from(["rows", "columns"])), draw(st.booleans()))


@few
@given(st.data(), gemms(), CHIPS)
def test_products_give_the_right_numbers_and_move_the_bytes_of_the_closed_form(data, kernel, chip):
    check_gemm(kernel, data.draw(cuts(kernel.work.dtype)), chip)


@few
@given(st.data(), st.integers(1, 3), LENGTHS, LENGTHS, LENGTHS, FLOATS, CHIPS)
def test_what_enters_a_level_leaves_it(data, batch, m, n, k, dtype, chip):
    work = Gemm(m, n, k, dtype, DType.FLOAT32, batch)
    cut = data.draw(cuts(dtype))
    found = count(gemm_program(GemmKernel(work), cut, chip))
    moved, traffic = found.bytes_by_path, gemm_traffic(work, GemmTiles.of(cut.m, cut.n, cut.k, cut.order))
    assert moved["gm->l1"] == moved["l1->l0a"] + moved["l1->l0b"]
    assert (moved["l1->l0a"], moved["l1->l0b"]) == (traffic.left[0], traffic.right[0])
    assert moved["l0c->gm"] == traffic.out[0]
    assert found.products == batch * m * n * k == work.flops / 2
    assert found.memory_bytes >= work.compulsory_bytes
    assert found.instructions["set"] == found.instructions["wait"]
    by_core = Counter()
    for (_, path), number in found.bytes_by_core.items():
        by_core[path] += number
    assert dict(by_core) == moved


@few
@given(st.data(), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), CHIPS)
def test_stepping_is_running(data, m, n, k, chip):
    kernel = GemmKernel(Gemm(m, n, k, DType.FLOAT32))
    program = gemm_program(kernel, data.draw(cuts(DType.FLOAT32)), chip)
    moved, inputs = [], gemm_inputs(kernel)
    for step in steps(program, chip, inputs, tiles=True):
        moved.append(step.counts.memory_bytes)
    assert moved == sorted(moved)
    assert moved[-1] == count(program).memory_bytes
    assert not np.isnan(step.buffers["out"]).any()


@few
@given(st.data(), st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple), st.integers(1, 3), CHIPS)
def test_formulas_over_any_broadcast(data, shape, inputs, chip):
    shapes = [shape] + [tuple(data.draw(st.sampled_from([1, size])) for size in shape) for _ in range(inputs - 1)]
    tensors = tuple(Tensor(f"x{i}", s, data.draw(FLOATS)) for i, s in enumerate(shapes))
    kernel = VectorKernel(shape, data.draw(formulas(inputs)), tensors, (Tensor("out", shape, DType.FLOAT32),))
    tile = tuple(data.draw(st.integers(1, size)) for size in kernel.merged.shape)
    check_vector(kernel, tile, chip)
    check_vector(kernel, vector_tile(kernel, chip), chip)


@few
@given(
    st.integers(1, 2), st.integers(1, 2), st.integers(1, 70), st.integers(1, 70),
    st.integers(1, 40), st.integers(1, 40),
    st.sampled_from([16, 32, 48]), st.sampled_from([16, 32, 48]), st.sampled_from([0, 16, 48]), st.booleans(), FLOATS,
    CHIPS,
)  # fmt: skip
def test_attention_of_any_shape(kv, group, queries, keys, width, columns, tile_q, tile_k, terms, causal, dtype, chip):
    work = Attention(kv * group, queries, keys, width, columns, dtype, kv, causal and queries <= keys)
    found = check_attention(AttentionKernel.of(work), AttentionCut(tile_q, tile_k, terms), chip)
    traffic = attention_traffic(work, AttentionTiles.of(tile_q, tile_k, terms))
    through_memory = traffic.hand_over[0] if chip.cube_vector_path == "gm" else 0
    assert found.counts.memory_bytes == traffic.operands[0] + through_memory


@fewer
@given(st.data(), CHIPS)
def test_convolutions_of_any_shape(data, chip):
    draw = data.draw
    taps, stride, dilation, pads = (tuple(draw(st.integers(low, 3)) for _ in range(2)) for low in (1, 1, 1, 0))
    size = tuple(draw(st.integers(1 + (tap - 1) * far, 12)) for tap, far in zip(taps, dilation, strict=True))
    steps = zip(size, pads, taps, dilation, stride, strict=True)
    places = tuple((n + 2 * pad - (tap - 1) * far - 1) // step + 1 for n, pad, tap, far, step in steps)
    sizes = (draw(st.integers(1, most)) for most in (2, 2, 6, 9))
    kernel = ConvKernel(*sizes, size, taps, stride, dilation, pads, places, draw(FLOATS), DType.FLOAT32)
    if draw(st.booleans()):
        formula, operands = epilogue(kernel)
        kernel = replace(kernel, bias=draw(st.none() | FLOATS), epilogue=formula, operands=operands)
    cut = ConvTile(*(draw(st.integers(1, most)) for most in (*places, kernel.filters, kernel.channels)))
    check_conv(kernel, cut, chip)
    check_conv(kernel, conv_tile(kernel, chip)[0], chip)


@fewer
@given(
    st.data(), st.integers(1, 5), st.integers(1, 90), FLOATS, st.sampled_from([softmax, layer_norm, rms_norm]), CHIPS
)
def test_rows_cut_into_any_pieces(data, rows, width, dtype, make, chip):
    kernel = make(rows, width, dtype).merged
    check_wide(kernel, tuple(data.draw(st.integers(1, size)) for size in kernel.shape), chip)


@fewer
@given(st.data(), st.integers(1, 3), st.integers(1, 9), st.integers(1, 40), st.integers(1, 20), CHIPS)
def test_gathers_of_any_shape(data, before, extent, width, number, chip):
    kernel = GatherKernel(before, extent, width, number, data.draw(FLOATS), DType.INT64)
    check_gather(kernel, GatherTile(data.draw(st.integers(1, number)), data.draw(st.integers(1, width))), chip)
    check_gather(kernel, gather_tile(kernel, chip), chip)


@few
@given(st.integers(1, 3), st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000), FLOATS, CHIPS)
def test_the_fast_search_is_no_better_than_the_whole_and_little_worse(batch, m, n, k, dtype, chip):
    work = Gemm(m, n, k, dtype, batch=batch)
    fast, whole = (search(GemmKernel(work), chip, mode) for mode in ("fast", "exhaustive"))
    assert whole.best_us <= fast.best_us <= fast.chosen_us <= 1.05 * whole.best_us
    library = search(GemmKernel(work), chip, "library")
    assert whole.chosen_us <= fast.chosen_us <= library.chosen_us
    assert fast.evaluations <= max(24, whole.evaluations / 20)
    tile = whole.space.tile(whole.best)
    if tile.double:
        alone = gemm_cost(work, GemmTiles.of(tile.m, tile.n, tile.k, tile.order), chip)
        assert whole.best_us == float(alone.total_us[0])
