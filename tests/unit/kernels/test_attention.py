from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gexplorer.cost.attention import attention_cost, attention_traffic
from gexplorer.cost.attention_tiles import AttentionTiles, assumed_tiles, attention_fits, attention_footprints, is_wide
from gexplorer.cost.work import Attention
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import chip_names, load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.attention import attention_program
from gexplorer.kernels.attention_cut import attention_cut
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel, Mask, attention_bytes
from gexplorer.kernels.count import count
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.interpreter import require_capacity, run
from gexplorer.kernels.program import Loop, SetFlag, WaitFlag
from tests.kernels import TOLERANCE

MASKS = [None, "rows columns", "h0 columns", "h0 h1 rows columns", "h1 columns"]
CHIPS = ("teaching", "Ascend910B3", "Ascend910A")
F16, F32 = DType.FLOAT16, DType.FLOAT32


def in_order(kernel, array, layout):
    """A tensor as [heads ..., rows, columns], with length 1 where it is shared."""
    wanted = [*(f"h{i}" for i in range(len(kernel.heads))), "rows", "columns"]
    present = array.transpose([layout.index(axis) for axis in wanted if axis in layout])
    return present.reshape([array.shape[layout.index(axis)] if axis in layout else 1 for axis in wanted])


def attention_reference(kernel, inputs):
    """[heads ..., queries, columns] in float64."""
    work = kernel.work
    layouts = {"q": kernel.q, "k": kernel.k, "v": kernel.v}
    q, k, v = (in_order(kernel, inputs[name].astype(np.float64), layout) for name, layout in layouts.items())
    scores = q @ k.swapaxes(-1, -2) * (kernel.scale or work.width**-0.5)
    if kernel.mask is not None:
        scores = scores + in_order(kernel, inputs["mask"].astype(np.float64), kernel.mask.layout)
    if work.causal:
        seen = np.arange(work.keys) <= np.arange(work.queries)[:, None] + work.keys - work.queries
        scores = np.where(seen, scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ v


def check_attention(kernel, cut, chip, seed=0):
    random = np.random.default_rng(seed)
    work = kernel.work
    sizes = {"q": (kernel.q, work.queries, work.width), "k": (kernel.k, work.keys, work.width)}
    sizes["v"] = (kernel.v, work.keys, work.columns)
    inputs = {name: random.normal(size=kernel.shape(*box)).astype(work.dtype.numpy()) for name, box in sizes.items()}
    if kernel.mask is not None:
        shape = kernel.shape(kernel.mask.layout, work.queries, work.keys)
        inputs["mask"] = random.normal(size=shape).astype(kernel.mask.dtype.numpy())
    program = attention_program(kernel, cut, chip)
    found = run(program, chip, inputs)
    close = TOLERANCE[work.dtype]
    got = in_order(kernel, found.outputs["out"].astype(np.float64), kernel.out)
    np.testing.assert_allclose(got, attention_reference(kernel, inputs), rtol=close, atol=close)
    assert found.counts.bytes_by_path == attention_bytes(kernel, cut, chip)
    assert count(program) == found.counts
    assert hazards(program) == ()
    return found


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ((2, 64, 64, 32, 32), (32, 32)),
        ((3, 50, 70, 16, 48), (32, 48)),
        ((1, 1, 100, 32, 32), (16, 64)),
        ((1, 17, 5, 7, 9), (16, 16)),
    ],
)
def test_attention_moves_what_the_cost_model_says(chip, dtype, shape, cut):
    chip, (heads, queries, keys, width, columns) = load_chip(chip), shape
    work = Attention(heads, queries, keys, width, columns, dtype)
    found = check_attention(AttentionKernel.of(work), AttentionCut(*cut), chip)
    traffic = attention_traffic(work, AttentionTiles.of(*cut))
    through_memory = traffic.hand_over[0] if chip.cube_vector_path == "gm" else 0
    assert found.counts.memory_bytes == traffic.operands[0] + through_memory


