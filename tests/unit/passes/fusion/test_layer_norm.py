"""LayerNorm from its pieces: with and without scale and bias, casts in every place, and what is none."""

import pytest

from gexplorer.passes.fusion.rules.layer_norm import LayerNorm
from gexplorer.passes.fusion.rules.rms_norm import RmsNorm
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[2,n,4]
constant %two = float32[] {2.0}
constant %eps = float32[] {0.5}
constant %gamma = float32[4] {1.0, 2.0, 3.0, 4.0}
constant %beta = float32[4] {4.0, 3.0, 2.0, 1.0}
"""
CENTRED = "%m = ReduceMean(%x) {axes = [-1]} #m\n%c = Sub(%x, %m) #c\n"
VARIANCE = "%p = Pow(%c, %two) #p\n%v = ReduceMean(%p) {axes = [-1]} #v\n%e = Add(%v, %eps) #e\n%q = Sqrt(%e) #q\n"
NORMAL = CENTRED + VARIANCE + "%h = Div(%c, %q) #h\n"
SCALE, BIAS = "%s = Mul(%gamma, %h) #s\n", "%y = Add(%s, %beta) #y\n"
KERNEL = "%y = LayerNorm<ge>(%x, %gamma, %beta) {axis = -1, epsilon = 0.5} #y\noutput %y"
# As TensorFlow's batch_normalization comes to: no division, no difference but for the variance.
INVERSE = CENTRED + VARIANCE.replace("Pow(%c, %two)", "Mul(%c, %c)") + "%i = Reciprocal(%q) #i\n"
SHIFTED = "%a = Mul(%x, %{0}) #a\n%b = Mul(%m, %{0}) #b\n"
TENSORFLOW = (
    INVERSE + "%r = Mul(%i, %gamma) #r\n" + SHIFTED.format("r") + "%d = Sub(%beta, %b) #d\n%y = Add(%a, %d) #y\n"
)


# float16, but for what the variance is computed of.
HALF = (
    HEAD.replace("float32", "float16")
    .replace("two = float16", "two = float32")
    .replace("eps = float16", "eps = float32")
)


FORMS = {
    "as it is": (HEAD + NORMAL + SCALE + BIAS + "output %y", KERNEL),
    "Mul by Reciprocal": (
        HEAD + CENTRED + VARIANCE + "%r = Reciprocal(%q) #r\n%h = Mul(%c, %r) #h\n" + SCALE + BIAS + "output %y",
        KERNEL,
    ),
    "no bias": (
        HEAD + NORMAL + SCALE + "output %s",
        "%s = LayerNorm<ge>(%x, %gamma) {axis = -1, epsilon = 0.5} #s\noutput %s",
    ),
    "no scale": (
        HEAD + NORMAL + BIAS.replace("%s", "%h") + "output %y",
        "%y = LayerNorm<ge>(%x, %beta) {axis = -1, epsilon = 0.5} #y\noutput %y",
    ),
    "neither": (HEAD + NORMAL + "output %h", "%h = LayerNorm<ge>(%x) {axis = -1, epsilon = 0.5} #h\noutput %h"),
    "two subtractions": (
        HEAD + CENTRED + "%c2 = Sub(%x, %m) #c2\n" + VARIANCE.replace("%c,", "%c2,") + "%h = Div(%c, %q) #h\n" + SCALE
        + BIAS + "output %y",
        KERNEL,
    ),
    "TensorFlow's": (HEAD + TENSORFLOW + "output %y", KERNEL),
    "TensorFlow's, no scale": (
        HEAD + INVERSE + SHIFTED.format("i") + "%d = Sub(%beta, %b) #d\n%y = Add(%d, %a) #y\noutput %y",
        KERNEL.replace("%gamma, ", ""),
    ),
    "TensorFlow's, neither": (
        HEAD + INVERSE + SHIFTED.format("i") + "%y = Sub(%a, %b) #y\noutput %y",
        KERNEL.replace(", %gamma, %beta", ""),
    ),
    "last two axes": (
        HEAD + NORMAL.replace("[-1]", "[1, 2]") + "output %h",
        "%h = LayerNorm<ge>(%x) {axis = -2, epsilon = 0.5} #h\noutput %h",
    ),
    "cast of the centred value": (
        HALF
        + CENTRED.replace("%c =", "%c0 =").replace("#c", "#c0") + "%c = Cast(%c0) {to = 1} #c\n" + VARIANCE
        + "%h0 = Div(%c, %q) #h0\n%h = Cast(%h0) {to = 10} #h\n" + SCALE + BIAS + "output %y",
        KERNEL,
    ),
    "cast in front and behind the bias": (
        HEAD.replace("x : float32", "x0 : float16") + "%x = Cast(%x0) {to = 1} #x\n" + NORMAL + SCALE + BIAS
        + "%z = Cast(%y) {to = 10} #z\noutput %z",
        KERNEL.replace("%y", "%z").replace("#y", "#z").replace("%x", "%x0"),
    ),
    "cast in front and behind the division": (
        HALF.replace("%x", "%x0")
        + "%x = Cast(%x0) {to = 1} #x\n" + NORMAL.replace("%h", "%h0").replace("#h", "#h0")
        + "%h = Cast(%h0) {to = 10} #h\n" + SCALE + BIAS + "output %y",
        KERNEL.replace("%x", "%x0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FORMS.values(), ids=FORMS)
def test_every_form(before, after):
    check_kernels(LayerNorm, before, after)


def test_the_addition_of_a_residual_stays_outside():
    model = HEAD + "input %r : float32[2,n,4]\n" + NORMAL + "%y = Add(%h, %r) #y\noutput %y"
    after = "%h = LayerNorm<ge>(%x) {axis = -1, epsilon = 0.5} #h\n%y = Add(%h, %r) #y\noutput %y"
    step = check_kernels(LayerNorm, model, after)
    said = "r is float32[2,n,4], which does not fit the axes that y normalises: [4] or fewer"
    assert [(r.code, r.blocker, step.reason(r)) for r in step.rejects] == [("row", "r", said)]


WHOLE = HEAD + NORMAL + SCALE + BIAS + "output %y"
MISSES = {
    "axes of TensorFlow's": (
        HEAD + TENSORFLOW.replace("[-1]", "[1]") + "output %y",
        ("m", "m (ReduceMean) reduces other axes than the last ones, which LayerNorm does not"),
    ),
    "other_user of TensorFlow's": (
        HEAD + TENSORFLOW + "output %y\n%n = Neg(%m) #n\noutput %n",
        ("n", "m, which m makes, is also used by n (Neg)"),
    ),
    "axes": (
        HEAD + NORMAL.replace("[-1]", "[1]") + SCALE + BIAS + "output %y",
        ("m", "m (ReduceMean) reduces other axes than the last ones, which LayerNorm does not"),
    ),
    "axes that differ": (
        HEAD + CENTRED + VARIANCE.replace("[-1]", "[1, 2]") + "%h = Div(%c, %q) #h\n" + SCALE + BIAS + "output %y",
        ("v", "v (ReduceMean) reduces other axes than the last ones, which LayerNorm does not"),
    ),
    "shape": (
        HEAD.replace("eps = float32[] {0.5}", "eps = float32[1,1,1,1] {0.5}") + NORMAL + "output %h",
        ("x", "x is float32[2,n,4] and the result float32[1,2,n,4]: a constant of h may widen it"),
    ),
    "dtype": (
        HEAD.replace("x : float32", "x0 : int32") + "%x = Cast(%x0) {to = 1} #x\n" + NORMAL + "output %h",
        ("x0", "x0 is int32[2,n,4], and LayerNorm reads floating-point numbers"),
    ),
    "other_user": (WHOLE + "\n%n = Neg(%c) #n\noutput %n", ("n", "c, which c makes, is also used by n (Neg)")),
    "is_result": (WHOLE + "\noutput %v", ("v", "v, which v (ReduceMean) makes, is a result of the graph")),
    "different_values": (
        WHOLE.replace("Sub(%x", "Sub(%w") + "\ninput %w : float32[2,n,4]",
        ("x", "w and x would have to be the same value (x)"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(" ")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    head, _, inputs = model.partition("\ninput %w")
    check_miss(LayerNorm, f"input %w{inputs}\n{head}" if inputs else model, code, *said)


def test_an_rms_norm_is_none():
    model = HEAD + VARIANCE.replace("%c", "%x") + "%h = Div(%x, %q) #h\noutput %h"
    check_kernels(RmsNorm, model, "%h = RmsNorm<ge>(%x) {axis = -1, epsilon = 0.5} #h\noutput %h")
    step = run(LayerNorm, model)
    assert (step.rewrites, step.rejects) == ((), ())


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("layer_norm", 1),
        ("layer_norm_fusion_scale_bias", 1),
        ("layer_norm_with_cast", 1),
        ("layer_norm_with_cast_2", 1),
        ("layer_norm_with_cast_3", 1),
        ("layer_norm_with_cast_4", 1),
        ("layer_norm_shared_input", 1),  # the second one is the first, once equal expressions are merged
        ("layer_norm_sub_dup", 1),
        ("simplified_layer_norm_with_casts", 0),
    ],
)
def test_the_models_of_onnxruntime(name, count):
    check_count(f"data/ort_fusion/fusion/{name}.onnx", {"layer_norm": count}, numbers=True)


def test_the_trap_with_another_axis():
    check_count("corpus/traps/layernorm_axis_not_last.onnx", {"layer_norm": 0, "rms_norm": 0})
