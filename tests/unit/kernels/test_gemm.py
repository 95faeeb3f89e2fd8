from __future__ import annotations

import numpy as np
import pytest

from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.traffic import gemm_traffic
from gexplorer.cost.work import Gemm
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.count import count
from gexplorer.kernels.formula import Formula, Instruction, Writer
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.gemm_kernel import GemmKernel, GemmTile, Operand
from gexplorer.kernels.interpreter import run
from tests.kernels import check_gemm, gemm_inputs

F16, F32 = DType.FLOAT16, DType.FLOAT32
RELU = Formula(("product",), (Instruction("max", (0, 0.0)),), (1,))
CHIPS = ("teaching", "Ascend910B3", "Ascend910A")


def gate():
    """exp(0.1 * product) * row + residual, with operands of three shapes."""
    write = Writer(("product", "residual", "row", "column"))
    scaled = write("mul", write("exp", write("mul", 0, 0.1)), 2)
    return write.formula(write("div", write("add", scaled, 1), write("add", write("abs", 3), 1.0)))


def gated(batch, m, n, k, **more):
    work = Gemm(m, n, k, F16, batch=batch, **more)
    operands = (
        Operand("residual", (batch, m, n), F16),
        Operand("row", (1, 1, n), F32),
        Operand("column", (1, m, 1), F16),
    )
    return GemmKernel(work, bias=F16, epilogue=gate(), operands=operands)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(1, 64, 64, 64), (3, 100, 70, 90), (1, 1, 1, 1), (2, 17, 130, 33)])
@pytest.mark.parametrize(
    "cut", [GemmTile(32, 48, 16), GemmTile(48, 32, 64, "columns"), GemmTile(16, 16, 16, "rows", False)]
)
def test_products_of_whole_and_ragged_tiles(chip, shape, cut):
    batch, m, n, k = shape
    work = Gemm(m, n, k, F16, F32, batch=batch)
    found = check_gemm(GemmKernel(work), cut, load_chip(chip))
    traffic = gemm_traffic(work, GemmTiles.of(cut.m, cut.n, cut.k))
    assert found.counts.bytes_by_path == {
        "gm->l1": traffic.left[0] + traffic.right[0],
        "l0c->gm": traffic.out[0],
        "l1->l0a": traffic.left[0],
        "l1->l0b": traffic.right[0],
    }
    assert found.counts.memory_bytes == traffic.on_chip[0]
    assert found.counts.products == batch * m * n * k


@pytest.mark.parametrize(
    ("dtype", "out"), [(F16, F16), (F32, F32), (DType.BFLOAT16, DType.BFLOAT16), (DType.INT8, DType.INT32)]
)
def test_element_types(dtype, out):
    unit = load_chip("teaching").cube.shape(dtype.bits)[2]
    check_gemm(GemmKernel(Gemm(50, 40, 70, dtype, out)), GemmTile(32, 16, 2 * unit), load_chip("teaching"))


@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shared", [(True, False), (False, True)])
def test_transposed_and_shared_matrices(turned, shared):
    kernel = GemmKernel(Gemm(50, 40, 70, F16, F32, batch=3), *turned, *shared)
    check_gemm(kernel, GemmTile(32, 16, 32), load_chip("teaching"))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("bias", [None, F16, F32])
def test_bias_and_relu_ride_with_table_and_fixpipe_where_a_chip_has_them(chip, bias):
    kernel = GemmKernel(Gemm(50, 70, 40, F16), bias=bias, epilogue=RELU)
    found = check_gemm(kernel, GemmTile(32, 32, 16), load_chip(chip))
    paths = set(found.counts.bytes_by_path)
    if chip == "Ascend910A":
        assert paths >= {"l0c->ub", "ub->gm"}
        assert not paths & {"l0c->gm", "l1->bt"}
    else:
        assert not paths & {"gm->ub", "ub->gm"}
        assert ("l1->bt" in paths) == (bias is not None)


def test_a_bias_too_long_for_its_table_goes_to_the_vector_cores():
    chip, kernel = load_chip("Ascend910B3"), GemmKernel(Gemm(20, 400, 40, F16), bias=F16)
    assert "l1->bt" in check_gemm(kernel, GemmTile(32, 256, 16), chip).counts.bytes_by_path
    assert "l1->bt" not in check_gemm(kernel, GemmTile(32, 320, 16), chip).counts.bytes_by_path


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(1, 64, 64, 64), (2, 100, 70, 30)])
def test_an_epilogue_with_operands_of_every_shape(chip, shape):
    found = check_gemm(gated(*shape), GemmTile(48, 32, 32), load_chip(chip))
    batch, m, n, _ = shape
    sums = 4 * batch * m * n
    moved = found.counts.bytes_by_path
    if chip == "Ascend910A":
        assert moved["l0c->ub"] == sums
    else:  # out to the workspace and in again
        assert moved["l0c->gm"] == sums
        assert moved["gm->ub"] > sums


def test_a_strip_is_as_high_as_ub_allows():
    """128 x 256 float32 twice and more does not fit 192 KiB, so the block leaves in several strips."""
    chip = load_chip("Ascend910B3")
    program = gemm_program(gated(1, 128, 256, 64), GemmTile(128, 256, 64), chip)
    ub = sum(b.total_bytes for b in program.buffers if b.level == "ub")
    assert chip.capacity.ub_bytes / 2 < ub <= chip.capacity.ub_bytes
    assert count(program).instructions["vector"] > 2 * 9


def test_blocks_go_to_cores_in_turn():
    chip = load_chip("teaching")
    program = gemm_program(GemmKernel(Gemm(160, 64, 16)), GemmTile(32, 32, 16), chip)
    stored = {core: n for (core, path), n in count(program).bytes_by_core.items() if path == "l0c->gm"}
    assert stored == {0: 6144, 1: 6144, 2: 4096, 3: 4096}  # ten blocks of 2,048 bytes on four cores


def test_the_published_tile_moves_what_an_academic_model_says():
    """ZigZag 3.9.1 on GEMM 2048 x 4096 x 4096 fp16 with blocks of 128 x 256: 822.1 MB between memory and the cores."""
    chip = load_chip("Ascend910B3")
    program = gemm_program(GemmKernel(Gemm(2048, 4096, 4096)), GemmTile(128, 256, 64), chip)
    assert count(program).memory_bytes == 822_083_584


def test_sums_are_taken_in_float32():
    """In float16 the sum of 4,096 ones would stop at 2,048."""
    chip, kernel = load_chip("teaching"), GemmKernel(Gemm(16, 16, 4096, F16, F32))
    inputs = {name: np.ones_like(array) for name, array in gemm_inputs(kernel).items()}
    found = run(gemm_program(kernel, GemmTile(16, 16, 64), chip), chip, inputs)
    assert (found.outputs["out"] == 4096).all()


@pytest.mark.parametrize(
    ("cut", "axis"), [((24, 16, 16), "tile_m 24"), ((16, 8, 16), "tile_n 8"), ((16, 16, 8), "tile_k 8")]
)
def test_a_tile_is_a_multiple_of_what_the_cube_takes(cut, axis):
    with pytest.raises(OptionError, match=f"{axis} is no multiple of 16, what teaching's cube takes at once"):
        gemm_program(GemmKernel(Gemm(64, 64, 64)), GemmTile(*cut), load_chip("teaching"))
