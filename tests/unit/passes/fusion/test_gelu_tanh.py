"""GELU with the hyperbolic tangent, in every way to write its polynomial."""

import pytest

from gexplorer.passes.fusion.rules.gelu_tanh import GeluTanh
from tests.fused import check_kernels, check_miss

HEAD = """
input %x : float32[2,n]
constant %three = float32[] {3.0}
constant %c = float32[] {0.044715}
constant %root = float32[] {0.7978846}
constant %one = float32[] {1.0}
constant %half = float32[] {0.5}
"""
TANH = "%t = Tanh(%i) #t\n%g = Add(%t, %one) #g\n%h = Mul(%x, %half) #h\n%y = Mul(%h, %g) #y\n"
FORMS = {
    "cube by Pow": "%p = Pow(%x, %three) #p\n%k = Mul(%p, %c) #k\n%s = Add(%x, %k) #s\n%i = Mul(%s, %root) #i\n" + TANH,
    "cube by Mul": "%q = Mul(%x, %x) #q\n%p = Mul(%q, %x) #p\n%k = Mul(%c, %p) #k\n%s = Add(%k, %x) #s\n"
    "%i = Mul(%root, %s) #i\n" + TANH,
    "x taken out": "%p = Mul(%x, %c) #p\n%q = Mul(%x, %p) #q\n%s = Add(%q, %one) #s\n%k = Mul(%x, %root) #k\n"
    "%i = Mul(%k, %s) #i\n" + TANH,
    "root last": "%q = Mul(%x, %x) #q\n%p = Mul(%q, %c) #p\n%s = Add(%one, %p) #s\n%k = Mul(%x, %s) #k\n"
    "%i = Mul(%k, %root) #i\n" + TANH,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form(form):
    check_kernels(GeluTanh, HEAD + form + "output %y", '%y = Gelu<ge>(%x) {approximate = "tanh"} #y\noutput %y')


FORM = FORMS["cube by Pow"]
MISSES = {
    "constant_value": (
        HEAD.replace("0.7978846", "0.8") + FORM + "output %y",
        ("root", "the constant root that i (Mul) reads is not √(2/π)"),
    ),
    "other_user": (
        HEAD + FORM + "%n = Neg(%t) #n\noutput %n\noutput %y",
        ("n", "t, which t makes, is also used by n (Neg)"),
    ),
    "shape": (
        HEAD.replace("half = float32[]", "half = float32[1,1,1]") + FORM + "output %y",
        ("x", "x is float32[2,n] and the result float32[1,2,n]: a constant of y may widen it"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(GeluTanh, model, code, *said)
