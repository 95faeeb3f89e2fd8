"""Rows that UB cannot hold."""

from __future__ import annotations

import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.count import count
from gexplorer.kernels.formula import Writer
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.interpreter import require_capacity, run
from gexplorer.kernels.rowwise import layer_norm, rms_norm, softmax
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel
from gexplorer.kernels.wide_rows import passes_of, wide_bytes, wide_program, wide_tile
from tests.kernels import TOLERANCE, evaluate_formula
from tests.passes import graph_of
from tests.unit.kernels.test_generate import check_node, text_of

F32 = DType.FLOAT32
CHIPS = ["teaching", "Ascend910B3", "Ascend910A"]


def check_wide(kernel, cut, chip):
    program, random = wide_program(kernel, cut, chip), np.random.default_rng(0)
    inputs = {t.name: random.normal(size=t.shape).astype(t.dtype.numpy()) for t in kernel.inputs}
    found = run(program, chip, inputs)
    wanted = evaluate_formula(kernel.formula, [inputs[t.name] for t in kernel.inputs])
    for tensor, array in zip(kernel.outputs, wanted, strict=True):
        close = 5 * TOLERANCE[tensor.dtype]
        got = found.outputs[tensor.name].astype(np.float64)
        np.testing.assert_allclose(got, np.broadcast_to(array, tensor.shape), rtol=close, atol=close)
    assert found.counts.bytes_by_path == wide_bytes(kernel, cut)
    assert count(program) == found.counts
    assert hazards(program) == ()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("cut", [(1, 16), (3, 50), (5, 99)])
@pytest.mark.parametrize("make", [softmax, layer_norm, rms_norm])
def test_pieces_give_what_whole_rows_give(make, cut, chip):
    check_wide(make(5, 100, F32).merged, cut, load_chip(chip))
    check_wide(make(7, 131, DType.FLOAT16).merged, cut, load_chip(chip))


def test_a_sum_is_one_pass_and_a_softmax_three():
    write = Writer(("x",))
    total = write.formula(write("reduce_sum", 0))
    assert [len(found.reduced) for found in passes_of(total)] == [1, 0]
    assert [len(found.reduced) for found in passes_of(softmax(4, 8, F32).formula)] == [1, 1, 0]
    kernel = VectorKernel((4, 100), total, (Tensor("x", (4, 100), F32),), (Tensor("out", (4, 1), F32),))
    check_wide(kernel, (2, 30), load_chip("teaching"))
    assert wide_bytes(kernel, (2, 30)) == {"gm->ub": 4 * 400, "ub->gm": 4 * 4}
    assert wide_bytes(softmax(4, 100, F32).merged, (2, 30)) == {"gm->ub": 3 * 4 * 400, "ub->gm": 4 * 400}


@pytest.mark.parametrize("chip", CHIPS)
def test_a_row_wider_than_ub_is_cut(chip):
    (found,) = check_node(graph_of(text_of("x : float32[3,90000]; Softmax(%x)")), chip)
    assert found.tile[-1] < 90000
    assert found.bytes_by_path["gm->ub"] == 3 * 4 * 3 * 90000


def test_what_cannot_be_is_an_error():
    chip, kernel = load_chip("teaching"), softmax(4, 90000, F32).merged
    with pytest.raises(OptionError, match="Vector: ub overflows"):
        require_capacity(wide_program(kernel, (4, 40000), chip), chip)
    require_capacity(wide_program(kernel, wide_tile(kernel, chip), chip), chip)
    write = Writer(("x",))
    both = write.formula(write("reduce_sum", 0), write("exp", 0))
    outputs = (Tensor("a", (4, 1), F32), Tensor("b", (4, 90000), F32))
    kernel = VectorKernel((4, 90000), both, (Tensor("x", (4, 90000), F32),), outputs)
    with pytest.raises(OptionError, match="Vector: rows of 90000 elements, and what they are reduced to, at once"):
        wide_program(kernel, (1, 1024), chip)
