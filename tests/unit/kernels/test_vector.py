from __future__ import annotations

import numpy as np
import pytest

from gexplorer.cost import vector_work
from gexplorer.cost.vector import vector_cost
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.count import count
from gexplorer.kernels.formula import Writer
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.interpreter import run
from gexplorer.kernels.rowwise import layer_norm, rms_norm, softmax
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel
from gexplorer.kernels.vector_program import ub_bytes, vector_bytes, vector_program, vector_tile
from tests.kernels import TOLERANCE, evaluate_formula

CHIPS = ("teaching", "Ascend910B3", "Ascend910A")
F16, F32 = DType.FLOAT16, DType.FLOAT32


def check_vector(kernel, tile, chip, seed=0):
    """Numbers as the formula's on whole arrays, bytes as the closed form's, no hazard; the run."""
    random = np.random.default_rng(seed)
    program = vector_program(kernel, tile, chip)
    inputs = {t.name: random.normal(size=t.shape).astype(t.dtype.numpy()) for t in kernel.inputs}
    found = run(program, chip, inputs)
    for tensor, wanted in zip(kernel.outputs, evaluate_formula(kernel.formula, inputs.values()), strict=True):
        close = TOLERANCE[tensor.dtype]
        got = found.outputs[tensor.name].reshape(tensor.shape).astype(np.float64)
        np.testing.assert_allclose(got, np.broadcast_to(wanted, tensor.shape), rtol=close, atol=close)
    assert found.counts.bytes_by_path == {k: v for k, v in vector_bytes(kernel, tile, chip).items() if v}
    assert count(program) == found.counts
    assert hazards(program) == ()
    return found


def added(shape, *others, dtype=F32):
    """x + y + ... of such shapes."""
    names = ("x", "y", "z")[: 1 + len(others)]
    write = Writer(names)
    total = 0
    for index in range(1, len(names)):
        total = write("add", total, index)
    tensors = tuple(Tensor(name, s, dtype) for name, s in zip(names, (shape, *others), strict=True))
    return VectorKernel(shape, write.formula(total), tensors, (Tensor("out", shape, dtype),))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("shape", [(1,), (100,), (3, 5, 7), (40, 5000)])
def test_elementwise_moves_what_the_cost_model_says(chip, dtype, shape):
    chip, kernel = load_chip(chip), added(shape, shape, dtype=dtype)
    found = check_vector(kernel, vector_tile(kernel, chip), chip)
    work = vector_work.elementwise(shape, dtype, inputs=2)
    assert found.counts.bytes_by_path == {"gm->ub": work.read_bytes, "ub->gm": work.write_bytes}


@pytest.mark.parametrize(
    ("others", "merged", "tile"),
    [
        ([(2, 3, 4, 5)], (120,), (50,)),
        ([(1, 1, 4, 5)], (6, 20), (4, 7)),
        ([(2, 3, 1, 1)], (6, 20), (4, 7)),
        ([(1, 3, 1, 5)], (2, 3, 4, 5), (1, 2, 3, 4)),
        ([(1, 1, 1, 1), (2, 1, 1, 5)], (2, 12, 5), (2, 5, 5)),
    ],
)
def test_broadcasts_with_as_few_axes_as_possible(others, merged, tile):
    kernel = added((2, 3, 4, 5), *others)
    assert kernel.merged.shape == merged
    for chip in map(load_chip, CHIPS):
        check_vector(kernel, tile, chip)
        check_vector(kernel, vector_tile(kernel, chip), chip)


def test_a_repeated_tensor_is_read_once_by_each_core_or_again_by_each_tile():
    chip = load_chip("teaching")
    row = added((64, 32), (1, 32))
    whole, cut = (vector_bytes(row, tile, chip)["gm->ub"] for tile in ((4, 32), (4, 16)))
    assert whole == 4 * (64 * 32 + 8 * 32)  # eight cores
    assert cut == 4 * (64 * 32 + 16 * 32)  # sixteen tiles along the rows


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (37, 300), (100, 77), (3, 2000)])
@pytest.mark.parametrize("make", [softmax, layer_norm, rms_norm])
def test_rows(make, rows, width, dtype, chip):
    chip, kernel = load_chip(chip), make(rows, width, dtype)
    tile = vector_tile(kernel, chip)
    found = check_vector(kernel, tile, chip)
    work = getattr(vector_work, make.__name__)(rows, width, dtype)
    cost = vector_cost(work, chip)
    assert found.counts.memory_bytes == cost.l2_bytes[0] == cost.ub_bytes[0]
    assert found.counts.bytes_by_path["ub->gm"] == work.write_bytes


def test_normalisation_is_that_of_the_textbook():
    chip, kernel = load_chip("teaching"), layer_norm(9, 50, F32)
    random = np.random.default_rng(1)
    x, scale, shift = (random.normal(size=size) for size in ((9, 50), 50, 50))
    inputs = {"x": x, "scale": scale, "shift": shift}
    program = vector_program(kernel, vector_tile(kernel, chip), chip)
    got = run(program, chip, {name: array.astype(np.float32) for name, array in inputs.items()}).outputs["out"]
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * scale + shift
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_a_softmax_of_large_numbers_does_not_overflow():
    chip, kernel = load_chip("teaching"), softmax(2, 3, F32)
    x = np.array([[1e4, 1e4, -1e4], [80, 90, 100]], np.float32)
    got = run(vector_program(kernel, (1, 3), chip), chip, {"x": x}).outputs["out"]
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(got[0], [0.5, 0.5, 0])


def test_the_tile_fills_ub_and_leaves_no_core_idle():
    chip = load_chip("Ascend910B3")
    large, small = added((4096, 4096), (4096, 4096)), added((64, 64), (64, 64))
    used = ub_bytes(large, vector_tile(large, chip), chip)
    assert 0.9 * chip.capacity.ub_bytes < used <= chip.capacity.ub_bytes
    assert vector_program(small, vector_tile(small, chip), chip).blocks >= chip.vector_cores


def test_what_cannot_be_cut_is_said():
    chip = load_chip("teaching")
    with pytest.raises(OptionError, match="a row of 50000 elements needs 1000004 bytes of UB, teaching has 131072"):
        vector_tile(softmax(4, 50000, F32), chip)
    with pytest.raises(OptionError, match="Vector: rows of 8 elements are reduced, so they cannot be cut at 4"):
        vector_program(softmax(4, 8, F32), (1, 4), chip)
    with pytest.raises(OptionError, match=r"Vector: a tile of 1 axes is wanted, not \[1, 4\]"):
        vector_program(added((4, 8), (4, 8)), (1, 4), chip)
