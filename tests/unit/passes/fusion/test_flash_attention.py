"""Attention in pieces: every way in which exporters write it, and what keeps a place from being one."""

import numpy as np
import pytest

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.attention import is_causal, number_of
from gexplorer.passes.fusion.rules.flash_attention import FlashAttention
from gexplorer.passes.fusion.rules.matmul_transpose import MatMulTranspose
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import graph_of, run

HEAD = """
input %q : float32[1,2,n,4]
input %k : float32[1,2,n,4]
input %v : float32[1,2,n,4]
input %mask : float32[1,1,n,n]
input %seen : bool[1,1,n,n]
constant %half = float32[] {0.5}
constant %two = float32[1] {2.0}
constant %zero = float32[] {0.0}
constant %low = float32[] {-10000.0}
constant %kw = float32[4,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0}
"""
T = "%t = Transpose(%k) {perm = [0, 1, 3, 2]} #t\n"
S = T + "%s = MatMul(%q, %t) #s\n"
END = "%p = Softmax(%{0}) {{axis = -1}} #p\n%y = MatMul(%p, %v) #y\noutput %y"
KERNEL = "%y = FlashAttentionScore<ge>({0}) {{{1}}} #y\noutput %y"
SIZES = "head_dim = 4, heads = 2, kv_heads = 2, scale = {0}"
PLAIN = KERNEL.format("%q, %k, %v", SIZES.format("1.0"))
HALF = KERNEL.format("%q, %k, %v", SIZES.format("0.5"))
MASKED = KERNEL.format("%q, %k, %v, %mask", SIZES.format("1.0"))
SEEN = KERNEL.format("%q, %k, %v, %seen", SIZES.format("1.0"))
FIRES = {
    "plain": (S + END.format("s"), PLAIN),
    "Mul behind": (S + "%a = Mul(%half, %s) #a\n" + END.format("a"), HALF),
    "Div behind": (S + "%a = Div(%s, %two) #a\n" + END.format("a"), HALF),
    "Mul on q": (T + "%a = Mul(%q, %half) #a\n%s = MatMul(%a, %t) #s\n" + END.format("s"), HALF),
    "Mul on k before the Transpose": (
        "%a = Mul(%k, %half) #a\n%t = Transpose(%a) {perm = [0, 1, 3, 2]} #t\n%s = MatMul(%q, %t) #s\n"
        + END.format("s"),
        HALF,
    ),
    "root on both": (
        T + "%r = Sqrt(%half) #r\n%a = Mul(%q, %r) #a\n%b = Mul(%t, %r) #b\n%s = MatMul(%a, %b) #s\n" + END.format("s"),
        HALF.replace("0.5", "0.5000000000000001"),
    ),
    "Add": (S + "%a = Add(%mask, %s) #a\n" + END.format("a"), MASKED),
    "Where": (S + "%a = Where(%seen, %s, %low) #a\n" + END.format("a"), SEEN),
    "Where the other way": (S + "%a = Where(%seen, %low, %s) #a\n" + END.format("a"), SEEN),
    "Where, Max, scale, Add": (
        S
        + "%a = Div(%s, %two) #a\n%b = Where(%seen, %a, %low) #b\n%c = Add(%b, %mask) #c\n%d = Max(%c, %low) #d\n"
        + END.format("d"),
        KERNEL.format("%q, %k, %v, %seen, %mask", SIZES.format("0.5")),
    ),
    "guard": (
        S + "%p = Softmax(%s) {axis = 3} #p\n%n = IsNaN(%p) #n\n%g = Where(%n, %zero, %p) #g\n%y = MatMul(%g, %v) #y\n"
        "output %y",
        PLAIN,
    ),
    "in the layout of a linear layer": (
        """
        input %x : float32[1,n,8]
        constant %split = int64[4] {0, 0, 2, 4}
        constant %join = int64[3] {0, 0, 8}
        %a = Reshape(%x, %split) #a
        %t = Transpose(%a) {perm = [0, 2, 3, 1]} #t
        %s = MatMul(%q, %t) #s
        %p = Softmax(%s) {axis = -1} #p
        %o = MatMul(%p, %v) #o
        %b = Transpose(%o) {perm = [0, 2, 1, 3]} #b
        %y = Reshape(%b, %join) #y
        output %y
        """,
        "%y = FlashAttentionScore<ge>(%q, %x, %v) {" + SIZES.format("1.0") + "} #o\noutput %y",
    ),
    "shape read for the layout": (
        """
        constant %three = int64[] {3}
        constant %two_ = int64[] {2}
        constant %minus = int64[1] {-1}
        constant %o = int64[1] {0}
        constant %f = int64[1] {4}
        constant %front = int64[2] {1, 2}
        %z = Shape(%k) #z
        %l = Gather(%z, %two_) #l
        %u = Unsqueeze(%l, %o) #u
        %c = Concat(%minus, %u, %f) {axis = 0} #c
        %a = Reshape(%k, %c) #a
        %b = Transpose(%a) {perm = [0, 2, 1]} #b
        %d = Concat(%front, %f, %u) {axis = 0} #d
        %t = Reshape(%b, %d) #t
        %s = MatMul(%q, %t) #s
        """
        + END.format("s"),
        PLAIN,
    ),
}
CACHED = """
input %q : float16[1,4,1,4]
input %old : float16[1,2,7,4]
input %new : float16[1,2,1,4]
input %v : float16[1,2,8,4]
constant %axis = int64[1] {2}
constant %wide = int64[5] {1, 2, 2, 8, 4}
constant %heads = int64[4] {1, 4, 8, 4}
%k = Concat(%old, %new) {axis = 2} #k
%a = Unsqueeze(%k, %axis) #a
%b = Expand(%a, %wide) #b
%c = Reshape(%b, %heads) #c
%d = Unsqueeze(%v, %axis) #d
%e = Expand(%d, %wide) #e
%f = Reshape(%e, %heads) #f
%t = Transpose(%c) {perm = [0, 1, 3, 2]} #t
%s = MatMul(%q, %t) #s
%w = Cast(%s) {to = 1} #w
%p = Softmax(%w) {axis = -1} #p
%h = Cast(%p) {to = 10} #h
%y = MatMul(%h, %f) #y
output %y
output %k
"""
MISSES = {
    "axis": (
        S + "%p = Softmax(%s) {axis = 2} #p\n%y = MatMul(%p, %v) #y\noutput %y",
        "p",
        "p is taken over axis 2, not over the keys, which are the last",
    ),
    "guard": (
        S + "%p = Softmax(%s) {axis = -1} #p\n%n = IsNaN(%s) #n\n%g = Where(%n, %zero, %p) #g\n"
        "%y = MatMul(%g, %v) #y\noutput %y",
        "g",
        "g looks for NaN in s, not in the weights that it guards",
    ),
    "constant": (
        "%s = MatMul(%q, %kw) #s\n%p = Softmax(%s) {axis = -1} #p\n%y = MatMul(%p, %w) #y\noutput %y",
        "kw",
        "kw is a constant: s is a linear layer, not a product of queries and keys",
    ),
    "scale": (
        S + "%a = Mul(%s, %mask) #a\n" + END.format("a"),
        "a",
        "a (Mul) scales the scores by float32[1,1,n,n], FlashAttentionScore by one number",
    ),
    "divides": (S + "%a = Div(%half, %s) #a\n" + END.format("a"), "a", "a (Div) has the scores as its second operand"),
    "condition": (
        T + "%s = MatMul(%q, %t) #s\n%b = Cast(%s) {to = 9} #b\n%a = Where(%b, %mask, %low) #a\n" + END.format("a"),
        "a",
        "a (Where) has the scores as its condition",
    ),
    "retypes": (
        S + "%i = Cast(%s) {to = 6} #i\n%a = Cast(%i) {to = 1} #a\n" + END.format("a"),
        "i",
        "i (Cast) makes the scores int32",
    ),
    "widens": (
        S + "%a = Add(%s, %big) #a\n%p = Softmax(%a) {axis = -1} #p\n%y = MatMul(%p, %v) #y\noutput %y",
        "a",
        "a (Add) makes float32[3,1,2,n,n] of float32[1,2,n,n]: other scores than those of s",
    ),
    "itself": (
        S + "%p = Softmax(%s) {axis = -1} #p\n%y = MatMul(%p, %p) #y\noutput %y",
        "p",
        "p is made inside of the attention that reads it",
    ),
    "other_user": (
        S + "%z = Neg(%s) #z\noutput %z\n" + END.format("s"),
        "z",
        "s, which s makes, is also used by z (Neg)",
    ),
    "is_result": (S + "output %s\n" + END.format("s"), "s", "s, which s (MatMul) makes, is a result of the graph"),
    "other_operator": (
        "%s = Sub(%mask, %mask) #s\n%e = Exp(%s) #e\n%p = Softmax(%e) {axis = -1} #p\n%y = MatMul(%p, %v) #y\n"
        "output %y",
        "e",
        "p (Softmax) reads e (Exp), not MatMul",
    ),
}
EXTRA = "input %big : float32[3,1,1,n,n]\nconstant %w = float32[3,2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}\n"


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(FlashAttention, HEAD + model.replace("        ", ""), nodes)


