"""Rotary position embedding: the ways in which exporters write it."""

import pytest

from gexplorer.passes.fusion.rules.rotary_embedding import RotaryEmbedding
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[1,2,n,4]
input %cos : float32[1,1,n,4]
input %sin : float32[1,1,n,4]
input %c : float32[1,1,n,2]
input %s : float32[1,1,n,2]
input %far : float32[3,1,n,4]
constant %zero = int64[1] {0}
constant %one = int64[1] {1}
constant %two = int64[1] {2}
constant %end = int64[1] {9223372036854775807}
constant %back = int64[1] {-2}
constant %last = int64[1] {3}
"""
SLICES = "%l = Slice(%x, %zero, %two, %last) #l\n%h = Slice(%x, %two, %end, %last, %one) #h\n"
SPLIT = "%l, %h = Split(%x) {axis = -1} #lh\n"
ROTATED = "%n = Neg(%h) #n\n%r = Concat(%n, %l) {axis = -1} #r\n"
SUM = "%a = Mul(%x, %cos) #a\n%b = Mul(%r, %sin) #b\n%y = Add(%a, %b) #y\noutput %y"
HALVES = (
    "%a = Mul(%l, %c) #a\n%b = Mul(%h, %s) #b\n%d = Sub(%a, %b) #d\n%e = Mul(%h, %c) #e\n%f = Mul(%l, %s) #f\n"
    "%g = Add(%e, %f) #g\n%y = Concat(%d, %g) {axis = 3} #y\noutput %y"
)
KERNEL = "%y = RotaryPositionEmbedding<ge>(%x, %cos, %sin) #y\noutput %y"
HALF_KERNEL = "%y = RotaryPositionEmbedding<ge>(%x, %c, %s) #y\noutput %y"
FIRES = {
    "Slice": (SLICES + ROTATED + SUM, KERNEL),
    "Slice from the end": (SLICES.replace("%x, %two", "%x, %back") + ROTATED + SUM, KERNEL),
    "Split": (SPLIT + ROTATED + SUM, KERNEL),
    "operands swapped": (
        SLICES + ROTATED + "%a = Mul(%cos, %x) #a\n%b = Mul(%sin, %r) #b\n%y = Add(%b, %a) #y\noutput %y",
        KERNEL,
    ),
    "halves from Slice": (SLICES + HALVES, HALF_KERNEL),
    "halves from Split": (SPLIT + HALVES, HALF_KERNEL),
}
AROUND = """
input %w : float16[1,n,2,4]
%t = Transpose(%w) {{perm = [0, 2, 1, 3]}} #t
%u = Cast(%t) {{to = 1}} #u
%l, %h = Split(%u) {{axis = -1}} #lh
%n = Neg(%h) #n
%r = Concat(%n, %l) {{axis = -1}} #r
%a = Mul(%u, %cos) #a
%b = Mul(%r, %sin) #b
%y = Add(%a, %b) #y
%z = Cast(%y) {{to = {0}}} #z
output %z
"""
MISSES = {
    "half": (
        SLICES.replace("%x, %zero, %two", "%x, %one, %last") + ROTATED + SUM,
        "l",
        "l (Slice) does not take the first half of the last axis of x",
    ),
    "half, the second": (
        SLICES.replace("%x, %two, %end", "%x, %one, %last") + ROTATED + SUM,
        "h",
        "h (Slice) does not take the second half of the last axis of x",
    ),
    "half, every other": (
        SLICES.replace("%x, %zero, %two, %last", "%x, %zero, %end, %last, %two") + ROTATED + SUM,
        "l",
        "l (Slice) does not take the first half of the last axis of x",
    ),
    "half of both": (
        "%l = Slice(%x, %two, %end, %last) #l\n%h = Slice(%x, %zero, %two, %last) #h\n" + ROTATED + SUM,
        "l",
        "l (Slice) does not take the first half of the last axis of x",
    ),
    "half of another axis": (
        "input %x2 : float32[1,2,4,4]\n%l, %h = Split(%x2) {axis = 2} #lh\n%n = Neg(%h) #n\n"
        "%r = Concat(%n, %l) {axis = 2} #r\n%a = Mul(%x2, %k) #a\n%b = Mul(%r, %k2) #b\n%y = Add(%a, %b) #y\noutput %y",
        "lh",
        "lh (Split) does not take the first half of the last axis of x2",
    ),
    "axis": (
        "input %x2 : float32[1,1,2,2]\n%l, %h = Split(%x2) {axis = -1} #lh\n%n = Neg(%h) #n\n"
        "%r = Concat(%n, %l) {axis = 1} #r\n%a = Mul(%x2, %k) #a\n%b = Mul(%r, %k) #b\n%y = Add(%a, %b) #y\noutput %y",
        "r",
        "r joins the halves along axis 1, not the last",
    ),
    "widens": (
        SLICES + ROTATED + SUM.replace("%cos", "%far"),
        "y",
        "y is float32[3,2,n,4], but x is float32[1,2,n,4]: cos and sin widen it",
    ),
    "other_user": (
        SLICES + ROTATED + SUM + "\n%z = Abs(%r) #z\noutput %z",
        "z",
        "r, which r makes, is also used by z (Abs)",
    ),
    "different_values": (
        "input %z : float32[1,2,n,4]\n" + SLICES + ROTATED + SUM.replace("Mul(%x", "Mul(%z"),
        "x",
        "z and x would have to be the same value (x)",
    ),
}
EXTRA = "input %k : float32[]\ninput %k2 : float32[1,1,1,4]\n"


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(RotaryEmbedding, HEAD + model, nodes, opset=13)


@pytest.mark.parametrize(("code", "model", "blocker", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, blocker, said):
    check_miss(
        RotaryEmbedding, HEAD + EXTRA + model, code[:4] if code.startswith("half") else code, blocker, said, opset=13
    )


def test_layout_and_casts_come_along():
    nodes = "%z = RotaryPositionEmbedding<ge>(%w, %cos, %sin) #y\noutput %z"
    check_kernels(RotaryEmbedding, HEAD + AROUND.format(10), nodes, opset=13)


def test_a_cast_of_what_came_in_float32_stays_outside():
    nodes = "%y = RotaryPositionEmbedding<ge>(%x, %cos, %sin) #y\n%z = Cast(%y) {to = 10} #z\noutput %z"
    model = SLICES + ROTATED + SUM.replace("output %y", "%z = Cast(%y) {to = 10} #z\noutput %z")
    check_kernels(RotaryEmbedding, HEAD + model, nodes, opset=13)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("llama2-7b:small=true", 4),
        ("qwen2.5-7b:small=true", 4),
        ("qwen2.5-7b:small=true,mode=decode", 4),
        ("mixtral-8x7b:small=true", 4),
        ("corpus/exports/qwen8.onnx", 16),
    ],
)
def test_query_and_key_of_every_layer(model, count):
    check_count(model, {"rotary_embedding": count}, numbers=True)


def test_query_and_key_of_every_layer_of_a_large_model():
    check_count("corpus/exports/qwen28.onnx", {"rotary_embedding": 56})
