"""The residual in the epilogue of a MatMul."""

import pytest

from gexplorer.passes.fusion.rules.matmul_residual import MatMulResidual
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[n,2]
input %r : float32[n,3]
input %s : float32[1,3]
input %u : float32[?,3]
constant %w = float32[2,3] {1.0, -2.0, 3.0, 4.0, -5.0, 6.0}
%p = MatMul(%x, %w) #p
"""
KERNEL = '%y = MatMulResidual<ge>({0}) {{cube = "MatMul", epilogue = ["Add"]}} #y\noutput %y'
FIRES = {
    "behind": ("%y = Add(%p, %r) #y\noutput %y", KERNEL.format("%x, %w, %r")),
    "in front": ("%y = Add(%r, %p) #y\noutput %y", KERNEL.format("%x, %w, %r")),
    "a Sum of two": ("%y = Sum(%r, %p) #y\noutput %y", KERNEL.format("%x, %w, %r").replace("Add", "Sum")),
    "of two products": (
        "%q = MatMul(%x, %w) #q\n%y = Add(%q, %p) #y\noutput %y",
        "%p = MatMul(%x, %w) #p\n" + KERNEL.format("%x, %w, %p"),
    ),
}
MISSES = {
    "shapes": (
        "%y = Add(%p, %s) #y\noutput %y",
        ("s", "s is float32[1,3], p is float32[n,3]: not certainly the same shape"),
    ),
    "shapes of unknown size": (
        "%y = Add(%p, %u) #y\noutput %y",
        ("u", "u is float32[u_d0,3], p is float32[n,3]: not certainly the same shape"),
    ),
    "shapes that depend on the data": (
        "%z = NonZero(%x) #z\n%t = Transpose(%z) #t\n%f = Cast(%t) {to = 1} #f\n%q = MatMul(%f, %w) #q\n"
        "%o = Sin(%q) #o\n%e = MatMul(%f, %w) #e\n%y = Add(%e, %o) #y\noutput %y\noutput %p",
        ("o", "o is float32[?,3], e is float32[?,3]: not certainly the same shape"),
    ),
    "is_result": (
        "%y = Add(%p, %r) #y\noutput %y\noutput %p",
        ("p", "p, which p (MatMul) makes, is a result of the graph"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(MatMulResidual, HEAD + model, nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(MatMulResidual, HEAD + model, code, *said)


def test_every_residual_of_a_decoder():
    check_count("qwen2.5-7b:small=true", {"matmul_bias": 6, "matmul_residual": 4}, numbers=True)
