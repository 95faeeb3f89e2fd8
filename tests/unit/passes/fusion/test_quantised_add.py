"""Arithmetic on bytes: residual connections of quantised networks."""

import pytest

from gexplorer.passes.fusion.rules.quantised_add import QuantisedAdd
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : int8[2,n]
input %z : int8[2,n]
input %single : int8[1]
input %row : int8[n]
constant %s = float32[] {0.5}
constant %t = float32[] {0.25}
constant %q = float32[] {0.75}
constant %zero = int8[] {3}
%a = DequantizeLinear(%x, %s, %zero) #a
%b = DequantizeLinear(%z, %t) #b
"""
OUT = "%y = QuantizeLinear(%r, %q, %zero) #y\noutput %y"
FIRES = {
    "Add": ("%r = Add(%a, %b) #r\n", "QuantAdd<ge>(%x, %z)"),
    "Mul": ("%r = Mul(%b, %a) #r\n", "QuantMul<ge>(%z, %x)"),
    "with its activation": ("%p = Sub(%a, %b) #p\n%r = Relu(%p) #r\n", "QuantSub<ge>(%x, %z)"),
}


@pytest.mark.parametrize(("model", "node"), FIRES.values(), ids=FIRES)
def test_fires(model, node):
    check_kernels(QuantisedAdd, HEAD + model + OUT, f"%y = {node} #y\noutput %y")


def test_operands_that_others_read():
    model = HEAD + "%r = Add(%a, %b) #r\n%w = Neg(%a) #w\noutput %w\n" + OUT
    nodes = (
        "%a = DequantizeLinear(%x, %s, %zero) #a\n%w = Neg(%a) #w\n%y = QuantAdd<ge>(%x, %z) #y\noutput %w\noutput %y"
    )
    check_kernels(QuantisedAdd, model, nodes)


MISSES = {
    "widens": (
        "%c = DequantizeLinear(%row, %t) #c\n%r = Add(%a, %c) #r\n",
        ("r", "r makes int8[2,n] of int8[2,n] and int8[n]: each tile would widen the smaller one again"),
    ),
    "other_user": (
        "%r = Add(%a, %b) #r\n%w = Neg(%r) #w\noutput %w\n",
        ("w", "r, which r makes, is also used by w (Neg)"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(QuantisedAdd, HEAD + model + OUT, code, *said)


def test_a_single_number_widens_nothing():
    model = HEAD.replace("(%z, %t)", "(%single, %t)") + "%r = Add(%a, %b) #r\n" + OUT
    check_kernels(QuantisedAdd, model, "%y = QuantAdd<ge>(%x, %single) #y\noutput %y")


def test_a_tensor_with_itself():
    model = HEAD.replace("%b =", "%b2 =") + "%r = Add(%a, %a) #r\noutput %b2\n" + OUT
    nodes = "%b2 = DequantizeLinear(%z, %t) #b\n%y = QuantAdd<ge>(%x) #y\noutput %b2\noutput %y"
    check_kernels(QuantisedAdd, model, nodes)


def test_what_is_not_quantised_is_not_near():
    step = run(QuantisedAdd, HEAD + "input %f : float32[2,n]\n%r = Add(%a, %f) #r\n" + OUT)
    assert (step.rewrites, step.rejects) == ((), ())


def test_a_model_of_onnxruntime():
    check_count("data/ort_fusion/qdq_optimization/dup_qdq.onnx", {"quantised_add": 1}, numbers=True)
