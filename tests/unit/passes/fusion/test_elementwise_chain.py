"""Runs of vector operators: what they take in, and where they end."""

from textwrap import dedent

import pytest

from gexplorer.passes.fusion.rules.elementwise_chain import ElementwiseChain
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[n,4]
input %r : float32[4]
input %u : float32[1,1]
input %i : int64[4]
constant %w = float32[4,4] {1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0}
constant %last = int64[1] {-1}
constant %axes = int64[2] {4, -1}
"""
FIRES = {
    "a chain": ("%a = Neg(%x) #a\n%b = Exp(%a) #b\n%y = Tanh(%b) #y", "%y = ElementwiseChain<ge>(%x) #y\noutput %y"),
    "a region with several inputs": (
        "%a = Add(%x, %r) #a\n%b = Exp(%a) #b\n%c = Mul(%a, %x) #c\n%y = Add(%b, %c) #y",
        "%y = ElementwiseChain<ge>(%x, %r) #y\noutput %y",
    ),
    "a reduction that ends it": (
        "%a = Mul(%x, %x) #a\n%y = ReduceSum(%a, %last) #y",
        "%y = ElementwiseChain<ge>(%x) #y\noutput %y",
    ),
    "a single number": (
        "%a = Sqrt(%u) #a\n%y = Mul(%x, %a) #y",
        "%y = ElementwiseChain<ge>(%u, %x) #y\noutput %y",
    ),
    "two, on both sides of a value that others use": (
        "%a = Neg(%x) #a\n%b = Exp(%a) #b\n%c = Abs(%b) #c\n%y = Sin(%c) #y\n%z = MatMul(%b, %w) #z\noutput %z",
        "%b = ElementwiseChain<ge>(%x) #b\n%y = ElementwiseChain<ge>(%b) #y\n"
        "%z = MatMul(%b, %w) #z\noutput %z\noutput %y",
    ),
    "none across a cube kernel": (
        "%a = Neg(%x) #a\n%b = Exp(%a) #b\n%m = MatMul(%b, %w) #m\n%c = Abs(%m) #c\n%y = Sin(%c) #y",
        "%b = ElementwiseChain<ge>(%x) #b\n%m = MatMul(%b, %w) #m\n%y = ElementwiseChain<ge>(%m) #y\noutput %y",
    ),
    "none that leaves the region and comes back": (
        "%a = Neg(%x) #a\n%b = Exp(%a) #b\n%m = MatMul(%b, %w) #m\n%c = Mul(%b, %m) #c\n%y = Sin(%c) #y",
        "%b = ElementwiseChain<ge>(%x) #b\n%m = MatMul(%b, %w) #m\n%y = ElementwiseChain<ge>(%b, %m) #y\noutput %y",
    ),
}
MISSES = {
    "other_user": (
        "%a = Neg(%x) #a\n%y = Exp(%a) #y\n%z = MatMul(%a, %w) #z\noutput %z",
        ("z", "a, which a makes, is also used by z (MatMul)"),
    ),
    "is_result": (
        "%a = Neg(%x) #a\n%y = Exp(%a) #y\noutput %a",
        ("a", "a, which a (Neg) makes, is a result of the graph"),
    ),
    "broadcast": (
        "%a = Neg(%r) #a\n%y = Add(%x, %a) #y",
        ("a", "a makes float32[4], which y broadcasts to float32[n,4]: each tile would compute it again"),
    ),
    "view": (
        "%a = Neg(%x) #a\n%b = Reshape(%a, %axes) #b\n%y = Exp(%b) #y",
        ("b", "b (Reshape) stands between a and y"),
    ),
}
STAYS = {
    "what runs on another engine": "input %d : float64[4]\n%a = Neg(%d) #a\n%y = Exp(%a) #y\noutput %y",
    "arithmetic on shapes": "%s = Shape(%x) #s\n%a = Neg(%s) #a\n%y = Neg(%a) #y\noutput %y",
    "what moves data": "%a = Transpose(%x) #a\n%y = Neg(%a) #y\noutput %y",
    "a reduction over axes unknown": "%a = Neg(%x) #a\n%y = ReduceSum(%a, %i) #y\noutput %y",
    "a branch": """
        input %k : bool[]
        %a = Neg(%x) #a
        %y = If(%k) #if
          else_branch = graph else
            output %a
          then_branch = graph then
            %t = Exp(%a) #t
            output %t
        output %y
        """,
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(ElementwiseChain, HEAD + model + "\noutput %y", nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(ElementwiseChain, HEAD + model + "\noutput %y", code, *said)


@pytest.mark.parametrize("model", STAYS.values(), ids=STAYS)
def test_stays(model):
    step = run(ElementwiseChain, dedent(HEAD) + dedent(model))
    assert step.rewrites == ()


def test_dimensions_that_nobody_knows_may_differ():
    assert run(ElementwiseChain, "input %x : float32[*]\n%a = Neg(%x) #a\n%y = Exp(%a) #y\noutput %y").rewrites == ()


@pytest.mark.parametrize(
    ("model", "count"), [("bert-base:small=true", 10), ("qwen2.5-7b:small=true", 26), ("corpus/exports/bert.onnx", 51)]
)
def test_how_often_it_fires_alone(model, count):
    check_count(model, {"elementwise_chain": count}, numbers=True)
