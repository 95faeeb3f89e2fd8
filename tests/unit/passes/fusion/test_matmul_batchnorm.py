"""BatchNormalization behind a linear layer: into its weights, through what moves the columns, or not at all."""

import pytest

from gexplorer.passes.base import Limits
from gexplorer.passes.fusion.rules.matmul_batchnorm import MatMulBatchnorm
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[n,2]
input %z : float32[2,n,2]
input %late : float32[2,3]
constant %w = float32[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %wt = float32[3,2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
constant %b = float32[3] {0.5, 0.25, 1.0}
constant %g = float32[3] {1.0, -2.0, 4.0}
constant %h = float32[3] {1.0, 2.0, 3.0}
constant %m = float32[3] {0.5, 0.0, -1.0}
constant %v = float32[3] {1.0, 4.0, 0.25}
constant %shape = int64[4] {-1, 1, 1, 3}
constant %joined = int64[2] {3, -1}
"""
NORM = "%y = BatchNormalization({0}, %g, %h, %m, %v) #y\noutput %y"
GEMM = "%p = Gemm(%x, {0}, {1}) {2}#p\noutput %p as y"
FIRES = {
    "MatMul": ("%p = MatMul(%x, %w) #p\n" + NORM.format("%p"), GEMM.format("%w@0", "%p/bias@1", "")),
    "Gemm": (
        "%p = Gemm(%x, %w, %b) {alpha = 2.0, beta = 0.5} #p\n" + NORM.format("%p"),
        GEMM.format("%w@0", "%b@1", "{alpha = 2.0, beta = 0.5} "),
    ),
    "Gemm without bias": (
        "%p = Gemm(%x, %wt) {beta = 0.5, transB = 1} #p\n" + NORM.format("%p"),
        GEMM.format("%wt@0", "%p/bias@1", "{beta = 1.0, transB = 1} "),
    ),
    "through Reshape and Transpose": (
        "%p = MatMul(%x, %w) #p\n%r = Reshape(%p, %shape) #r\n%t = Transpose(%r) {perm = [0, 3, 1, 2]} #t\n"
        + NORM.format("%t"),
        "%p = Gemm(%x, %w@0, %p/bias@1) #p\n%r = Reshape(%p, %shape) #r\n"
        "%t = Transpose(%r) {perm = [0, 3, 1, 2]} #t\noutput %t as y",
    ),
    "of three axes": (
        "%p = MatMul(%z, %w) #p\n%t = Transpose(%p) {perm = [0, 2, 1]} #t\n" + NORM.format("%t"),
        "%p = MatMul(%z, %w@0) #p\n%t/Add@3 = Add(%p, %p/bias@1) #t/Add@2\n"
        "%t = Transpose(%t/Add@3) {perm = [0, 2, 1]} #t\noutput %t as y",
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(MatMulBatchnorm, HEAD + model, nodes)


MISSES = {
    "columns": (
        "%p = MatMul(%z, %w) #p\n%q = Transpose(%p) {perm = [1, 0, 2]} #q\n"
        + NORM.replace("%g, %h, %m, %v", "%g2, %g2, %g2, %g2").format("%q"),
        ("y", "y normalises along axis 1, which does not hold the columns of p"),
    ),
    "columns, joined with others": (
        "%p = MatMul(%x, %w) #p\n%r = Reshape(%p, %joined) #r\n%t = Transpose(%r) #t\n" + NORM.format("%t"),
        ("y", "y normalises along axis 1, which does not hold the columns of p"),
    ),
    "in_kernel": (
        "%p = MatMul<ge>(%x, %w) {alpha = 2.0} #p\n  body graph MatMul\n    input %in0 : float32[n,2]\n"
        "    input %in1 : float32[2,3]\n    constant %c0 = float32[] {2.0}\n    %v0 = MatMul(%in0, %in1) #n0\n"
        "    %v1 = Mul(%v0, %c0) #n1\n    output %v1\n" + NORM.format("%p"),
        ("p", "p is one kernel with the transposition or scale of its weights already"),
    ),
    "not_constant": (
        "%p = MatMul(%x, %late) #p\n" + NORM.format("%p"),
        ("late", "p (MatMul) reads late, which is computed at run time; a constant is needed"),
    ),
    "training": (
        "%p = MatMul(%x, %w) #p\n%y, %k, %l = BatchNormalization(%p, %g, %h, %m, %v) {training_mode = 1} #y\noutput %y",
        ("y", "y takes mean and variance of the batch itself"),
    ),
    "other_user": (
        "%p = MatMul(%x, %w) #p\n%q = Relu(%p) #q\noutput %q\n" + NORM.format("%p"),
        ("q", "p, which p makes, is also used by q (Relu)"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(",")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    head = HEAD + "input %g2 : float32[2]\n" if "%g2" in model else HEAD
    check_miss(MatMulBatchnorm, head + model, code, *said)


def test_limits():
    step = run(MatMulBatchnorm, HEAD + FIRES["MatMul"][0], limits=Limits(fold_read_bytes=50))
    assert [step.reason(reject) for reject in step.rejects] == [
        "computing new weights for p would read or add 72 bytes, more than the limit of 50"
    ]


@pytest.mark.parametrize("name", ["directly", "non-ignorable-node", "with-reshape"])
def test_models_of_onnxruntime(name):
    check_count(f"data/ort_fusion/fusion/fuse-matmul-bn-{name}.onnx", {"matmul_batchnorm": 1}, numbers=True)