@pytest.mark.parametrize("chip", ["teaching", "Ascend910A"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
def test_masks_and_heads_that_share_keys(chip, mask, causal):
    work = Attention(6, 50, 70, 32, 32, F32, kv_heads=2, causal=causal)
    check_attention(
        AttentionKernel.of(work, scale=0.3, mask=mask and Mask(tuple(mask.split()), F16 if causal else F32)),
        AttentionCut(32, 32),
        load_chip(chip),
    )


def test_keys_that_lie_transposed():
    work = Attention(2, 50, 70, 24, 32, F32)
    check_attention(AttentionKernel.of(work, k_transposed=True), AttentionCut(32, 32), load_chip("teaching"))


@pytest.mark.parametrize("chip", CHIPS)
def test_heads_that_lie_between_rows_and_columns(chip):
    """What exporters make with a reshape and a transpose is read from where it lies."""
    between = ("h0", "rows", "h1", "h2", "columns")
    shared = ("h0", "rows", "h1", "columns")
    work = Attention(12, 40, 50, 16, 24, F32, kv_heads=6)
    kernel = AttentionKernel(work, (2, 3, 2), between, shared, shared, between)
    check_attention(kernel, AttentionCut(16, 32), load_chip(chip))


def test_a_causal_mask_saves_the_tiles_above_the_diagonal():
    chip = load_chip("teaching")
    full, causal = (
        count(attention_program(AttentionKernel.of(Attention(1, 256, 256, 32, causal=c)), AttentionCut(32, 32), chip))
        for c in (False, True)
    )
    assert full.instructions["mmad"] == 2 * 64
    assert causal.instructions["mmad"] == 2 * 36  # the diagonal's eight tiles and those below
    assert causal.products * 64 == full.products * 36


def test_the_largest_score_may_come_last():
    """Rows whose scores grow from tile to tile: the sums so far are scaled down each time."""
    chip, work = load_chip("teaching"), Attention(1, 16, 64, 16, 16, F32)
    q, k = np.ones((1, 1, 16, 16), np.float32), np.repeat(np.arange(64, dtype=np.float32), 16).reshape(1, 64, 16)
    v = np.random.default_rng(0).normal(size=(1, 64, 16)).astype(np.float32)
    program = attention_program(AttentionKernel.of(work), AttentionCut(16, 16), chip)
    inputs = {"q": q, "k": k, "v": v}
    wanted = attention_reference(AttentionKernel.of(work), inputs)
    np.testing.assert_allclose(run(program, chip, inputs).outputs["out"], wanted, rtol=1e-5, atol=1e-5)


def test_the_published_tile_fits_the_chip_that_it_was_published_for():
    """pto-isa's FlashAttention on 910B2: head of 128, tiles of 128 x 128."""
    chip, kernel = load_chip("Ascend910B2"), AttentionKernel.of(Attention(1, 2048, 2048, 128))
    program = attention_program(kernel, AttentionCut(128, 128), chip)
    require_capacity(program, chip)
    used = {level: sum(b.total_bytes for b in program.buffers if b.level == level) for level in ("l0a", "l0b", "l0c")}
    size = chip.capacity
    assert used == {"l0a": size.l0a_bytes, "l0b": size.l0b_bytes, "l0c": size.l0c_bytes}
    assert isinstance(attention_cut(kernel, chip)[0], AttentionCut)


def test_traffic_of_the_textbook_example():
    """N = 2048, d = 128, 32 heads of fp16: 67 MB of Q, K, V and output; K and V are reloaded 16 times from L2."""
    chip, work = load_chip("Ascend910A"), Attention(32, 2048, 2048, 128)
    moved = attention_bytes(AttentionKernel.of(work), AttentionCut(128, 128), chip)
    assert work.compulsory_bytes == 67_108_864
    assert moved["gm->l1"] + moved["ub->gm"] == 67_108_864 / 2 + 16 * 67_108_864 / 2


def test_what_cannot_be_computed_is_said():
    chip = load_chip("teaching")
    with pytest.raises(OptionError, match="tile of 24 queries is no multiple of 16, what teaching's cube takes"):
        attention_program(AttentionKernel.of(Attention(1, 64, 64, 32)), AttentionCut(24, 32), chip)
    with pytest.raises(OptionError, match="causal attention of 9 queries and 8 keys: some see none"):
        attention_program(AttentionKernel.of(Attention(1, 9, 8, 32, causal=True)), AttentionCut(16, 16), chip)
    with pytest.raises(OptionError, match="tile of 40 terms is no multiple of 16, what teaching's cube takes"):
        attention_program(AttentionKernel.of(Attention(1, 64, 64, 32)), AttentionCut(16, 32, 40), chip)
    why = "not even 16 queries by 16 keys fit: l0a overflows: 1024 bytes (left_l0a 2 x 512), teaching has 512"
    tiny = chip.scaled({"capacity.l0a": 1 / 64})
    assert attention_cut(AttentionKernel.of(Attention(1, 64, 64, 4096)), tiny) == (why, 0)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [F16, DType.BFLOAT16, F32])
@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ((2, 50, 70, 90, 90), (32, 32, 16)),
        ((1, 33, 100, 40, 75), (16, 48, 32)),
        ((1, 17, 5, 7, 9), (16, 16, 64)),
    ],
)
def test_a_head_in_slices_moves_what_the_cost_model_says(chip, dtype, shape, cut):
    """Neither queries, keys, width nor columns are a multiple of the tile."""
    chip, work = load_chip(chip), Attention(*shape, dtype)
    found = check_attention(AttentionKernel.of(work), AttentionCut(*cut), chip)
    traffic = attention_traffic(work, AttentionTiles.of(*cut))
    through_memory = traffic.hand_over[0] if chip.cube_vector_path == "gm" else 0
    assert found.counts.memory_bytes == traffic.operands[0] + through_memory
    assert found.counts.products == work.heads * work.queries * work.keys * (work.width + work.columns)


