import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from immutables import Map

from gexplorer.errors import VerifyError
from gexplorer.ir.constant import ArraySource, Constant, FileSource
from gexplorer.ir.draft import Change, Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Graph, Ints, Node, Strings, Value, make_graph
from gexplorer.ir.text import from_text
from gexplorer.ir.types import SequenceType, TensorType
from gexplorer.ir.verify import verify, verify_changes

VALID = """\
graph main opset(17)
  input %x : float32[2] default float32[2] {0.0, 0.0}
  input %c : bool[]
  constant %w = float32[2] {1.0, 2.0}
  %y : float32[2] = Add(%x, %w) {axis = 1} #add
  %z = If(%c) #if
    then_branch = graph then
      %t = Relu(%y) #relu
      output %t
  %k : float32[2] = Fused(%y, _) #fused
    body graph body
      input %i : float32[2]
      input %j
      %o : float32[2] = Neg(%i) #neg
      output %o
  output %z
  output %k
"""


@pytest.fixture
def graph() -> Graph:
    made = from_text(VALID)
    verify(made)
    return made


def node(graph: Graph, name: str, **fields) -> Graph:
    """The graph with a node's fields changed, and with all indexes as they should be."""
    nodes = dict(graph.nodes)
    nodes[name] = replace(nodes[name], **fields)
    return remade(graph, nodes=nodes)


def value(graph: Graph, name: str, **fields) -> Graph:
    return replace(graph, values=graph.values.set(name, replace(graph.values[name], **fields)))


def remade(graph: Graph, *, nodes=None, values=None) -> Graph:
    nodes = graph.nodes if nodes is None else nodes
    values = dict(graph.values if values is None else values)
    return make_graph(
        graph.name,
        inputs=[values.pop(name) for name in graph.inputs],
        nodes=nodes.values(),
        values=values.values(),
        outputs=graph.outputs,
        opsets=graph.opsets,
        defaults=graph.defaults,
    )


def branch(graph: Graph, text: str) -> Graph:
    return node(graph, "if", attributes=Map(then_branch=from_text(text)))


def body(graph: Graph, text: str) -> Graph:
    return node(graph, "fused", body=from_text(text))