@pytest.mark.parametrize(("code", "model", "blocker", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, blocker, said):
    check_miss(FlashAttention, HEAD + EXTRA + model, code, blocker, said)


def test_every_code_has_an_example():
    own = {"axis", "guard", "constant", "scale", "divides", "condition", "retypes", "widens", "itself"}
    assert own <= set(MISSES)
    assert own <= set(FlashAttention.messages)


def test_grouped_heads_are_read_as_they_are_and_the_cache_stays_outside():
    """Four heads of queries, two of keys; in float16, with the softmax in float32."""
    kernel = "FlashAttentionScore<ge>(%q, %k, %v) {head_dim = 4, heads = 4, kv_heads = 2, scale = 1.0} #y"
    nodes = f"%k = Concat(%old, %new) {{axis = 2}} #k\n%y = {kernel}\noutput %y\noutput %k"
    check_kernels(FlashAttention, CACHED, nodes)


def test_a_transpose_that_something_else_reads_stays_outside():
    nodes = "%t = Transpose(%k) {perm = [0, 1, 3, 2]} #t\n" + PLAIN.replace("%k, %v", "%t, %v") + "\noutput %t"
    check_kernels(FlashAttention, HEAD + S + END.format("s") + "\noutput %t", nodes)


MASKS = {
    "constant": "constant %m = float32[2,2] {0.0, -9.0, 0.0, 0.0}",
    "Trilu": "input %a : float32[3,3]\n%m = Trilu(%a) {upper = 0} #m",
    "positions": "input %a : int64[1,4]\ninput %b : int64[4,1]\n%c = LessOrEqual(%a, %b) #c\n%m = Cast(%c) {to = 1} #m",
    "positions the other way": "input %a : int64[1,4]\ninput %b : int64[4,1]\n%m = GreaterOrEqual(%b, %a) #m",
}
NOT_CAUSAL = {
    "window": "constant %m = float32[2,2] {0.0, -9.0, -9.0, 0.0}",
    "padding": "input %a : int64[1,4]\nconstant %one = int64[] {1}\n%m = GreaterOrEqual(%a, %one) #m",
    "later keys only": "input %a : int64[1,4]\ninput %b : int64[4,1]\n%m = GreaterOrEqual(%a, %b) #m",
    "input": "input %m : float32[4,4]",
}


@pytest.mark.parametrize("name", [*MASKS, *NOT_CAUSAL])
def test_causal_masks_are_known_by_how_they_are_made(name):
    graph = graph_of({**MASKS, **NOT_CAUSAL}[name] + "\noutput %m", opset=17)
    assert is_causal(Draft(graph), "m") is (True if name in MASKS else None)


def test_numbers_are_followed_through_their_making():
    text = """
    constant %d = float32[] {16.0}
    constant %z = float32[] {0.0}
    constant %one = float32[] {1.0}
    input %x : float32[]
    %a = Sqrt(%d) #a
    %b = Sqrt(%a) #b
    %c = Div(%one, %b) #c
    %e = Reciprocal(%z) #e
    %f = Mul(%b, %x) #f
    output %c
    output %e
    output %f
    """
    draft = Draft(graph_of(text))
    assert [number_of(draft, name) for name in "abcefx"] == [4.0, 2.0, 0.5, None, None, None]


def test_a_scale_that_is_not_known_is_not_told():
    model = HEAD + "input %c : float32[]\n" + S + "%a = Mul(%s, %c) #a\n" + END.format("a")
    (kernel,) = run(FlashAttention, model).after
    assert "scale" not in kernel.attributes
    assert np.array_equal(kernel.attributes["heads"], 2)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("simple-attention:small=true", 1),
        ("bert-base:small=true", 2),
        ("llama2-7b:small=true", 2),
        ("qwen2.5-7b:small=true", 2),
        ("qwen2.5-7b:small=true,mode=decode", 2),
        ("mixtral-8x7b:small=true", 2),
        ("corpus/exports/bert.onnx", 12),
        ("corpus/exports/qwen8.onnx", 8),
    ],
)
def test_every_layer_of_a_model(model, count):
    check_count(model, {"flash_attention": count}, numbers=True)


