"""The residual of a Conv, with the activation of the sum."""

import pytest

from gexplorer.passes.fusion.rules.conv_add_relu import ConvAddRelu
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[1,2,3,3]
input %r : float32[1,2,3,3]
input %s : float32[1,2,1,1]
constant %w = float32[2,2,1,1] {1.0, -2.0, -3.0, 4.0}
%c = Conv(%x, %w) #c
"""
KERNEL = '%y = ConvAdd<ge>({0}) {{cube = "Conv", epilogue = [{1}]}} #y\noutput %y'
FIRES = {
    "Add": ("%y = Add(%c, %r) #y", KERNEL.format("%x, %w, %r", '"Add"')),
    "Add and Relu": ("%a = Add(%r, %c) #a\n%y = Relu(%a) #y", KERNEL.format("%x, %w, %r", '"Add", "Relu"')),
    "LeakyRelu and Add": (
        "%a = LeakyRelu(%c) #a\n%y = Add(%a, %r) #y",
        KERNEL.format("%x, %w, %r", '"LeakyRelu", "Add"'),
    ),
    "x times Sigmoid and Add": (
        "%g = Sigmoid(%c) #g\n%a = Mul(%c, %g) #a\n%y = Add(%a, %r) #y",
        KERNEL.format("%x, %w, %r", '"Sigmoid", "Mul", "Add"'),
    ),
    "of two Convs": (
        "%d = Conv(%r, %w) #d\n%a = Add(%c, %d) #a\n%y = Relu(%a) #y",
        "%d = Conv(%r, %w) #d\n" + KERNEL.format("%x, %w, %d", '"Add", "Relu"'),
    ),
    "Add, and Relu that is not alone": (
        "%y = Add(%c, %r) #y\n%z = Relu(%y) #z\noutput %z",
        KERNEL.format("%x, %w, %r", '"Add"').replace("output", "%z = Relu(%y) #z\noutput %z\noutput"),
    ),
}
MISSES = {
    "shapes": (
        "%y = Add(%c, %s) #y",
        ("s", "s is float32[1,2,1,1], c is float32[1,2,3,3]: not certainly the same shape"),
    ),
    "other_gate": (
        "%d = Conv(%x, %w) #d\n%g = Sigmoid(%d) #g\n%a = Mul(%c, %g) #a\n%y = Add(%a, %r) #y",
        ("a", "a multiplies a Conv with the sigmoid of another Conv: a gate, not an activation"),
    ),
    "other_user": (
        "%y = Add(%c, %r) #y\n%z = Neg(%c) #z\noutput %z",
        ("z", "c, which c makes, is also used by z (Neg)"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(ConvAddRelu, HEAD + model + "\noutput %y", nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(ConvAddRelu, HEAD + model + "\noutput %y", code, *said)


@pytest.mark.parametrize("name", ["conv_add_relu", "conv_add_relu_identity"])
def test_models_of_onnxruntime(name):
    check_count(f"data/ort_fusion/fusion/{name}.onnx", {"conv_add_relu": 1})
