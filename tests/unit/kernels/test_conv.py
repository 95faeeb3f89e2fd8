from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.conv import conv_program
from gexplorer.kernels.conv_kernel import ConvKernel, ConvTile, conv_bytes
from gexplorer.kernels.conv_tile import conv_tile
from gexplorer.kernels.count import count
from gexplorer.kernels.formula import Writer
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.interpreter import require_capacity, run
from gexplorer.kernels.text import to_text
from gexplorer.kernels.vector_kernel import Tensor
from tests.kernels import TOLERANCE, evaluate_formula
from tests.passes import graph_of
from tests.unit.kernels.test_generate import check_node, grouped, refusal_of, text_of

PLAIN = ConvKernel(2, 1, 5, 7, (9, 8), (3, 3), (1, 1), (1, 1), (1, 1), (9, 8), DType.FLOAT32, DType.FLOAT32)


def conv_inputs(kernel, seed=0):
    random = np.random.default_rng(seed)
    images, filters = kernel.batch, kernel.groups * kernel.filters
    shapes = {
        "x": ((images, kernel.groups * kernel.channels, *kernel.size), kernel.dtype),
        "w": ((filters, kernel.channels, *kernel.taps), kernel.dtype),
        **({"bias": ((1, filters), kernel.bias)} if kernel.bias is not None else {}),
        **{operand.name: (operand.shape, operand.dtype) for operand in kernel.operands},
    }
    return {name: random.normal(size=shape).astype(dtype.numpy()) for name, (shape, dtype) in shapes.items()}


def conv_reference(kernel, inputs):
    """The sum over channels and taps, one output place at a time, as the definition says."""
    x, w = (inputs[name].astype(np.float64) for name in ("x", "w"))
    (rows, columns), out = kernel.places, np.zeros((kernel.batch, kernel.groups, kernel.filters, *kernel.places))
    for group in range(kernel.groups):
        weights = w[group * kernel.filters : (group + 1) * kernel.filters]
        maps = x[:, group * kernel.channels : (group + 1) * kernel.channels]
        for y in range(rows):
            for z in range(columns):
                for dy in range(kernel.taps[0]):
                    for dz in range(kernel.taps[1]):
                        at_y = y * kernel.stride[0] - kernel.pads[0] + dy * kernel.dilation[0]
                        at_z = z * kernel.stride[1] - kernel.pads[1] + dz * kernel.dilation[1]
                        if 0 <= at_y < kernel.size[0] and 0 <= at_z < kernel.size[1]:
                            out[:, group, :, y, z] += maps[:, :, at_y, at_z] @ weights[:, :, dy, dz].T
    out = out.reshape(kernel.batch, -1, *kernel.places)
    if kernel.bias is not None:
        out = out + inputs["bias"].reshape(1, -1, 1, 1)
    if kernel.epilogue is not None:
        (out,) = evaluate_formula(kernel.epilogue, [out, *(inputs[o.name] for o in kernel.operands)])
    return out


def check_conv(kernel, cut, chip):
    """Numbers as the definition's, bytes as the closed form's, no hazard; the run."""
    program, inputs = conv_program(kernel, cut, chip), conv_inputs(kernel)
    found = run(program, chip, inputs)
    close = 10 * TOLERANCE[kernel.out_dtype]
    got = found.outputs["out"].astype(np.float64)
    np.testing.assert_allclose(got, conv_reference(kernel, inputs), rtol=close, atol=close)
    assert found.counts.bytes_by_path == conv_bytes(kernel, cut, chip)
    assert count(program) == found.counts
    assert found.counts.products == kernel.work.flops / 2
    assert hazards(program) == ()
    return found


def epilogue(kernel):
    """A factor by filter, a residual, relu."""
    write = Writer(("sum", "factor", "residual"))
    total = write("max", write("add", write("mul", 0, 1), 2), 0.0)
    filters = kernel.groups * kernel.filters
    factor = Tensor("x0", (1, filters, 1, 1), DType.FLOAT32)
    residual = Tensor("x1", (kernel.batch, filters, *kernel.places), DType.FLOAT16)
    return write.formula(total), (factor, residual)


@pytest.mark.parametrize("chip", ["teaching", "Ascend910B3", "Ascend910A"])
@pytest.mark.parametrize("cut", [ConvTile(9, 8, 7, 5), ConvTile(2, 8, 4, 2), ConvTile(1, 3, 16, 3)])
def test_a_plain_convolution(cut, chip):
    check_conv(PLAIN, cut, load_chip(chip))


@pytest.mark.parametrize("chip", ["teaching", "Ascend910A"])
def test_a_convolution_with_all_that_rides_on_it(chip):
    formula, operands = epilogue(PLAIN)
    kernel = replace(PLAIN, bias=DType.FLOAT32, epilogue=formula, operands=operands, out_dtype=DType.FLOAT16)
    check_conv(kernel, ConvTile(4, 8, 3, 2), load_chip(chip))


