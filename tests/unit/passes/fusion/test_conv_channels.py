"""A constant for each channel behind a Conv: bias and scale."""

import pytest

from gexplorer.passes.fusion.rules.conv_bias import ConvBias
from gexplorer.passes.fusion.rules.conv_bias_epilogue import ConvBiasEpilogue
from gexplorer.passes.fusion.rules.conv_scale import ConvScale
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[1,2,2,3]
input %r : float32[2,1,1]
constant %w = float32[2,2,1,1] {1.0, 2.0, 3.0, 4.0}
constant %b = float32[2] {1.0, 2.0}
constant %k = float32[2,1,1] {3.0, 4.0}
constant %k4 = float32[1,2,1,1] {3.0, 4.0}
constant %one = float32[] {3.0}
constant %last = float32[3] {3.0, 4.0, 5.0}
constant %wide = float32[1,1,2,1,1] {3.0, 4.0}
constant %far = float32[2,1,1] 8 bytes ...
"""
CONV = "%c = Conv(%x, %w) #c\n"
ADD = "%y = Add(%c, {0}) #y\noutput %y"
MUL = "%y = Mul({0}, %c) #y\noutput %y"


@pytest.mark.parametrize("name", ["%k", "%k4", "%one"])
def test_a_bias(name):
    check_kernels(ConvBias, HEAD + CONV + ADD.format(name), "%y = Conv(%x, %w, %c/bias@0) #c\noutput %y")


def test_a_second_bias_is_added_to_the_first():
    step = check_kernels(
        ConvBias, HEAD + "%c = Conv(%x, %w, %b) #c\n" + ADD.format("%k"), "%y = Conv(%x, %w, %b@0) #c\noutput %y"
    )
    data = step.after.values["b@0"].constant
    assert data is not None
    assert data.array().tolist() == [4.0, 6.0]


@pytest.mark.parametrize("name", ["%k", "%k4", "%one"])
def test_a_scale(name):
    check_kernels(ConvScale, HEAD + CONV + MUL.format(name), "%y = Conv(%x, %w@0) #c\noutput %y")


def test_a_scale_and_a_shift():
    model = HEAD + CONV + "%m = Mul(%c, %k) #m\n%y = Add(%k4, %m) #y\noutput %y"
    step = check_kernels(ConvScale, model, "%y = Conv(%x, %w@0, %c/bias@1) #c\noutput %y")
    assert step.after.nodes["c"].origin == ("c", "m", "y")


def test_a_scale_whose_shift_is_not_by_channel():
    model = HEAD + CONV + "%m = Mul(%c, %k) #m\n%y = Add(%m, %last) #y\noutput %y"
    step = check_kernels(ConvScale, model, "%m = Conv(%x, %w@0) #c\n%y = Add(%m, %last) #y\noutput %y")
    rejects = run(ConvBiasEpilogue, step.after).rejects
    assert [(reject.code, reject.blocker) for reject in rejects] == [("by_channel", "last")]


def test_a_scale_of_a_biased_conv():
    model = HEAD + "%c = ConvTranspose(%x, %w, %b) #c\n" + MUL.format("%k")
    check_kernels(ConvScale, model, "%y = ConvTranspose(%x, %w@0, %b@1) #c\noutput %y")


@pytest.mark.parametrize("rule", [ConvBias, ConvBiasEpilogue])
@pytest.mark.parametrize(("name", "type_"), [("last", "float32[3]"), ("wide", "float32[1,1,2,1,1]")])
def test_what_is_not_by_channel(rule, name, type_):
    said = f"{name} is {type_}, not one number for each channel of c (float32[1,2,2,3])"
    check_miss(rule, HEAD + CONV + ADD.format("%" + name), "by_channel", name, said)


def test_a_run_of_scales():
    model = "%m = Mul(%c, %k) #m\n%a = Add(%m, %k) #a\n%l = Mul(%a, %k) #l\n%y = Mul(%l, %k) #y\noutput %y"
    step = check_kernels(ConvScale, HEAD + CONV + model, "%y = Conv(%x, %w@4, %c/bias@5) #c\noutput %y")
    assert step.after.nodes["c"].origin == ("c", "m", "a", "l", "y")


def test_a_scale_that_is_not_by_channel():
    said = "last is float32[3], not one number for each channel of c (float32[1,2,2,3])"
    check_miss(ConvScale, HEAD + CONV + MUL.format("%last"), "by_channel", "last", said)


def test_what_is_computed_at_run_time():
    said = "y (Mul) reads r, which is computed at run time; a constant scale is needed"
    check_miss(ConvScale, HEAD + CONV + MUL.format("%r"), "not_constant", "r", said)
    said = "y (Add) reads r, which is computed at run time; a constant is needed"
    check_miss(ConvBias, HEAD + CONV + ADD.format("%r"), "not_constant", "r", said)
    kernel = '%y = ConvBias<ge>(%x, %w, %r) {cube = "Conv", epilogue = ["Add"]} #y\noutput %y'
    check_kernels(ConvBiasEpilogue, HEAD + CONV + ADD.format("%r"), kernel)


@pytest.mark.parametrize("rule", [ConvBias, ConvBiasEpilogue])
def test_a_residual_is_no_bias(rule):
    said = "s is computed at run time and as large as what c makes: a residual, not a bias"
    check_miss(rule, HEAD + "input %s : float32[1,2,2,3]\n" + CONV + ADD.format("%s"), "residual", "s", said)


def test_a_bias_without_bytes_goes_into_the_epilogue():
    said = "far is not available, so nothing can be computed into the weights of c"
    check_miss(ConvBias, HEAD + CONV + ADD.format("%far"), "unavailable", "far", said)
    kernel = '%y = ConvBias<ge>(%x, %w, %far) {cube = "Conv", epilogue = ["Add"]} #y\noutput %y'
    check_kernels(ConvBiasEpilogue, HEAD + CONV + ADD.format("%far"), kernel)


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("fuse-conv-add-mul-3d.onnx", {"conv_bias": 1}),
        ("fuse-conv-add-mul-1d.onnx", {"conv_scale": 3}),
        ("fuse-conv-mul-no-bias.onnx", {"conv_scale": 1}),
        ("fuse-conv-bn-add-mul-float16.onnx", {"conv_batchnorm": 1}),
        ("negative-fuse-conv-add-no-bias.onnx", {"conv_bias": 0}),
    ],
)
def test_models_of_onnxruntime(model, counts):
    check_count(f"data/ort_fusion/fusion/{model}", counts)