TWICE = Node("twice", "Relu", ("x",), ("y",))
FILE = FileSource(Path("w"), "w", 0, 12, DType.FLOAT32, (2,), available=False)
BROKEN = {
    "defined twice": (
        lambda g: remade(g, nodes={**g.nodes, "twice": TWICE}),
        ("twice", "makes y, which node add makes too"),
    ),
    "node makes an input": (
        lambda g: node(g, "add", outputs=("y", "x")),
        ("add", "makes x, which is an input or a constant"),
    ),
    "output is no value": (
        lambda g: node(g, "add", outputs=("y", "q")),
        ("add", "makes q, which is not a value of the graph"),
    ),
    "output named twice": (lambda g: node(g, "add", outputs=("y", "y")), ("add", "makes y twice")),
    "producer without the output": (
        lambda g: value(g, "y", producer="if"),
        ("y", "is not among the outputs of its producer if"),
    ),
    "producer that is not there": (
        lambda g: value(g, "y", producer="gone"),
        ("y", "its producer gone does not exist"),
    ),
    "made and an input": (
        lambda g: replace(g, inputs=("x", "c", "y")),
        ("y", "is made by add, but is an input too"),
    ),
    "made and a constant": (
        lambda g: value(g, "y", constant=g.values["w"].constant),
        ("y", "is made by add, but is a constant too"),
    ),
    "constant and an input": (
        lambda g: replace(g, inputs=("x", "c", "w")),
        ("w", "is an input and a constant"),
    ),
    "value from nowhere": (
        lambda g: replace(g, values=g.values.set("q", Value("q"))),
        ("q", "is neither an input nor a constant, and no node makes it"),
    ),
    "dangling use": (
        lambda g: node(g, "add", inputs=("x", "q")),
        ("add", "uses q, which nothing defines"),
    ),
    "dangling capture": (
        lambda g: branch(g, "graph b\n  %t = Relu(%q) #r\n  output %t"),
        ("r", "uses q, which nothing defines (in graph b of node if)"),
    ),
    "dangling result of a branch": (
        lambda g: branch(g, "graph b\n  output %q"),
        ("q", "is a result of the graph, but nothing defines it (in graph b of node if)"),
    ),
    "dangling result": (
        lambda g: replace(g, outputs=("z", "q")),
        ("q", "is a result of the graph, but nothing defines it"),
    ),
    "input that is no value": (
        lambda g: replace(g, inputs=("x", "c", "q")),
        ("q", "is an input, but not a value of the graph"),
    ),
    "input twice": (lambda g: replace(g, inputs=("x", "c", "x")), ("x", "is an input twice")),
    "default of no input": (
        lambda g: replace(g, defaults=Map(y=g.values["w"].constant)),
        ("y", "has a default, but is not an input"),
    ),
    "default of another type": (
        lambda g: replace(g, defaults=Map(c=g.values["w"].constant)),
        ("c", "has a default of type float32, but is bool[]"),
    ),
    "shadowing": (
        lambda g: branch(g, "graph b\n  %x = Relu(%y) #r\n  output %x"),
        ("x", "has the name of a value of a graph around (in graph b of node if)"),
    ),
    "cycle": (
        lambda g: node(g, "add", inputs=("x", "z")),
        ("add", "is part of a cycle: add -> if -> add"),
    ),
    "cycle of one": (lambda g: node(g, "add", inputs=("y",)), ("add", "is part of a cycle: add -> add")),
    "fewer outside names": (
        lambda g: replace(g, output_names=("z",)),
        ("main", "has 2 results, but 1 outside names for them"),
    ),
    "outside name twice": (
        lambda g: replace(g, output_names=("a", "a")),
        ("a", "is the outside name of two results"),
    ),
    "user that is not listed": (
        lambda g: replace(g, users=g.users.delete("x")),
        ("add", "uses x, but is not among its users"),
    ),
    "user that is none": (
        lambda g: replace(g, users=g.users.set("x", ("add", "if"))),
        ("if", "is among the users of x, but does not use it"),
    ),
    "user of a value that is not there": (
        lambda g: replace(g, users=g.users.set("q", ("gone",))),
        ("gone", "is among the users of q, but does not use it"),
    ),
    "user listed twice": (
        lambda g: replace(g, users=g.users.set("x", ("add", "add"))),
        ("x", "lists one of its users twice"),
    ),
    "operator not listed": (
        lambda g: replace(g, by_op=g.by_op.delete("Add")),
        ("add", "is not among the nodes of operator Add"),
    ),
    "operator that is none": (
        lambda g: replace(g, by_op=g.by_op.set("Mul", ("add",))),
        ("add", "is among the nodes of operator Mul, but is none"),
    ),
    "node listed twice": (
        lambda g: replace(g, by_op=g.by_op.set("Add", ("add", "add"))),
        ("Add", "lists one of its nodes twice"),
    ),
    "nested not listed": (
        lambda g: replace(g, nested=()),
        ("if", "is not listed as having nested graphs"),
    ),
    "nested that is none": (
        lambda g: replace(g, nested=("if", "add")),
        ("add", "is listed as having nested graphs"),
    ),
    "nested that does not exist": (
        lambda g: replace(g, nested=("if", "gone")),
        ("gone", "is listed as a node with nested graphs, but does not exist"),
    ),
    "nested twice": (
        lambda g: replace(g, nested=("if", "if")),
        ("if", "is listed twice as a node with nested graphs"),
    ),
    "node under another name": (
        lambda g: replace(g, nodes=g.nodes.set("other", g.nodes["add"])),
        ("other", "holds the node named add"),
    ),
    "value under another name": (
        lambda g: replace(g, values=g.values.set("other", g.values["x"])),
        ("other", "holds the value named x"),
    ),
    "constant of another shape": (
        lambda g: value(g, "w", type=TensorType(DType.FLOAT32, (3,))),
        ("w", "its type is float32[3], but it is the constant Constant(float32[2])"),
    ),
    "constant of another element type": (
        lambda g: value(g, "w", type=TensorType(DType.INT32, (2,))),
        ("w", "its type is int32[2], but it is the constant Constant(float32[2])"),
    ),
    "constant without a type": (
        lambda g: value(g, "w", type=None),
        ("w", "its type is unknown, but it is the constant Constant(float32[2])"),
    ),
    "constant longer than its bytes": (
        lambda g: value(g, "w", constant=Constant(DType.FLOAT32, (2,), FILE)),
        ("w", "takes 8 bytes, but its part of the file has 12"),
    ),
    "constant of another array": (
        lambda g: value(g, "w", constant=Constant(DType.FLOAT32, (2,), ArraySource(np.zeros(2)))),
        ("w", "is the constant Constant(float32[2]), but its array is float64[2]"),
    ),
    "unknown kind of attribute": (
        lambda g: node(g, "add", attributes=Map(axis=np.int64(1))),
        ("add", "attribute axis is a int64"),
    ),
    "plain tuple as attribute": (
        lambda g: node(g, "add", attributes=Map(axes=(1,))),
        ("add", "attribute axes is a tuple"),
    ),
    "wrong item in integers": (
        lambda g: node(g, "add", attributes=Map(axes=Ints((1, 2.0)))),  # pyright: ignore
        ("add", "attribute axes has a float in a list of kind Ints"),
    ),
    "wrong item in floats": (
        lambda g: node(g, "add", attributes=Map(axes=Floats((1,)))),
        ("add", "attribute axes has a int in a list of kind Floats"),
    ),
    "wrong item in strings": (
        lambda g: node(g, "add", attributes=Map(axes=Strings((1,)))),  # pyright: ignore
        ("add", "attribute axes has a int in a list of kind Strings"),
    ),
    "body with a capture": (
        lambda g: body(g, "graph b\n  input %i\n  input %j\n  %o = Neg(%x) #neg\n  output %o"),
        ("neg", "uses x, which nothing defines (in graph b of node fused)"),
    ),
    "body with fewer inputs": (
        lambda g: body(g, "graph b\n  input %i\n  output %i"),
        ("fused", "has 2 inputs, but its body has 1"),
    ),
    "body with more outputs": (
        lambda g: body(g, "graph b\n  input %i\n  input %j\n  output %i\n  output %j"),
        ("fused", "has 1 outputs, but its body has 2"),
    ),
    "body of another shape": (
        lambda g: body(g, "graph b\n  input %i : float32[3]\n  input %j\n  output %j"),
        ("fused", "its input y is float32[2], but float32[3] in the body"),
    ),
    "body of another rank": (
        lambda g: body(g, "graph b\n  input %i : float32[2,1]\n  input %j\n  output %j"),
        ("fused", "its input y is float32[2], but float32[2,1] in the body"),
    ),
    "body of another element type": (
        lambda g: body(g, "graph b\n  input %i\n  input %j : int8[2]\n  output %j"),
        ("fused", "its output k is float32[2], but int8[2] in the body"),
    ),
    "negative dimension": (
        lambda g: value(g, "y", type=TensorType(DType.FLOAT32, (-1,))),
        ("y", "its type float32[-1] has a negative dimension"),
    ),
    "negative dimension declared in a sequence": (
        lambda g: value(g, "y", declared=SequenceType(TensorType(DType.FLOAT32, (-1,)))),
        ("y", "its type float32[-1] has a negative dimension"),
    ),
    "dimension of another kind": (
        lambda g: value(g, "y", type=TensorType(DType.FLOAT32, (np.int64(2),))),  # pyright: ignore
        ("y", "its type float32[2] has a dimension that is a int64"),
    ),
    "type of another kind": (
        lambda g: value(g, "y", type="float32[2]"),
        ("y", "its type is a str"),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_invariant_is_named(graph: Graph, name: str):
    break_it, (at, why) = BROKEN[name]
    with pytest.raises(VerifyError) as caught:
        verify(break_it(graph))
    assert (caught.value.node, caught.value.why) == (at, why)


def test_cycle_names_a_node_on_it_and_is_short():
    lines = ["graph g", "  %before = A(%loop9) #a0"]
    lines += [f"  %loop{i} = L(%loop{(i - 1) % 10}) #loop{i}" for i in range(10)]
    lines += ["  %after = A(%loop3) #a1"]
    with pytest.raises(VerifyError) as caught:
        verify(from_text("\n".join(lines)))
    assert caught.value.node == "loop0"
    assert caught.value.why == (
        "is part of a cycle: loop0 -> loop1 -> loop2 -> ... 5 more ... -> loop8 -> loop9 -> loop0"
    )


def test_cycle_through_a_nested_graph():
    text = "graph g\n  %a = A(%b) #a\n  %b = If() #if\n    then = graph t\n      output %a"
    with pytest.raises(VerifyError, match="cycle: a -> if -> a"):
        verify(from_text(text))


def test_order_names_a_producer_that_is_missing(graph: Graph):
    lost = node(graph, "add", inputs=("x", "q"))
    lost = replace(lost, values=lost.values.set("q", Value("q", producer="gone")))
    with pytest.raises(VerifyError, match="add: uses q, whose producer gone does not exist"):
        _ = lost.order


# -- after changes ------------------------------------------------------------------------------------------


def change(graph: Graph, edit) -> tuple[Graph, list[Change]]:
    draft = Draft(graph)
    edit(draft)
    return draft.finish(), draft.changes


BAD_EDITS = {
    "removed, but used": (
        lambda d: d.remove(d.node("add")),
        ("uses y, which nothing defines",),
    ),
    "result dropped": (
        lambda d: d.remove(d.node("fused")),
        ("k: is a result of the graph, but nothing defines it",),
    ),
    "dangling use": (
        lambda d: d.update(d.node("add"), inputs=("x", "q")),
        ("add: uses q, which nothing defines",),
    ),
    "value without its node": (
        lambda d: d.put_value(Value("q", producer="gone")),
        ("q: its producer gone does not exist",),
    ),
    "node without its value": (
        lambda d: d.put_node(Node("n", "Relu", ("x",), ("q",))),
        ("n: makes q, which is not a value of the graph",),
    ),
    "value dropped, node kept": (
        lambda d: (d.set_outputs(["z", "y"]), d.drop_value("k")),
        ("fused: makes k, which is not a value of the graph",),
    ),
    "node gone, value kept": (
        lambda d: d.apply([Change("node", "add", d.node("add"), None)]),
        ("y: its producer add does not exist",),
    ),
    "made by another node now": (
        lambda d: (d.put_node(Node("n", "Relu", ("x",), ("y",))), d.put_value(Value("y", producer="n"))),
        ("add: makes y, which node n makes too",),
    ),
    "output renamed, value kept": (
        lambda d: (
            d.put_node(replace(d.node("add"), outputs=("q",))),
            d.put_value(Value("q", producer="add")),
        ),
        ("y: its producer add does not make it",),
    ),
    "negative dimension": (
        lambda d: d.put_value(replace(d.own_value("y"), type=TensorType(DType.FLOAT32, (-1,)))),
        ("y: its type float32[-1] has a negative dimension",),
    ),
    "input of another type than its default": (
        lambda d: d.put_value(Value("x", TensorType(DType.INT8, (2,)))),
        ("x: has a default of type float32, but is int8[2]",),
    ),
    "cycle": (
        lambda d: d.update(d.node("add"), inputs=("x", "z")),
        ("add: is part of a cycle: add -> if -> add",),
    ),
    "a node that reads what it makes": (
        lambda d: d.update(d.node("add"), inputs=("x", "y")),
        ("add: is part of a cycle: add -> add",),
    ),
    "cycle by a node that moved": (
        lambda d: d.put_node(replace(d.node("add"), inputs=("z",), position=1 << 40)),
        ("is part of a cycle: if -> add -> if",),
    ),
    "another body for a fused node": (
        lambda d: d.put_node(replace(d.node("fused"), body=from_text("graph b\n  input %i\n  output %i"))),
        ("fused: has 2 inputs, but its body has 1",),
    ),
    "fewer results": (
        lambda d: d.set_outputs(["z"]),
        ("main: has 1 results, but 2 outside names for them",),
    ),
    "broken branch": (
        lambda d: d.update(d.node("if"), attributes=Map(then_branch=from_text("graph b\n  output %q"))),
        ("q: is a result of the graph, but nothing defines it (in graph b of node if)",),
    ),
}


@pytest.mark.parametrize("name", BAD_EDITS)
def test_bad_edit_is_named(graph: Graph, name: str):
    edit, (message,) = BAD_EDITS[name]
    after, changes = change(graph, edit)
    with pytest.raises(VerifyError) as caught:
        verify_changes(after, changes)
    assert message in str(caught.value)
    with pytest.raises(VerifyError):
        verify(after)


def test_good_edits_pass(graph: Graph):
    def edit(draft: Draft) -> None:
        new = draft.insert(draft.node("add"), "Neg", ("x",), (None,))
        draft.replace_uses("y", new.outputs[0])
        draft.remove(draft.node("add"))
        draft.drop_value("w")

    after, changes = change(graph, edit)
    verify_changes(after, changes)
    verify(after)
    verify_changes(graph, [])


def test_inner_graphs_that_stay_are_not_checked_again(graph: Graph):
    broken = branch(graph, "graph b\n  input %p : int8[-1]\n  output %x")
    edited, changes = change(broken, lambda d: d.update(d.node("if"), inputs=("x",)))
    verify_changes(edited, changes)
    with pytest.raises(VerifyError):
        verify(edited)


@pytest.mark.parametrize("index", ["users", "by_op", "nested"])
def test_stale_index_is_found(graph: Graph, index: str):
    after, changes = change(graph, lambda d: (d.set_outputs(["y", "k"]), d.remove(d.node("if"))))
    stale = replace(after, **{index: getattr(graph, index)})
    with pytest.raises(VerifyError, match=r"^if: is (among|listed)"):
        verify_changes(stale, changes)


class Counting:
    """A map that counts how often it is asked."""

    def __init__(self, inner: Map) -> None:
        self.inner = inner
        self.asked = 0

    def __getattr__(self, name: str):
        self.asked += 1
        return getattr(self.inner, name)

    def __getitem__(self, key: str):
        self.asked += 1
        return self.inner[key]

    def __contains__(self, key: str) -> bool:
        self.asked += 1
        return key in self.inner


def chain(length: int) -> Graph:
    lines = ["graph g", "  input %v0"]
    lines += [f"  %v{i + 1} = Relu(%v{i}) #n{i}" for i in range(length)]
    return from_text("\n".join([*lines, f"  output %v{length}"]))


def test_checking_changes_costs_what_they_touched():
    asked = []
    for length in (10, 2000):
        after, changes = change(chain(length), lambda d: d.insert(d.node("n5"), "Neg", ("v5",), (None,)))
        counting = {name: Counting(getattr(after, name)) for name in ("nodes", "values", "users", "by_op")}
        verify_changes(replace(after, **counting), changes)
        asked.append(sum(counter.asked for counter in counting.values()))
    assert asked[0] == asked[1]


def test_full_check_of_a_large_graph_is_fast():
    graph = chain(20_000)
    start = time.process_time()
    verify(graph)
    assert time.process_time() - start < 2  # a tenth of it, on an idle machine
