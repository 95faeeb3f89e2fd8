"""Questions about the shape of a result that an operand answers as well."""

import pytest

from gexplorer.passes import shape_hoisting
from gexplorer.passes.base import Context
from gexplorer.passes.manager import run_passes
from gexplorer.passes.shape_hoisting import ShapeHoisting
from tests.passes import check_codes, check_rewrite, graph_of, run

HEAD = """
input %x : float32[n,4]
input %w : float32[4,m]
constant %last = int64[1] {-1}
constant %first = int64[1] {0}
constant %one = int64[] {1}
constant %end = int64[1] {9}
"""
PRODUCT = "%a = Relu(%x) #a\n%p = MatMul(%a, %w) #p\n%b = Abs(%p) #b\n%s = Shape(%b) #s\n"
KEPT = HEAD.partition("constant")[0]
HOISTED = {
    "hoisted, an elementwise result": (
        "%a = Relu(%x) #a\n%b = Abs(%a) #b\n%s = Shape(%b) #s\noutput %s\noutput %b",
        "%a = Relu(%x) #a\n%b = Abs(%a) #b\n%s = Shape(%x) #s\noutput %s\noutput %b",
    ),
    "hoisted, the columns of a product": (
        PRODUCT + "%y = Gather(%s, %one) #y\noutput %y\noutput %b",
        "%a = Relu(%x) #a\n%p = MatMul(%a, %w) #p\n%b = Abs(%p) #b\n%s/Shape@1 = Shape(%w) #s/Shape@0\n"
        "%y = Gather(%s/Shape@1, %one) #y\noutput %y\noutput %b",
    ),
    "hoisted, its rows": (
        PRODUCT + "%y = Slice(%s, %first, %last) #y\noutput %y\noutput %b",
        "%a = Relu(%x) #a\n%p = MatMul(%a, %w) #p\n%b = Abs(%p) #b\n%s/Shape@1 = Shape(%x) #s/Shape@0\n"
        "%y = Slice(%s/Shape@1, %first, %last) #y\noutput %y\noutput %b",
    ),
}


@pytest.mark.parametrize(("before", "after"), HOISTED.values(), ids=HOISTED)
def test_rewrites(before, after):
    constants = "\n".join(line for line in sorted(HEAD.splitlines()) if line.startswith("constant"))
    check_rewrite(ShapeHoisting, "hoisted", HEAD + before, f"{constants}\n{after}")


@pytest.mark.parametrize(
    "model",
    [
        "%s = Shape(%x) #s\noutput %s",
        PRODUCT.replace("%b = Abs(%p) #b\n", "").replace("(%b)", "(%p)") + "output %s\noutput %p",
        PRODUCT.replace("%b = Abs(%p) #b\n", "").replace("(%b)", "(%p)")
        + "%y = Gather(%s, %late) #y\noutput %y\noutput %p",
        "%a = Transpose(%x) #a\n%s = Shape(%a) #s\noutput %s\noutput %a",
        "%a = Expand(%v, %sizes) #a\n%s = Shape(%a) #s\noutput %s\noutput %a",
        "%a = Relu(%x) #a\n%s = Shape(%a) {start = 1} #s\noutput %s\noutput %a",
    ],
    ids=["an input", "all of a product", "any of a product", "turned", "unknown", "a part by attributes"],
)
def test_leaves_alone(model):
    head = HEAD + "input %late : int64[1]\ninput %v : float32[1,1]\ninput %sizes : int64[2]\n"
    assert run(ShapeHoisting, head + model).rewrites == ()


def test_every_code_has_an_example():
    check_codes(ShapeHoisting, {name.replace(",", " "): model for name, model in HOISTED.items()})


def test_a_long_chain_is_walked_once(monkeypatch):
    """The way up from one Shape ends where that of another came by, so the work grows with the nodes alone."""
    looked = []
    alike = shape_hoisting._alike
    monkeypatch.setattr(shape_hoisting, "_alike", lambda *given: looked.append(given[0]) or alike(*given))
    nodes = "".join(f"%v{i + 1} = Relu(%v{i}) #v{i + 1}\n%s{i} = Shape(%v{i + 1}) #s{i}\n" for i in range(50))
    graph = graph_of("input %v0 : float32[n,4]\n" + nodes + "\n".join(f"output %s{i}" for i in range(50)))
    (step,) = run_passes(graph, [ShapeHoisting], Context())
    assert {node.inputs[0] for node in step.after.order if node.op == "Shape"} == {"v0"}
    assert len(looked) == len(set(looked)) == 51
