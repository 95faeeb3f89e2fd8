"""Mish, HardSwish and Swish from their pieces."""

import pytest

from gexplorer.passes.fusion.rules.hard_swish import HardSwish
from gexplorer.passes.fusion.rules.mish import Mish
from gexplorer.passes.fusion.rules.swish import Swish
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[2,n]
constant %zero = float32[] {0.0}
constant %one = float32[] {1.0}
constant %three = float32[] {3.0}
constant %six = float32[] {6.0}
constant %sixth = float32[] {0.16666667}
constant %beta = float32[] {1.702}
"""
CLIP = "%a = Add(%x, %three) #a\n%c = Clip(%a, %zero, %six) #c\n"
FORMS = {
    "Swish": (Swish, "%s = Sigmoid(%x) #s\n%y = Mul(%s, %x) #y\n", "Swish<ge>(%x) {scale = 1.0}"),
    "Swish with beta": (
        Swish,
        "%b = Mul(%x, %beta) #b\n%s = Sigmoid(%b) #s\n%y = Mul(%x, %s) #y\n",
        "Swish<ge>(%x) {scale = 1.7020000219345093}",
    ),
    "Mish": (Mish, "%s = Softplus(%x) #s\n%t = Tanh(%s) #t\n%y = Mul(%x, %t) #y\n", "Mish<ge>(%x)"),
    "Mish with a logarithm": (
        Mish,
        "%e = Exp(%x) #e\n%a = Add(%e, %one) #a\n%s = Log(%a) #s\n%t = Tanh(%s) #t\n%y = Mul(%t, %x) #y\n",
        "Mish<ge>(%x)",
    ),
    "HardSwish by Div": (HardSwish, CLIP + "%m = Mul(%x, %c) #m\n%y = Div(%m, %six) #y\n", "HardSwish<ge>(%x)"),
    "HardSwish by Mul": (HardSwish, CLIP + "%m = Mul(%c, %x) #m\n%y = Mul(%m, %sixth) #y\n", "HardSwish<ge>(%x)"),
    "HardSwish, line first": (HardSwish, CLIP + "%m = Div(%c, %six) #m\n%y = Mul(%m, %x) #y\n", "HardSwish<ge>(%x)"),
    "HardSwish with HardSigmoid": (
        HardSwish,
        "%h = HardSigmoid(%x) {alpha = 0.1666666716337204, beta = 0.5} #h\n%y = Mul(%x, %h) #y\n",
        "HardSwish<ge>(%x)",
    ),
    "HardSwish with Min and Relu": (
        HardSwish,
        "%a = Add(%x, %three) #a\n%r = Relu(%a) #r\n%c = Min(%r, %six) #c\n"
        "%m = Mul(%x, %c) #m\n%y = Div(%m, %six) #y\n",
        "HardSwish<ge>(%x)",
    ),
}


@pytest.mark.parametrize(("rule", "form", "kernel"), FORMS.values(), ids=FORMS)
def test_every_form(rule, form, kernel):
    check_kernels(rule, HEAD + form + "output %y", f"%y = {kernel} #y\noutput %y")


def test_a_clip_with_attributes():
    model = "input %x : float32[2]\nconstant %three = float32[] {3.0}\nconstant %six = float32[] {6.0}\n"
    form = (
        "%a = Add(%x, %three) #a\n%c = Clip(%a) {max = 6.0, min = 0.0} #c\n%m = Mul(%x, %c) #m\n%y = Div(%m, %six) #y\n"
    )
    check_kernels(HardSwish, model + form + "output %y", "%y = HardSwish<ge>(%x) #y\noutput %y", opset=10)


SWISH, MISH, HARD = (FORMS[name][1] for name in ("Swish", "Mish", "HardSwish by Div"))
BETA, SIGMOID = FORMS["Swish with beta"][1], FORMS["HardSwish with HardSigmoid"][1]
MISSES = {
    "different_values": (
        Swish,
        HEAD + "input %z : float32[2,n]\n" + SWISH.replace("(%s, %x)", "(%s, %z)") + "output %y",
        ("z", "x and z would have to be the same value (x)"),
    ),
    "other_user": (
        Swish,
        HEAD + SWISH + "%n = Neg(%s) #n\noutput %n\noutput %y",
        ("n", "s, which s makes, is also used by n (Neg)"),
    ),
    "not_constant": (
        Swish,
        HEAD.replace("constant %beta = float32[] {1.702}", "input %beta : float32[]") + BETA + "output %y",
        ("beta", "b (Mul) reads beta, which is computed at run time; one constant number is needed"),
    ),
    "shape": (
        Swish,
        HEAD.replace("beta = float32[]", "beta = float32[1,1,1]") + BETA + "output %y",
        ("x", "x is float32[2,n] and the result float32[1,2,n]: a constant of y may widen it"),
    ),
    "is_result": (
        Mish,
        HEAD + MISH + "output %y\noutput %s",
        ("s", "s, which s (Softplus) makes, is a result of the graph"),
    ),
    "constant_value": (
        HardSwish,
        HEAD.replace("six = float32[] {6.0}", "six = float32[] {5.0}") + HARD + "output %y",
        ("six", "the constant six that c (Clip) reads is not 6"),
    ),
    "attribute": (
        HardSwish,
        HEAD + SIGMOID.replace("0.1666666716337204", "0.25") + "output %y",
        ("h", "h (HardSigmoid) has alpha = 0.25"),
    ),
}


@pytest.mark.parametrize(("code", "rule", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, rule, model, said):
    check_miss(rule, model, code, *said)


def test_every_one_of_a_model():
    check_count("llama2-7b:small=true", {"swish": 2}, numbers=True)
    check_count("corpus/exports/qwen8.onnx", {"swish": 8}, numbers=True)
    check_count("qwen2.5-7b", {"swish": 28})


def test_a_relu_and_a_clip_alone_are_no_hard_swish():
    check_count("corpus/traps/relu_clip_nan.onnx", {"hard_swish": 0}, numbers=True)
