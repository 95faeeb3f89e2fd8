"""Softmax from its pieces."""

import pytest

from gexplorer.passes.fusion.rules.softmax import Softmax
from tests.fused import check_kernels, check_miss

HEAD = """
input %x : float32[2,n,4]
input %w : float32[4]
constant %one = float32[] {1.0}
constant %axes = int64[1] {-1}
"""
EXP = "%m = ReduceMax(%x) {axes = [-1]} #m\n%d = Sub(%x, %m) #d\n%e = Exp(%d) #e\n%s = ReduceSum(%e, %axes) #s\n"
ALONE = "%e = Exp(%x) #e\n%s = ReduceSum(%e, %axes) #s\n"
FORMS = {
    "Div": EXP + "%y = Div(%e, %s) #y\n",
    "Mul by Reciprocal": EXP + "%r = Reciprocal(%s) #r\n%y = Mul(%r, %e) #y\n",
    "without the maximum": ALONE + "%y = Div(%e, %s) #y\n",
    "without the maximum, Mul by Reciprocal": ALONE + "%r = Reciprocal(%s) #r\n%y = Mul(%r, %e) #y\n",
    "Mul by Div of one": EXP + "%r = Div(%one, %s) #r\n%y = Mul(%e, %r) #y\n",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form(form):
    check_kernels(Softmax, HEAD + form + "output %y", "%y = Softmax<ge>(%x) {axis = -1} #y\noutput %y")


def test_another_axis():
    form = FORMS["Div"].replace("[-1]", "[1]")
    after = "%y = Softmax<ge>(%x) {axis = 1} #y\noutput %y"
    check_kernels(Softmax, HEAD.replace("{-1}", "{1}") + form + "output %y", after)


FORM = FORMS["Div"]
MISSES = {
    "axes": (
        HEAD + FORM.replace("[-1]", "[1]") + "output %y",
        ("s", "s (ReduceSum) does not reduce one axis and keep it, the same one as the other reduction"),
    ),
    "axes, two": (
        HEAD.replace("int64[1] {-1}", "int64[2] {1, 2}") + FORM.replace("[-1]", "[1, 2]") + "output %y",
        ("m", "m (ReduceMax) does not reduce one axis and keep it, the same one as the other reduction"),
    ),
    "axes, unknown": (
        HEAD.replace("constant %axes = int64[1] {-1}", "input %axes : int64[1]") + FORM + "output %y",
        ("s", "s (ReduceSum) does not reduce one axis and keep it, the same one as the other reduction"),
    ),
    "other_user": (
        HEAD + FORM + "%n = Neg(%e) #n\noutput %n\noutput %y",
        ("n", "e, which e makes, is also used by n (Neg)"),
    ),
    "is_result": (
        HEAD + FORM + "output %y\noutput %s",
        ("s", "s, which s (ReduceSum) makes, is a result of the graph"),
    ),
    "sum_axes": (
        HEAD.replace("int64[1] {-1}", "int64[2] {1, 2}") + ALONE + "%y = Div(%e, %s) #y\noutput %y",
        ("s", "s (ReduceSum) does not reduce one axis and keep it"),
    ),
    "sum_axes, not kept": (
        HEAD
        + ALONE.replace("%axes)", "%axes) {keepdims = 0}").replace("%x)", "%w)")
        + "%y = Div(%e, %s) #y\noutput %y",
        ("s", "s (ReduceSum) does not reduce one axis and keep it"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(",")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(Softmax, model, code, *said)


def test_what_is_subtracted_need_not_be_the_maximum():
    """exp(x - a) over its sum is the softmax of x - a, whatever a is."""
    form = FORMS["Div"].replace("ReduceMax(%x)", "ReduceMax(%z)")
    after = "%m = ReduceMax(%z) {axes = [-1]} #m\n%d = Sub(%x, %m) #d\n%y = Softmax<ge>(%d) {axis = -1} #y\noutput %y"
    check_kernels(Softmax, "input %z : float32[2,n,4]\n" + HEAD + form + "output %y", after)
