"""RMSNorm from its pieces: the forms that exporters write, and the look-alikes that are none."""

import pytest

from gexplorer.passes.fusion.rules.rms_norm import RmsNorm
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float16[2,n,4]
constant %two = float32[] {2.0}
constant %half = float32[] {0.5}
constant %minus = float32[] {-0.5}
constant %one = float32[] {1.0}
constant %eps = float32[] {0.5}
constant %gamma = float16[4] {1.0, 2.0, 3.0, 4.0}
constant %wide = float32[4] {1.0, 2.0, 3.0, 4.0}
%c = Cast(%x) {to = 1} #c
"""
MEAN = """
%p = Pow(%c, %two) #p
%m = ReduceMean(%p) {axes = [-1]} #m
%e = Add(%m, %eps) #e
"""
ROOTS = {
    "Mul by Reciprocal of Sqrt": "%q = Sqrt(%e) #q\n%r = Reciprocal(%q) #r\n%h = Mul(%c, %r) #h\n",
    "Div by Sqrt": "%q = Sqrt(%e) #q\n%h = Div(%c, %q) #h\n",
    "Mul by Pow": "%r = Pow(%e, %minus) #r\n%h = Mul(%r, %c) #h\n",
    "Div by Pow": "%q = Pow(%e, %half) #q\n%h = Div(%c, %q) #h\n",
    "Mul by Div of one": "%q = Sqrt(%e) #q\n%r = Div(%one, %q) #r\n%h = Mul(%c, %r) #h\n",
}
ROOT = ROOTS["Div by Sqrt"]
DOWN = "%d = Cast(%h) {to = 10} #d\n"
SCALED = "%y = Mul(%gamma, %d) #y\noutput %y"
KERNEL = "%y = RmsNorm<ge>(%x, %gamma) {axis = -1, epsilon = 0.5} #y\noutput %y"


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_every_way_to_divide_by_a_root(root):
    check_kernels(RmsNorm, HEAD + MEAN + root + DOWN + SCALED, KERNEL)


def test_a_square_that_is_a_product():
    check_kernels(RmsNorm, HEAD + MEAN.replace("Pow(%c, %two)", "Mul(%c, %c)") + ROOT + DOWN + SCALED, KERNEL)


def test_the_scale_before_the_cast_back():
    end = "%s = Mul(%h, %wide) #s\n%y = Cast(%s) {to = 10} #y\noutput %y"
    check_kernels(RmsNorm, HEAD + MEAN + ROOT + end, KERNEL.replace("gamma", "wide"))


def test_no_scale():
    check_kernels(
        RmsNorm, HEAD + MEAN + ROOT + "output %h", "%h = RmsNorm<ge>(%x) {axis = -1, epsilon = 0.5} #h\noutput %h"
    )


def test_no_scale_but_casts():
    after = "%d = RmsNorm<ge>(%x) {axis = -1, epsilon = 0.5} #d\noutput %d"
    check_kernels(RmsNorm, HEAD + MEAN + ROOT + DOWN + "output %d", after)


def test_a_scale_that_is_computed():
    model = HEAD.replace("constant %gamma = float16[4] {1.0, 2.0, 3.0, 4.0}", "input %gamma : float16[4]")
    check_kernels(RmsNorm, model + MEAN + ROOT + DOWN + SCALED, KERNEL)


def test_the_cast_in_front_has_other_users():
    after = "%c = Cast(%x) {to = 1} #c\n%n = Neg(%c) #n\n" + KERNEL.replace("#y\n", "#y\noutput %n\n")
    check_kernels(RmsNorm, HEAD + MEAN + ROOT + DOWN + "%n = Neg(%c) #n\noutput %n\n" + SCALED, after)


def test_a_cast_that_loses_digits_stays_in_front():
    model = (
        HEAD.replace("x : float16", "x : float32")
        .replace("{to = 1}", "{to = 10}")
        .replace("= float32[]", "= float16[]")
    )
    after = "%c = Cast(%x) {to = 10} #c\n" + KERNEL.replace("%x", "%c")
    check_kernels(RmsNorm, model + MEAN + ROOT + "%y = Mul(%gamma, %h) #y\noutput %y", after)


def test_axes_that_are_an_input():
    model = (
        HEAD + "constant %axes = int64[2] {1, 2}\n" + MEAN.replace("(%p) {axes = [-1]}", "(%p, %axes) {keepdims = 1}")
    )
    check_kernels(RmsNorm, model + ROOT + DOWN + SCALED, KERNEL.replace("-1", "-2"), opset=18)


@pytest.mark.parametrize(
    ("last", "gamma", "said"),
    [
        (4, "2,n,4", "gamma is float16[2,n,4], which does not fit the axes that y normalises: [4] or fewer"),
        (1, "4", "gamma is float16[4], which does not fit the axes that y normalises: [1] or fewer"),
        (4, "1,1,1,4", "gamma is float16[1,1,1,4], which does not fit the axes that y normalises: [4] or fewer"),
    ],
)
def test_a_scale_that_does_not_fit_stays_outside(last, gamma, said):
    model = HEAD.replace("constant %gamma = float16[4] {1.0, 2.0, 3.0, 4.0}", f"input %gamma : float16[{gamma}]")
    after = "%d = RmsNorm<ge>(%x) {axis = -1, epsilon = 0.5} #d\n%y = Mul(%gamma, %d) #y\noutput %y"
    step = check_kernels(
        RmsNorm, model.replace("2,n,4]\nconst", f"2,n,{last}]\nconst") + MEAN + ROOT + DOWN + SCALED, after
    )
    assert [(r.code, r.blocker, step.reason(r)) for r in step.rejects] == [("row", "gamma", said)]


MISSES = {
    "axes": (
        HEAD + MEAN.replace("[-1]", "[1]") + ROOT + DOWN + SCALED,
        ("m", "m (ReduceMean) reduces other axes than the last ones, which RmsNorm does not"),
    ),
    "axes that are not kept": (
        HEAD.replace("2,n,4", "4,4") + MEAN.replace("[-1]", "[-1], keepdims = 0") + ROOT + DOWN + SCALED,
        ("m", "m (ReduceMean) reduces other axes than the last ones, which RmsNorm does not"),
    ),
    "shape": (
        HEAD.replace("eps = float32[] {0.5}", "eps = float32[1,1,1,1] {0.5}") + MEAN + ROOT + "output %h",
        ("x", "x is float16[2,n,4] and the result float32[1,2,n,4]: a constant of h may widen it"),
    ),
    "dtype": (
        HEAD.replace("x : float16", "x : int32") + MEAN + ROOT + "output %h",
        ("x", "x is int32[2,n,4], and RmsNorm reads floating-point numbers"),
    ),
    "other_user": (
        HEAD + MEAN + ROOT + DOWN + SCALED + "\n%n = Neg(%m) #n\noutput %n",
        ("n", "m, which m makes, is also used by n (Neg)"),
    ),
    "is_result": (
        HEAD + MEAN + ROOT + DOWN + SCALED + "\noutput %e",
        ("e", "e, which e (Add) makes, is a result of the graph"),
    ),
    "in_between": (
        HEAD + MEAN.replace("%e = Add(%m,", "%i = Identity(%m) #i\n%e = Add(%i,") + ROOT + DOWN + SCALED,
        ("i", "i (Identity) stands between m (ReduceMean) and e (Add)"),
    ),
    "different_values": (
        HEAD + MEAN + "%q = Sqrt(%e) #q\n%f = Neg(%c) #f\n%h = Div(%f, %q) #h\n" + DOWN + SCALED,
        ("x", "f and x would have to be the same value (x)"),
    ),
    "constant_value": (
        HEAD.replace("two = float32[] {2.0}", "two = float32[] {3.0}") + MEAN + ROOT + DOWN + SCALED,
        ("two", "the constant two that p (Pow) reads is not 2"),
    ),
    "not_constant": (
        HEAD.replace("constant %eps = float32[] {0.5}", "input %eps : float32[]") + MEAN + ROOT + DOWN + SCALED,
        ("eps", "e (Add) reads eps, which is computed at run time; one constant number is needed"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(RmsNorm, model, code, *said)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("llama2-7b:small=true", 5),
        ("qwen2.5-7b:small=true", 5),
        ("qwen2.5-7b:small=true,mode=decode", 5),
        ("mixtral-8x7b:small=true", 5),
        ("corpus/exports/qwen8.onnx", 17),
    ],
)
def test_every_one_of_a_model(model, count):
    check_count(model, {"rms_norm": count}, numbers=True)


def test_every_one_of_the_whole_decoder():
    check_count("qwen2.5-7b", {"rms_norm": 57})
