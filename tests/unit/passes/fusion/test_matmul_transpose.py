"""Transposed operands and products: what goes into the kernel, what is written anyway, and what is no transposition."""

import pytest

from gexplorer.passes.fusion.rules.matmul_transpose import MatMulTranspose
from tests.fused import check_kernels, check_miss
from tests.passes import run

HEAD = "input %a : float32[4,m]\ninput %b : float32[n,4]\ninput %c : float32[4,n]\ninput %d : float32[m,4]\n"
A, B = "%s = Transpose(%a) #s\n", "%t = Transpose(%b) {perm = [1, 0]} #t\n"
OUT = "output %y"
FIRES = {
    "the first operand": (A + "%y = MatMul(%s, %c) #y\n", "%y = MatMul<ge>(%a, %c) {transpose_a = 1} #y"),
    "both": (A + B + "%y = MatMul(%s, %t) #y\n", "%y = MatMul<ge>(%a, %b) {transpose_a = 1, transpose_b = 1} #y"),
    "of a Gemm": (A + "%y = Gemm(%s, %c) #y\n", "%y = Gemm<ge>(%a, %c) {transpose_a = 1} #y"),
    "of a Gemm that transposes itself": (
        "%s = Transpose(%d) #s\n" + "%y = Gemm(%s, %c) {alpha = 2.0, transA = 1} #y\n",
        "%y = Gemm<ge>(%d, %c) {alpha = 2.0} #y",
    ),
    "the product of a Gemm": (
        "%p = Gemm(%d, %c) #p\n%y = Transpose(%p) #y\n",
        "%y = Gemm<ge>(%c, %d) {transpose_a = 1, transpose_b = 1} #y",
    ),
    "product and operands": (
        A + B + "%p = Gemm(%s, %t) #p\n%y = Transpose(%p) {perm = [1, 0]} #y\n",
        "%y = Gemm<ge>(%b, %a) #y",
    ),
}


@pytest.mark.parametrize(("model", "node"), FIRES.values(), ids=FIRES)
def test_fires(model, node):
    check_kernels(MatMulTranspose, HEAD + model + OUT, f"{node}\n{OUT}")


def test_a_transposed_tensor_that_products_share():
    model = HEAD + B + "%y = MatMul(%d, %t) #y\n%z = Gemm(%d, %t) #z\noutput %y\noutput %z"
    nodes = (
        "%y = MatMul<ge>(%d, %b) {transpose_b = 1} #y\n%z = Gemm<ge>(%d, %b) {transpose_b = 1} #z\noutput %y\noutput %z"
    )
    check_kernels(MatMulTranspose, model, nodes)


def test_one_operand_that_is_written_anyway():
    model = HEAD + A + B + "%y = MatMul(%s, %t) #y\noutput %y\noutput %s"
    nodes = "%s = Transpose(%a) #s\n%y = MatMul<ge>(%s, %b) {transpose_b = 1} #y\noutput %y\noutput %s"
    check_kernels(MatMulTranspose, model, nodes)


WIDE = "input %x : float32[2,n,4]\ninput %w : float32[2,4,3]\n"
MISSES = {
    "other_user": (
        HEAD + B + "%y = MatMul(%d, %t) #y\n%z = Relu(%t) #z\noutput %y\noutput %z",
        ("z", "t, which t makes, is also used by z (Relu)"),
    ),
    "other_user, as a bias": (
        "input %q : float32[3,3]\n%t = Transpose(%q) #t\n%y = Gemm(%q, %t, %t) #y\noutput %y",
        ("y", "t, which t makes, is also used by y (Gemm)"),
    ),
    "is_result": (
        HEAD + B + "%y = MatMul(%d, %t) #y\noutput %y\noutput %t",
        ("t", "t, which t (Transpose) makes, is a result of the graph"),
    ),
    "permutation": (
        "input %x : float32[3,n,2]\n%t = Transpose(%x) #t\ninput %w : float32[2,3,4]\n"
        "%y = MatMul(%t, %w) #y\noutput %y",
        ("t", "t reverses all axes of x, not just the last two"),
    ),
    "dtype": (
        "input %x : int32[3,n]\ninput %w : int32[3,4]\n%t = Transpose(%x) #t\n%y = MatMul(%t, %w) #y\noutput %y",
        ("y", "y makes int32[n,4], and the kernel multiplies floating-point numbers"),
    ),
    "bias": (
        HEAD + "input %e : float32[n]\n%p = Gemm(%d, %c, %e) #p\n%y = Transpose(%p) #y\noutput %y",
        ("e", "p adds e, which would have to be transposed like the product"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(",")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(MatMulTranspose, model, code, *said)


def test_a_product_of_more_axes_is_not_turned():
    model = WIDE + "%p = MatMul(%x, %w) #p\n%y = Transpose(%p) {perm = [0, 2, 1]} #y\noutput %y"
    step = run(MatMulTranspose, model)
    assert step.rewrites == ()
    assert step.rejects == ()
