"""SwiGLU and GeGLU."""

import pytest

from gexplorer.passes.fusion.rules.geglu import GeGlu
from gexplorer.passes.fusion.rules.swiglu import SwiGlu
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %g : float32[n,4]
input %u : float32[n,4]
input %row : float32[4]
input %x : float32[n,8]
constant %k = float32[4] {1.0, 2.0, 3.0, 4.0}
constant %zero = int64[1] {0}
constant %four = int64[1] {4}
constant %eight = int64[1] {8}
constant %two = int64[1] {2}
constant %six = int64[1] {6}
constant %one = int64[1] {1}
"""
SILU = "%s = Sigmoid(%g) #s\n%a = Mul(%g, %s) #a\n"
END = "%y = Mul(%a, %u) #y\noutput %y"
SWIGLU = {
    "in pieces": (SILU + END, "%y = SwiGlu<ge>(%g, %u) #y\noutput %y"),
    "operands swapped": (
        "%s = Sigmoid(%g) #s\n%a = Mul(%s, %g) #a\n%y = Mul(%u, %a) #y\noutput %y",
        "%y = SwiGlu<ge>(%g, %u) #y\noutput %y",
    ),
    "halves of one tensor": (
        "%g1, %u1 = Split(%x) {axis = 1} #split\n" + (SILU + END).replace("%g", "%g1").replace("%u", "%u1"),
        "%y = SwiGlu<ge>(%x) #y\noutput %y",
    ),
    "slices of one tensor": (
        "%g1 = Slice(%x, %zero, %four, %one) #g1\n%u1 = Slice(%x, %four, %eight, %one) #u1\n"
        + (SILU + END).replace("%g", "%g1").replace("%u", "%u1"),
        "%y = SwiGlu<ge>(%x) #y\noutput %y",
    ),
    "quarters of one tensor": (
        "%g1 = Slice(%x, %zero, %two, %one) #g1\n%u1 = Slice(%x, %four, %six, %one) #u1\n"
        + (SILU + END).replace("%g", "%g1").replace("%u", "%u1"),
        "%g1 = Slice(%x, %zero, %two, %one) #g1\n%u1 = Slice(%x, %four, %six, %one) #u1\n"
        "%y = SwiGlu<ge>(%g1, %u1) #y\noutput %y",
    ),
    "a half that something else reads": (
        "%g1, %u1 = Split(%x) {axis = 1} #split\n"
        + (SILU + END).replace("%g", "%g1").replace("%u", "%u1")
        + "\noutput %u1",
        "%g1, %u1 = Split(%x) {axis = 1} #split\n%y = SwiGlu<ge>(%g1, %u1) #y\noutput %y\noutput %u1",
    ),
}
MISSES = {
    "shapes": (
        SILU + END.replace("%u", "%row"),
        "row",
        "row is float32[4], but g is float32[n,4]: what gates and what is gated must be alike",
    ),
    "constant": (
        SILU + END.replace("%u", "%k"),
        "k",
        "k is a constant: y scales an activation, it gates nothing",
    ),
    "squared": (
        SILU + END.replace("%u", "%g"),
        "y",
        "g is multiplied with its own activation: y gates nothing else",
    ),
    "other_user": (
        SILU + END + "\n%z = Neg(%a) #z\noutput %z",
        "z",
        "a, which a makes, is also used by z (Neg)",
    ),
    "is_result": (SILU + END + "\noutput %a", "a", "a, which a (Mul) makes, is a result of the graph"),
}


@pytest.mark.parametrize(("model", "nodes"), SWIGLU.values(), ids=SWIGLU)
def test_swiglu(model, nodes):
    check_kernels(SwiGlu, HEAD + model, nodes, opset=13)


@pytest.mark.parametrize(("code", "model", "blocker", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_no_swiglu(code, model, blocker, said):
    check_miss(SwiGlu, HEAD + model, code, blocker, said, opset=13)


def test_geglu():
    model = HEAD + '%a = Gelu(%g) {approximate = "tanh"} #a\n' + END
    check_kernels(GeGlu, model, "%y = GeGluV2<ge>(%g, %u) #y\noutput %y", opset=20)


def test_why_no_geglu():
    said = "k is a constant: y scales an activation, it gates nothing"
    check_miss(GeGlu, HEAD + "%a = Gelu(%g) #a\n" + END.replace("%u", "%k"), "constant", "k", said, opset=20)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("llama2-7b:small=true", 2),
        ("qwen2.5-7b:small=true", 2),
        ("mixtral-8x7b:small=true", 8),
        ("corpus/exports/qwen8.onnx", 8),
    ],
)
def test_every_layer_of_a_model(model, count):
    """With SiLU put together by its own rule and without."""
    check_count(model, {"swiglu": count}, numbers=True)
    check_count(model, {"swish": count, "swiglu": count}, numbers=True)
