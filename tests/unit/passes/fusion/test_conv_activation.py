"""Activations in the epilogue of a Conv."""

import pytest

from gexplorer.passes.fusion.rules.conv_activation import ConvActivation
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[1,2,3,3]
constant %w = float32[2,2,1,1] {1.0, -2.0, -3.0, 4.0}
constant %six = float32[] {6.0}
%c = Conv(%x, %w) #c
"""
KERNEL = '%y = ConvActivation<ge>(%x, %w) {{cube = "Conv", epilogue = [{0}]}} #y\noutput %y'
FIRES = {
    "Relu": ("%y = Relu(%c) #y", KERNEL.format('"Relu"')),
    "Clip": ("%y = Clip(%c, _, %six) #y", KERNEL.format('"Clip"')),
    "LeakyRelu": ("%y = LeakyRelu(%c) #y", KERNEL.format('"LeakyRelu"')),
    "HardSwish": ("%y = HardSwish(%c) #y", KERNEL.format('"HardSwish"')),
    "Sigmoid times x": ("%s = Sigmoid(%c) #s\n%y = Mul(%c, %s) #y", KERNEL.format('"Sigmoid", "Mul"')),
}
MISSES = {
    "other_user": ("%y = Relu(%c) #y\n%z = Neg(%c) #z\noutput %z", ("z", "c, which c makes, is also used by z (Neg)")),
    "is_result": ("%y = Relu(%c) #y\noutput %c", ("c", "c, which c (Conv) makes, is a result of the graph")),
    "in_between": (
        "%d = Flatten(%c) #d\n%y = Relu(%d) #y",
        ("d", "d (Flatten) stands between c (Conv) and y (Relu)"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(ConvActivation, HEAD + model + "\noutput %y", nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(ConvActivation, HEAD + model + "\noutput %y", code, *said)


def test_the_gate_of_another_conv():
    model = HEAD + "%d = Conv(%x, %w) #d\n%s = Sigmoid(%d) #s\n%y = Mul(%c, %s) #y\noutput %y"
    step = check_kernels(
        ConvActivation,
        model,
        '%c = Conv(%x, %w) #c\n%s = ConvActivation<ge>(%x, %w) {cube = "Conv", epilogue = ["Sigmoid"]} #s\n'
        "%y = Mul(%c, %s) #y\noutput %y",
    )
    said = "y multiplies a Conv with the sigmoid of another Conv: a gate, not an activation"
    assert [(reject.code, step.reason(reject)) for reject in step.rejects] == [("other_gate", said)]


RESNET = {"conv_batchnorm": 0, "conv_batchnorm_epilogue": 53, "conv_add_relu": 16, "conv_activation": 33}


@pytest.mark.parametrize(
    ("model", "counts", "numbers"),
    [
        ("resnet50", RESNET, False),
        ("corpus/exports/resnet50.onnx", RESNET | {"conv_batchnorm": 53, "conv_batchnorm_epilogue": 0}, True),
    ],
)
def test_every_conv_of_a_resnet(model, counts, numbers):
    check_count(model, counts, numbers=numbers)


@pytest.mark.parametrize("name", ["clip11", "hardsigmoid", "leakyrelu", "relu_opset12", "sigmoid", "tanh"])
def test_models_of_onnxruntime(name):
    check_count(f"data/ort_fusion/fusion/conv_{name}.onnx", {"conv_activation": 3 if name == "clip11" else 1})
