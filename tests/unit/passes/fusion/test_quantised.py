"""Products of 8-bit operands: between DequantizeLinear, with QuantizeLinear behind, and quantised at run time."""

import pytest

from gexplorer.passes.fusion.rules.dynamic_quantised_matmul import DynamicQuantisedMatMul
from gexplorer.passes.fusion.rules.matmul_transpose import MatMulTranspose
from gexplorer.passes.fusion.rules.quantised_conv import QuantisedConv
from gexplorer.passes.fusion.rules.quantised_matmul import QuantisedMatMul
from gexplorer.passes.fusion.rules.requantise import Requantise
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : int8[2,2]
input %image : uint8[1,2,3,3]
input %wide : int16[2,2]
input %f : float32[2,2]
input %residual : float32[2,2]
constant %w = int8[2,2] {1, -2, 3, -4}
constant %k = int8[2,2,1,1] {1, -2, 3, -4}
constant %kb = int32[2] {5, -6}
constant %s = float32[] {0.5}
constant %each = float32[2] {0.5, 0.25}
constant %zero = int8[] {0}
constant %odd = int8[] {3}
constant %middle = uint8[] {128}
constant %fb = float32[2] {1.0, 2.0}
"""
DATA = "%a = DequantizeLinear(%x, %s) #a\n"
IMAGE = "%a = DequantizeLinear(%image, %s, %middle) #a\n"
WEIGHTS = "%b = DequantizeLinear(%w, %s, %zero) #b\n"
FILTERS = "%b = DequantizeLinear(%k, %each) {axis = 0} #b\n"
MATMUL = "%y = MatMul(%a, %b) #y\noutput %y"
CONV = "%y = Conv(%a, %b) #y\noutput %y"
MATMUL_ATTRIBUTES = '{cube = "MatMul", epilogue = ["DequantizeLinear", "DequantizeLinear"]}'


def test_matmul():
    check_kernels(
        QuantisedMatMul,
        HEAD + DATA + WEIGHTS + MATMUL,
        f"%y = QuantBatchMatmulV3<ge>(%x, %w) {MATMUL_ATTRIBUTES} #y\noutput %y",
    )


@pytest.mark.parametrize(("transposed", "axis"), [(0, 1), (0, -1), (1, 0), (1, -2)])
def test_a_scale_for_each_column(transposed, axis):
    weights = f"%b = DequantizeLinear(%w, %each) {{axis = {axis}}} #b\n"
    model = f"%y = Gemm(%a, %b) {{transB = {transposed}}} #y\noutput %y"
    assert len(run(QuantisedMatMul, HEAD + DATA + weights + model).rewrites) == 1


@pytest.mark.parametrize(("axis", "count"), [(0, 1), (1, 0)])
def test_a_scale_for_each_column_of_weights_that_the_product_transposes(axis, count):
    weights = f"%w2 = DequantizeLinear(%w, %each) {{axis = {axis}}} #w2\n%b = Transpose(%w2) #b\n"
    product = run(MatMulTranspose, HEAD + DATA + weights + MATMUL).after
    assert len(run(QuantisedMatMul, product).rewrites) == count


def test_conv_with_its_bias():
    bias = "%c = DequantizeLinear(%kb, %each) {axis = 0} #c\n"
    step = run(QuantisedConv, HEAD + IMAGE + FILTERS + bias + CONV.replace("%b)", "%b, %c)"))
    assert [node.op for node in step.after.order] == ["QuantConv2D"]
    assert step.after.nodes["y"].inputs == ("image", "k", "each", "kb")


def test_conv_with_a_plain_bias():
    step = run(QuantisedConv, HEAD + IMAGE + FILTERS + CONV.replace("%b)", "%b, %fb)"))
    assert [node.op for node in step.after.order] == ["QuantConv2D"]


def test_activations_that_others_use_too_are_dequantised_twice():
    nodes = f"%a = DequantizeLinear(%x, %s) #a\n%y = QuantBatchMatmulV3<ge>(%x, %w) {MATMUL_ATTRIBUTES} #y\n"
    check_kernels(
        QuantisedMatMul,
        HEAD + DATA + WEIGHTS + MATMUL + "\n%z = Neg(%a) #z\noutput %z",
        nodes + "%z = Neg(%a) #z\noutput %y\noutput %z",
    )


MISSES = {
    "dtype": (
        DATA.replace("%x", "%wide") + WEIGHTS + MATMUL,
        ("wide", "wide is int16[2,2]; the cube unit multiplies int8"),
    ),
    "scales of the activations": (
        DATA.replace("%s", "%each") + WEIGHTS + MATMUL,
        (
            "x",
            "x has scales float32[2] along axis 1: only one scale, or one for each output channel "
            "(axis none), comes out of the sum",
        ),
    ),
    "scales along the sum": (
        DATA + "%b = DequantizeLinear(%w, %each) {axis = 0} #b\n" + MATMUL,
        (
            "w",
            "w has scales float32[2] along axis 0: only one scale, or one for each output channel "
            "(axis 1), comes out of the sum",
        ),
    ),
    "zero_point": (
        DATA + WEIGHTS.replace("%zero", "%odd") + MATMUL,
        ("w", "the zero point of w is not 0: the sum would need a correction that depends on the data"),
    ),
    "no_operator": (
        DATA + "%y = MatMul(%a, %f) #y\noutput %y",
        ("f", "y reads f, which no DequantizeLinear makes: it is an input or a constant"),
    ),
    "not_constant": (
        DATA + "%b = DequantizeLinear(%x, %s) #b\n" + MATMUL,
        ("x", "b (DequantizeLinear) reads x, which is computed at run time; constant weights is needed"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(QuantisedMatMul, HEAD + model, code, *said, opset=21)


def test_why_not_a_conv():
    said = "k has scales float32[2] along axis 1: only one scale, or one for each output channel (axis 0), "
    said += "comes out of the sum"
    check_miss(QuantisedConv, HEAD + IMAGE + FILTERS.replace("= 0", "= 1") + CONV, "scales", "k", said)


def _kernel(before, end):
    """A model whose product is an int8 kernel already."""
    return run(QuantisedMatMul if "MatMul" in before else QuantisedConv, HEAD + before + end).after


@pytest.mark.parametrize(
    "end",
    [
        "%q = QuantizeLinear(%y, %s) #q\noutput %q",
        "%r = Relu(%y) #r\n%q = QuantizeLinear(%r, %s, %zero) #q\noutput %q",
        "%g = Sigmoid(%y) #g\n%r = Mul(%y, %g) #r\n%q = QuantizeLinear(%r, %s) #q\noutput %q",
    ],
)
def test_requantise(end):
    model = DATA + WEIGHTS + MATMUL.replace("output %y", "")
    step = run(Requantise, _kernel(model, end))
    assert [(node.name, node.op) for node in step.after.order] == [("q", "QuantBatchMatmulV3")]


def test_requantise_by_channel():
    model = DATA + WEIGHTS + MATMUL.replace("output %y", "")
    step = run(Requantise, _kernel(model, "%q = QuantizeLinear(%y, %each) #q\noutput %q"))
    assert [(r.code, r.blocker, step.reason(r)) for r in step.rejects] == [
        ("one_scale", "each", "each is float32[2]: the epilogue quantises with one scale")
    ]


def test_requantise_what_another_gates():
    model = DATA + WEIGHTS + MATMUL.replace("output %y", "")
    end = "%o = MatMul(%a, %b) #o\n%g = Sigmoid(%o) #g\n%r = Mul(%y, %g) #r\n%q = QuantizeLinear(%r, %s) #q\noutput %q"
    step = run(Requantise, _kernel(model, end))
    assert [(r.code, r.blocker) for r in step.rejects] == [("other_gate", "r")]


DYNAMIC = """
%a, %t, %z = DynamicQuantizeLinear(%f) #d
%p = MatMulInteger(%a, %w, %z) #p
%c = Cast(%p) {to = 1} #c
%m = Mul(%t, %each) #m
"""


def test_dynamic():
    kernel = '%y = QuantBatchMatmulV3<ge>({0}) {{cube = "MatMulInteger", epilogue = [{1}]}} #y\noutput %y'
    first = "%a, %t, %z = DynamicQuantizeLinear(%f) #d\n"
    nodes = first + kernel.format("%a, %w, %z, %t, %each", '"Cast", "Mul", "Mul"')
    check_kernels(DynamicQuantisedMatMul, HEAD + DYNAMIC + "%y = Mul(%m, %c) #y\noutput %y", nodes)
    nodes = first + kernel.format("%a, %w, %z, %t, %each, %fb", '"Cast", "Mul", "Mul", "Add"')
    check_kernels(
        DynamicQuantisedMatMul, HEAD + DYNAMIC + "%v = Mul(%m, %c) #v\n%y = Add(%v, %fb) #y\noutput %y", nodes
    )


DYNAMIC_MISSES = {
    "widened": (
        "constant %deep = float32[1,1,2] {1.0, 2.0}\n"
        + DYNAMIC.replace("%each", "%deep")
        + "%y = Mul(%m, %c) #y\noutput %y",
        ("y", "y (Mul) may make float32[1,2,2] of the product, which is int32[2,2]"),
    ),
    "other_user": (
        DYNAMIC + "%y = Mul(%m, %c) #y\noutput %y\n%n = Neg(%p) #n\noutput %n",
        ("n", "p, which p makes, is also used by n (Neg)"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in DYNAMIC_MISSES.items()], ids=DYNAMIC_MISSES)
def test_why_not_dynamic(code, model, said):
    check_miss(DynamicQuantisedMatMul, HEAD + model, code, *said)


def test_a_residual_is_no_bias():
    step = run(DynamicQuantisedMatMul, HEAD + DYNAMIC + "%v = Mul(%m, %c) #v\n%y = Add(%v, %residual) #y\noutput %y")
    said = "residual is float32[2,2], not one number for each column: a residual, not a bias"
    assert [step.reason(reject) for reject in step.rejects] == [said]
    assert [node.op for node in step.after.order] == ["DynamicQuantizeLinear", "QuantBatchMatmulV3", "Add"]


@pytest.mark.parametrize(
    ("name", "rule", "count"),
    [
        ("dynamic_quantize_matmul", "dynamic_quantised_matmul", 1),
        ("dynamic_quantize_matmul_bias", "dynamic_quantised_matmul", 1),
        ("dynamic_quantize_matmul_bias_b_no_zp", "dynamic_quantised_matmul", 1),
        ("constant_folding_dequantizelinear", "quantised_conv", 1),
    ],
)
def test_models_of_onnxruntime(name, rule, count):
    check_count(f"data/ort_fusion/fusion/{name}.onnx", {rule: count}, numbers=True)