@pytest.mark.parametrize(("model", "count"), [("qwen2.5-7b", 28), ("corpus/exports/qwen28.onnx", 28)])
def test_every_layer_of_a_large_model(model, count):
    check_count(model, {"flash_attention": count})


def test_a_layout_that_something_else_reads_stays_outside():
    nodes = "%t = Transpose(%k) {perm = [0, 1, 3, 2]} #t\n%z = Neg(%t) #z\n" + PLAIN.replace("%k, %v", "%t, %v")
    check_kernels(
        FlashAttention, HEAD + S + "%z = Neg(%t) #z\n" + END.format("s") + "\noutput %z", nodes + "\noutput %z"
    )


def test_a_cast_of_the_result_for_another_engine_stays_outside():
    step = run(FlashAttention, HEAD + S + END.format("s").replace("output %y", "%z = Cast(%y) {to = 11} #z\noutput %z"))
    assert [node.op for node in step.after] == ["FlashAttentionScore", "Cast"]


def test_a_cast_for_another_engine_stays_outside():
    model = HEAD.replace("%q : float32", "%w : float64") + "%q = Cast(%w) {to = 1} #q\n" + S + END.format("s")
    step = run(FlashAttention, model)
    assert [node.op for node in step.after] == ["Cast", "FlashAttentionScore"]


