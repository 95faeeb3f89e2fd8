"""Activations in the epilogue of a MatMul."""

import pytest

from gexplorer.passes.fusion.rules.matmul_activation import MatMulActivation
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[n,2]
constant %w = float32[2,3] {1.0, -2.0, 3.0, 4.0, -5.0, 6.0}
constant %b = float32[3] {1.0, 2.0, 3.0}
constant %six = float32[] {6.0}
%p = MatMul(%x, %w) #p
"""
KERNEL = '%y = MatMulActivation<ge>(%x, %w) {{cube = "MatMul", epilogue = [{0}]}} #y\noutput %y'
FIRES = {
    "Relu": ("%y = Relu(%p) #y\noutput %y", KERNEL.format('"Relu"')),
    "Tanh": ("%y = Tanh(%p) #y\noutput %y", KERNEL.format('"Tanh"')),
    "LeakyRelu": ("%y = LeakyRelu(%p) {alpha = 0.5} #y\noutput %y", KERNEL.format('"LeakyRelu"')),
    "Clip": ("%y = Clip(%p, _, %six) #y\noutput %y", KERNEL.format('"Clip"')),
    "Sigmoid times x": ("%s = Sigmoid(%p) #s\n%y = Mul(%s, %p) #y\noutput %y", KERNEL.format('"Sigmoid", "Mul"')),
    "com.microsoft's Gelu": ("%y = Gelu<com.microsoft>(%p) #y\noutput %y", KERNEL.format('"Gelu"')),
    "of a Gemm": (
        "%g = Gemm(%x, %w, %b) #g\n%y = Relu(%g) #y\noutput %y\noutput %p",
        '%p = MatMul(%x, %w) #p\n%y = MatMulActivation<ge>(%x, %w, %b) {cube = "Gemm", epilogue = ["Relu"]} #y\n'
        "output %y\noutput %p",
    ),
}
MISSES = {
    "in_between": (
        "%q = Identity(%p) #q\n%y = Relu(%q) #y\noutput %y",
        ("q", "q (Identity) stands between p (MatMul) and y (Relu)"),
    ),
    "other_user": (
        "%y = Relu(%p) #y\n%z = Neg(%p) #z\noutput %y\noutput %z",
        ("z", "p, which p makes, is also used by z (Neg)"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(MatMulActivation, HEAD + model, nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(MatMulActivation, HEAD + model, code, *said)


def test_a_gate_is_no_activation():
    """The gate's own product takes its sigmoid along, all the same."""
    model = "%q = MatMul(%x, %w) #q\n%s = Sigmoid(%q) #s\n%y = Mul(%s, %p) #y\noutput %y"
    nodes = (
        KERNEL.format('"Sigmoid"')
        .replace("%y", "%s")
        .replace("#y", "#s")
        .replace("output %s", "%y = Mul(%s, %p) #y\noutput %y")
    )
    step = check_kernels(MatMulActivation, HEAD + model, "%p = MatMul(%x, %w) #p\n" + nodes)
    said = "y multiplies a product with the sigmoid of another product: a gate, not an activation"
    assert [(reject.code, step.reason(reject)) for reject in step.rejects] == [("other_gate", said)]


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("bert-base:small=true", {"matmul_bias": 12, "matmul_activation": 3}),
        ("corpus/exports/bert.onnx", {"matmul_bias": 72, "matmul_activation": 13}),
    ],
)
def test_behind_the_bias(model, counts):
    check_count(model, counts, numbers=True)
