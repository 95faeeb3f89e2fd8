"""Constant factors of operands and products."""

import pytest

from gexplorer.passes.fusion.rules.matmul_scale import MatMulScale
from tests.fused import check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[n,2]
input %w : float32[2,3]
input %c : float32[3]
input %late : float32[]
constant %two = float32[] {2.0}
constant %four = float32[1] {4.0}
constant %none = float32[] {0.0}
constant %row = float32[3] {1.0, 2.0, 3.0}
constant %wide = float32[1,1,1] {2.0}
"""
P = "%p = MatMul(%x, %w) #p\n"
OUT = "output %y"
FIRES = {
    "the first operand": ("%s = Mul(%two, %x) #s\n%y = MatMul(%s, %w) #y\n", "MatMul<ge>(%x, %w) {alpha = 2.0}"),
    "the second operand": ("%s = Div(%w, %four) #s\n%y = MatMul(%x, %s) #y\n", "MatMul<ge>(%x, %w) {alpha = 0.25}"),
    "the product": (P + "%y = Mul(%p, %two) #y\n", "MatMul<ge>(%x, %w) {alpha = 2.0}"),
    "all of them": (
        "%s = Mul(%x, %two) #s\n%t = Div(%w, %four) #t\n%p = MatMul(%s, %t) #p\n%y = Div(%p, %four) #y\n",
        "MatMul<ge>(%x, %w) {alpha = 0.125}",
    ),
    "a Gemm": (
        "%p = Gemm(%x, %w, %c) {alpha = 3.0, beta = 0.5} #p\n%y = Mul(%p, %two) #y\n",
        "Gemm<ge>(%x, %w, %c) {alpha = 6.0}",
    ),
    "an operand of a Gemm": (
        "%s = Mul(%x, %two) #s\n%y = Gemm(%s, %w, %c) {beta = 0.5} #y\n",
        "Gemm<ge>(%x, %w, %c) {alpha = 2.0, beta = 0.5}",
    ),
}


@pytest.mark.parametrize(("model", "node"), FIRES.values(), ids=FIRES)
def test_fires(model, node):
    check_kernels(MatMulScale, HEAD + model + OUT, f"%y = {node} #y\n{OUT}")


def test_a_scaled_operand_that_products_share():
    model = HEAD + "%s = Mul(%x, %two) #s\n%y = MatMul(%s, %w) #y\n%z = Gemm(%s, %w) #z\noutput %y\noutput %z"
    nodes = "%y = MatMul<ge>(%x, %w) {alpha = 2.0} #y\n%z = Gemm<ge>(%x, %w) {alpha = 2.0} #z\noutput %y\noutput %z"
    check_kernels(MatMulScale, model, nodes)


MISSES = {
    "several": (
        P + "%y = Mul(%p, %row) #y\n",
        ("row", "row scales each column of p or each element by itself, the kernel all by one"),
    ),
    "no_scale": (
        P + "%y = Mul(%p, %none) #y\n",
        ("none", "none is 0.0, by which nothing can be scaled and scaled back"),
    ),
    "widens": (P + "%y = Mul(%p, %wide) #y\n", ("y", "y (Mul) makes another shape of what it scales")),
    "widens, an operand": (
        "%s = Mul(%x, %wide) #s\n%y = MatMul(%s, %w) #y\n",
        ("s", "s (Mul) makes another shape of what it scales"),
    ),
    "other_user": (
        "%s = Mul(%x, %two) #s\n%y = MatMul(%s, %w) #y\n%z = Relu(%s) #z\noutput %z\n",
        ("z", "s, which s makes, is also used by z (Relu)"),
    ),
    "is_result": (
        P + "%y = Mul(%p, %two) #y\noutput %p\n",
        ("p", "p, which p (MatMul) makes, is a result of the graph"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(",")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(MatMulScale, HEAD + model + OUT, code, *said)


@pytest.mark.parametrize("scale", ["Mul(%p, %late)", "Div(%two, %p)"])
def test_what_is_no_constant_factor_is_not_near(scale):
    step = run(MatMulScale, HEAD + P + f"%y = {scale} #y\n" + OUT)
    assert step.rewrites == ()
    assert step.rejects == ()