@pytest.mark.parametrize("chip", ["teaching", "Ascend910A"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
def test_masks_and_shared_keys_of_a_head_in_slices(chip, mask, causal):
    work = Attention(4, 40, 50, 40, 56, F32, kv_heads=2, causal=causal)
    mask = mask and Mask(tuple(mask.split()), F16 if causal else F32)
    kernel = AttentionKernel.of(work, scale=0.3, mask=mask, k_transposed=causal)
    check_attention(kernel, AttentionCut(16, 32, 16), load_chip(chip))


def test_a_head_in_slices_that_lies_between_rows_and_columns():
    between, turned = ("rows", "h0", "h1", "columns"), ("columns", "h0", "rows")
    work = Attention(4, 20, 40, 40, 24, F16, kv_heads=2)
    kernel = AttentionKernel(work, (2, 2), between, turned, turned, between)
    check_attention(kernel, AttentionCut(16, 32, 16), load_chip("teaching"))


def test_every_flag_of_a_head_in_slices_is_needed():
    """The copies of the output so far, too: without the flags of any one buffer a pipe would come too soon."""
    kernel = AttentionKernel.of(Attention(1, 20, 70, 40, 40, F32))
    program = attention_program(kernel, AttentionCut(16, 16, 16), load_chip("teaching").scaled({"cores.cube": 1 / 4}))

    def without(instructions, name):
        for one in instructions:
            if isinstance(one, Loop):
                yield replace(one, body=tuple(without(one.body, name)))
            elif not (isinstance(one, SetFlag | WaitFlag) and one.buffer == name):
                yield one

    flagged = {one.buffer for one in program.instructions() if isinstance(one, SetFlag)}
    assert {"sums", "sums_ub", "more_ub", "left_l0a", "right_l0b", "product_l0c"} <= flagged
    for name in flagged:
        parts = {part: tuple(without(getattr(program, part), name)) for part in ("start", "body", "finish")}
        assert hazards(replace(program, **parts)), name


@pytest.mark.parametrize("chip", chip_names())
def test_heads_of_any_width_have_a_tile(chip):
    """Whole or in slices, what is faster where the head is wide; and there the cost model assumes the same tile."""
    chip, ways = load_chip(chip), set()
    for dtype in (F16, F32):
        for width in (64, 250, 385, 501, 1024, 4096, 20_000):
            work = Attention(1, 300, 300, width, dtype=dtype)
            cut, evaluated = attention_cut(AttentionKernel.of(work), chip)
            assert isinstance(cut, AttentionCut)
            require_capacity(attention_program(AttentionKernel.of(work), cut, chip), chip)
            ways.add((evaluated, bool(cut.slice)))
            assert evaluated in ((5**3, 5**2 + 5**3) if is_wide(work, chip) else (5**2,))
            if is_wide(work, chip):
                assert all(attention_fits(work, tiles, chip).all() for tiles in assumed_tiles(work, chip))
                chosen = AttentionTiles.of(cut.queries, cut.keys, cut.slice)
                assert attention_cost(work, chip).total_us[0] == attention_cost(work, chip, chosen).total_us[0]
    assert ways >= {(5**2, False), (5**3, True)}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("cut", [(32, 64), (16, 48, 32), (64, 32, 128)])
def test_the_cost_model_knows_the_buffers_of_the_program(chip, cut):
    """In UB it counts a strip of one row, which is all that a program takes where there is no room for more."""
    chip, work = load_chip(chip).scaled({"capacity.ub": 1 / 1024}), Attention(1, 100, 100, 90, 70, F32)
    program = attention_program(AttentionKernel.of(work), AttentionCut(*cut), chip)
    for level, footprint in attention_footprints(work, AttentionTiles.of(*cut)).items():
        assert footprint[0] == sum(b.total_bytes for b in program.buffers if b.level == level), level


def test_the_articles_head_goes_in_slices():
    """SimpleAttention is one head of 768: K and V whole are 48 KiB each in float32, side by side more than L0B."""
    chip, kernel = load_chip("Ascend910B3"), AttentionKernel.of(Attention(1, 2048, 2048, 768, dtype=F32))
    with pytest.raises(OptionError, match=r"l0b overflows: 98304 .*k_l0b 1 x 49152, v_l0b 1 x 49152.*has 65536"):
        require_capacity(attention_program(kernel, AttentionCut(16, 16), chip), chip)
    cut, _ = attention_cut(kernel, chip)
    assert cut == AttentionCut(128, 128, 64)
    program, size = attention_program(kernel, cut, chip), chip.capacity
    used = {level: sum(b.total_bytes for b in program.buffers if b.level == level) for level in ("l0a", "l0b", "l0c")}
    assert used == {"l0a": size.l0a_bytes, "l0b": size.l0b_bytes, "l0c": size.l0c_bytes}
    # Its tile is the fastest of those that fit; of those that do not, some would be faster.
    us = {}
    for queries in (64, 128, 256):
        for keys in (64, 128, 256):
            for terms in (32, 64, 128):
                fitting = attention_fits(kernel.work, AttentionTiles.of(queries, keys, terms), chip)[0]
                cost = attention_cost(kernel.work, chip, AttentionTiles.of(queries, keys, terms)).total_us[0]
                us.setdefault(bool(fitting), []).append(cost)
    assert min(us[False]) < min(us[True]) == attention_cost(kernel.work, chip).total_us[0]
    # Of half as wide elements the smallest tiles fit whole; slices are faster, so they are taken.
    half = AttentionKernel.of(Attention(1, 2048, 2048, 768, dtype=F16))
    require_capacity(attention_program(half, AttentionCut(16, 16), chip), chip)
    assert attention_cut(half, chip) == (AttentionCut(128, 128, 128), 5**2 + 5**3)
    # One query needs no slices: what lies whole in small tiles moves less.
    assert attention_cut(AttentionKernel.of(Attention(1, 1, 2048, 768, dtype=F16)), chip)[0] == AttentionCut(16, 16)


def test_the_cut_is_the_fastest_that_fits():
    chip, kernel = load_chip("Ascend910B3"), AttentionKernel.of(Attention(8, 1024, 1024, 64))
    cut, _ = attention_cut(kernel, chip)

    def us(queries, keys):
        return attention_cost(kernel.work, chip, AttentionTiles.of(queries, keys)).total_us[0]

    sizes = (16, 32, 64, 128, 256)
    fitting = []
    for queries in sizes:
        for keys in sizes:
            try:
                require_capacity(attention_program(kernel, AttentionCut(queries, keys), chip), chip)
            except OptionError:
                continue
            fitting.append(us(queries, keys))
    assert len(fitting) > 5
    assert us(cut.queries, cut.keys) == min(fitting) < fitting[0]
