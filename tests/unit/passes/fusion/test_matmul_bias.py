"""MatMul + bias: either side, one row only, and never what broadcasts the product."""

import pytest

from gexplorer.passes.fusion.rules.matmul_bias import MatMulBias
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[n,2]
input %r : float32[n,3]
input %row : float32[1,3]
constant %w = float32[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %b = float32[3] {1.0, 2.0, 3.0}
constant %b2 = float32[1,3] {1.0, 2.0, 3.0}
constant %b3 = float32[1,1,3] {1.0, 2.0, 3.0}
constant %c = float32[2] {1.0, 2.0}
constant %two = float32[] {2.0}
%p = MatMul(%x, %w) #p
"""
KERNEL = '%y = MatMulBias<ge>(%x, %w, %b) {cube = "MatMul", epilogue = ["Add"]} #y\noutput %y'
FIRES = {
    "behind": ("%y = Add(%p, %b) #y\noutput %y", KERNEL),
    "in front": ("%y = Add(%b, %p) #y\noutput %y", KERNEL),
    "a row of rank 2": ("%y = Add(%p, %b2) #y\noutput %y", KERNEL.replace("%b", "%b2")),
    "a row at run time": ("%y = Add(%p, %row) #y\noutput %y", KERNEL.replace("%b", "%row")),
    "a Sum of two": ("%y = Sum(%p, %b) #y\noutput %y", KERNEL.replace("Add", "Sum")),
    "a Gemm without bias": (
        "%g = Gemm(%x, %w) #g\n%y = Add(%g, %b) #y\noutput %y\noutput %p",
        "%p = MatMul(%x, %w) #p\n%y = MatMulBias<ge>(%x, %w, %b) "
        '{cube = "Gemm", epilogue = ["Add"]} #y\noutput %y\noutput %p',
    ),
}
MISSES = {
    "not_a_row": (
        "%y = Add(%p, %two) #y\noutput %y",
        ("two", "two is float32[], not one number for each column of p (float32[n,3])"),
    ),
    "residual": (
        "%y = Add(%p, %r) #y\noutput %y",
        ("r", "r is computed at run time and no single row: a residual, not a bias"),
    ),
    "column": (
        "constant %m = float32[3,2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}\n%q = MatMul(%m, %c) #q\n"
        "%y = Add(%q, %b) #y\noutput %y\noutput %p",
        ("c", "c is a vector, so q is a column, and has no bias along its rows"),
    ),
    "widened": (
        "%y = Add(%p, %b3) #y\noutput %y",
        ("b3", "adding b3 (float32[1,1,3]) makes float32[1,n,3] of the product's float32[n,3]"),
    ),
    "other_user": (
        "%y = Add(%p, %b) #y\n%z = Relu(%p) #z\noutput %y\noutput %z",
        ("z", "p, which p makes, is also used by z (Relu)"),
    ),
    "is_result": (
        "%y = Add(%p, %b) #y\noutput %y\noutput %p",
        ("p", "p, which p (MatMul) makes, is a result of the graph"),
    ),
    "in_between": (
        "%q = Identity(%p) #q\n%y = Add(%q, %b) #y\noutput %y",
        ("q", "q (Identity) stands between p (MatMul) and y (Add)"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(MatMulBias, HEAD + model, nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(MatMulBias, HEAD + model, code, *said)


def test_a_sum_of_three_is_more_than_a_bias():
    assert run(MatMulBias, HEAD + "%y = Sum(%p, %b, %b2) #y\noutput %y").rewrites == ()


def test_a_product_on_another_engine():
    model = (HEAD + "%y = Add(%p, %b) #y\noutput %y").replace("float32", "float64")
    check_miss(MatMulBias, model, "engine", "y", "y (Add) runs on the AI CPU, not on the AI Core like the rest")


@pytest.mark.parametrize(
    ("model", "count", "numbers"),
    [
        ("bert-base:small=true", 12, True),
        ("qwen2.5-7b:small=true", 6, True),
        ("corpus/exports/bert.onnx", 72, True),
        ("corpus/traps/matmul_add_outer.onnx", 0, False),
        ("corpus/traps/matmul_add_reused.onnx", 0, True),
    ],
)
def test_how_often(model, count, numbers):
    check_count(model, {"matmul_bias": count}, numbers=numbers)