def test_relu_rides_with_the_fixpipe_and_a_bias_starts_the_sums():
    write = Writer(("sum",))
    kernel = replace(PLAIN, bias=DType.FLOAT32, epilogue=write.formula(write("max", 0, 0.0)))
    found = check_conv(kernel, ConvTile(4, 8, 7, 5), load_chip("Ascend910B3"))
    assert not found.counts.vector_elements
    assert "relu" in to_text(conv_program(kernel, ConvTile(4, 8, 7, 5), load_chip("Ascend910B3")))


def test_borders_are_read_by_both_blocks_and_padding_by_none():
    """Rows -1 to 9 are wanted by 9 output rows, of which the map has 9; two blocks share two rows."""
    chip = load_chip("teaching")
    whole = conv_bytes(PLAIN, ConvTile(9, 8, 7, 5), chip)["gm->l1"]
    halves = conv_bytes(PLAIN, ConvTile(5, 8, 7, 5), chip)["gm->l1"]
    weights = 2 * 7 * 45 * 4
    assert whole == 2 * 5 * 9 * 8 * 4 + weights
    assert halves == 2 * 5 * (6 + 5) * 8 * 4 + 2 * weights


CONVS = [
    "x : float32[2,5,9,8]; w : float32[7,5,3,3]; Conv(%x, %w) {pads = [1, 1, 1, 1]}",
    "x : float32[1,6,9,8]; w : float32[4,3,3,2]; b : float32[4]; Conv(%x, %w, %b) {group = 2, strides = [2, 1]}",
    "x : float16[1,4,11,11]; w : float16[4,1,3,3]; Conv(%x, %w) {group = 4, dilations = [2, 2]}",
    "x : float32[2,3,17]; w : float32[5,3,4]; b : float32[5]; Conv(%x, %w, %b) {strides = [3], pads = [2, 1]}",
    'x : float32[1,2,7,8]; w : float32[3,2,4,4]; Conv(%x, %w) {auto_pad = "SAME_LOWER", strides = [2, 2]}',
    'x : float32[1,2,7,8]; w : float32[3,2,4,3]; Conv(%x, %w) {auto_pad = "SAME_UPPER"}',
]


@pytest.mark.parametrize("chip", ["teaching", "Ascend910B3", "Ascend910A"])
@pytest.mark.parametrize("line", CONVS)
def test_operators_give_what_the_reference_evaluator_gives(line, chip):
    (found,) = check_node(graph_of(text_of(line)), chip)
    assert found.kind == "convolution"
    assert found.evaluations > 0


@pytest.mark.parametrize("chip", ["Ascend910B3", "Ascend910A"])
def test_a_normalisation_by_channel_and_a_residual(chip):
    text = """
input %x : float32[2,5,9,8]
input %w : float32[6,5,3,3]
input %s : float32[6]
input %b : float32[6]
input %m : float32[6]
input %r : float32[2,6,9,8]
constant %v = float32[6] {1.0, 2.0, 0.5, 0.25, 3.0, 4.0}
%c = Conv(%x, %w) {pads = [1, 1, 1, 1]} #c
%n = BatchNormalization(%c, %s, %b, %m, %v) #n
%a = Add(%n, %r) #a
%y = Relu(%a) #y
output %y
"""
    (found,) = check_node(grouped(text, "One"), chip)
    assert dict(found.units) == dict(zip(("n0", "n1", "n2", "n3"), ("cube", "vector", "vector", "vector"), strict=True))


REFUSED = {
    "x : float32[1,2,3,4,5]; w : float32[2,2,1,1,1]; Conv(%x, %w)": (
        "Conv: it goes along 3 axes; 1 and 2 are understood"
    ),
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_has_no_program_says_why(line):
    assert refusal_of(text_of(line)) == REFUSED[line]


def test_a_tile_that_is_too_large_is_an_error():
    chip = load_chip("teaching")
    kernel = ConvKernel(1, 1, 64, 64, (56, 56), (3, 3), (1, 1), (1, 1), (1, 1), (56, 56), DType.FLOAT16, DType.FLOAT16)
    with pytest.raises(OptionError, match=r"Conv2D: l1 overflows: .* teaching has"):
        require_capacity(conv_program(kernel, ConvTile(56, 56, 64, 64), chip), chip)
    with pytest.raises(OptionError, match="Conv2D: a tile of at least one of everything is wanted"):
        conv_program(kernel, ConvTile(0, 56, 64, 64), chip)
    tile, seen = conv_tile(kernel, chip)
    require_capacity(conv_program(kernel, tile, chip), chip)
    assert seen > 20