PAST = """
input %q : float32[1,2,n,4]
input %past : float32[1,2,4,p]
input %new : float32[1,2,4,n]
input %v : float32[1,2,m,4]
input %cut : int64[1]
constant %table = bool[1,1,1,8] {true, false, false, false, false, false, false, false}
constant %low = float32[] {-10000.0}
constant %from = int64[1] {-2}
constant %last = int64[1] {-1}
constant %end = int64[1] {9223372036854775807}
constant %two = int64[1] {2}
constant %three = int64[1] {3}
%k = Concat(%past, %new) {axis = -1} #k
%s = MatMul(%q, %k) #s
%pl = Shape(%past) #pl
%start = Slice(%pl, %last, %end) #start
%kl = Shape(%k) #kl
%stop = Slice(%kl, %last, %end) #stop
%mask = Expand(%table, %eight) #mask
%rows = Slice(%mask, %start, %stop, %two) #rows
%seen = Slice(%rows, %zeros, %stop, %three) #seen
%a = Where(%seen, %s, %low) #a
"""


def test_a_mask_that_is_cut_to_past_and_new_tokens():
    """One row for each query, unless there are more tokens than rows; then none. It is never wider than the scores."""
    head = "constant %eight = int64[4] {1, 1, 8, 8}\nconstant %zeros = int64[1] {0}\n"
    step = run(FlashAttention, graph_of(head + PAST + END.format("a")))
    assert [node.op for node in step.after.order][-1] == "FlashAttentionScore"
    assert str(step.before.tensor("seen")) == "bool[1,1,max(0, min(8, n + p) - p),min(8, n + p)]"


def test_a_mask_that_may_be_longer_than_the_keys():
    model = HEAD.replace("%mask : float32[1,1,n,n]", "%mask : float32[1,1,n,m]") + S + "%a = Add(%s, %mask) #a\n"
    said = "a (Add) makes float32[1,2,n,?] of float32[1,2,n,n]: other scores than those of s"
    check_miss(FlashAttention, model + END.format("a"), "widens", "a", said)


def test_queries_that_are_transposed_in_the_product():
    model = HEAD.replace("%q : float32[1,2,n,4]", "%q : float32[1,2,4,n]") + T
    model += "%u = Transpose(%q) {perm = [0, 1, 3, 2]} #u\n%s = MatMul(%u, %t) #s\n" + END.format("s")
    product = run(MatMulTranspose, graph_of(model)).after
    (node,) = run(FlashAttention, product).after.order
    assert (node.attribute("head_dim"), node.attribute("heads")) == (4, 2)
