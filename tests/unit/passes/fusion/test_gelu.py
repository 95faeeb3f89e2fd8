"""GELU with the error function, in every way to write its half; the form with tanh is another rule's."""

import pytest

from gexplorer.passes.fusion.rules.gelu import Gelu
from gexplorer.passes.fusion.rules.gelu_tanh import GeluTanh
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run
from tests.unit.passes.fusion import test_gelu_tanh

HEAD = """
input %x : float32[2,n]
constant %root = float32[] {1.4142135}
constant %inverse = float32[] {0.70710677}
constant %one = float32[] {1.0}
constant %half = float32[] {0.5}
constant %two = float32[] {2.0}
"""
ERF = "%d = Div(%x, %root) #d\n%e = Erf(%d) #e\n"
FORMS = {
    "half of x": ERF + "%a = Add(%e, %one) #a\n%h = Mul(%x, %half) #h\n%y = Mul(%h, %a) #y\n",
    "half of the product": ERF + "%a = Add(%one, %e) #a\n%h = Mul(%a, %x) #h\n%y = Mul(%half, %h) #y\n",
    "half of the gate": ERF + "%a = Add(%e, %one) #a\n%h = Mul(%a, %half) #h\n%y = Mul(%x, %h) #y\n",
    "half before the sum": ERF + "%a = Mul(%e, %half) #a\n%h = Add(%a, %half) #h\n%y = Mul(%x, %h) #y\n",
    "product by two": ERF + "%a = Add(%e, %one) #a\n%h = Mul(%x, %a) #h\n%y = Div(%h, %two) #y\n",
    "x by two": ERF + "%a = Add(%e, %one) #a\n%h = Div(%x, %two) #h\n%y = Mul(%a, %h) #y\n",
    "Mul by the inverse root": ERF.replace("Div(%x, %root)", "Mul(%inverse, %x)")
    + "%a = Add(%e, %one) #a\n%h = Mul(%x, %half) #h\n%y = Mul(%h, %a) #y\n",
}
KERNEL = '%y = Gelu<ge>(%x) {approximate = "none"} #y\noutput %y'


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form(form):
    check_kernels(Gelu, HEAD + form + "output %y", KERNEL)


def test_a_root_of_six_digits_and_one_of_half_precision():
    check_kernels(Gelu, HEAD.replace("1.4142135", "1.41421") + FORMS["half of x"] + "output %y", KERNEL)
    check_kernels(
        Gelu,
        HEAD.replace("float32", "float16").replace("1.4142135", "1.414") + FORMS["half of x"] + "output %y",
        KERNEL,
    )


FORM = FORMS["half of x"]
MISSES = {
    "constant_value": (
        HEAD.replace("1.4142135", "1.5") + FORM + "output %y",
        ("root", "the constant root that d (Div) reads is not √2"),
    ),
    "constant_value of the half": (
        HEAD.replace("{0.5}", "{0.25}") + FORM + "output %y",
        ("half", "the constant half that h (Mul) reads is not 0.5"),
    ),
    "not_constant": (
        HEAD.replace("constant %root = float32[] {1.4142135}", "input %root : float32[]") + FORM + "output %y",
        ("root", "d (Div) reads root, which is computed at run time; √2 is needed"),
    ),
    "different_values": (
        HEAD + "input %z : float32[2,n]\n" + FORM.replace("Mul(%x", "Mul(%z") + "output %y",
        ("z", "x and z would have to be the same value (x)"),
    ),
    "other_user": (
        HEAD + FORM + "%n = Neg(%e) #n\noutput %n\noutput %y",
        ("n", "e, which e makes, is also used by n (Neg)"),
    ),
    "is_result": (HEAD + FORM + "output %y\noutput %d", ("d", "d, which d (Div) makes, is a result of the graph")),
    "in_between": (
        HEAD + FORM.replace("Add(%e", "Add(%i").replace("%a =", "%i = Identity(%e) #i\n%a =") + "output %y",
        ("i", "i (Identity) stands between e (Erf) and a (Add)"),
    ),
    "shape": (
        HEAD.replace("half = float32[]", "half = float32[1,1,1]") + FORM + "output %y",
        ("x", "x is float32[2,n] and the result float32[1,2,n]: a constant of y may widen it"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(Gelu, model, code, *said)


def test_the_other_form_is_left_alone_in_silence():

    for form in test_gelu_tanh.FORMS.values():
        step = run(Gelu, test_gelu_tanh.HEAD + form + "output %y")
        assert (step.rewrites, step.rejects) == ((), ())
    step = run(GeluTanh, HEAD + FORM + "output %y")
    assert (step.rewrites, step.rejects) == ((), ())


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("gelu", {"gelu": 1, "gelu_tanh": 0}),
        ("gelu_format2_0", {"gelu": 1, "gelu_tanh": 0}),
        ("gelu_format2_1_use_graph_input", {"gelu": 1, "gelu_tanh": 0}),
        ("gelu_format2_0_with_bias_use_graph_output", {"gelu": 0, "gelu_tanh": 0}),
        ("gelu_opset20", {"gelu": 1, "gelu_tanh": 0}),
        ("bias_gelu_fusion", {"gelu": 1, "gelu_tanh": 0}),
        ("fast_gelu", {"gelu": 0, "gelu_tanh": 1}),
        ("fast_gelu_with_bias", {"gelu": 0, "gelu_tanh": 1}),
        ("fast_gelu2_with_bias", {"gelu": 0, "gelu_tanh": 1}),
        ("fast_gelu3_with_casts", {"gelu": 0, "gelu_tanh": 1}),
    ],
)
def test_the_models_of_onnxruntime(name, counts):
    check_count(f"data/ort_fusion/fusion/{name}.onnx", counts, numbers=True)


def test_the_trap_that_mixes_the_forms_up():
    check_count("corpus/traps/gelu_tanh_vs_erf.onnx", {"gelu": 1, "gelu_tanh": 0}, numbers=True)


def test_mixed_forms_are_neither():
    for rule in (Gelu, GeluTanh):
        assert run(rule, HEAD + FORM.replace("Erf", "Tanh") + "output %y").rewrites == ()
        mixed = test_gelu_tanh.HEAD + test_gelu_tanh.FORM.replace("Tanh", "Erf") + "output %y"
        assert run(rule, mixed).rewrites == ()
