from dataclasses import FrozenInstanceError, replace

import pytest
from immutables import Map

from gexplorer.errors import VerifyError
from gexplorer.ir.constant import constant
from gexplorer.ir.graph import Graphs, Ints, Node, Value, make_graph, serial_of
from gexplorer.ir.text import from_text

TEXT = """\
graph g
  input %x
  constant %w = float32[] {1.0}
  %y = Add(%x, %w, _, %x) {axis = 1, pads = [1, 2]} #add
  %z = If(%y) #if
    a += graph a
      %p = Neg(%x) #neg
      output %y
    a += graph b
      %q = If(%x) #inner
        c = graph c
          output %w
      output %q
  output %z
"""


def test_uses_are_present_inputs_then_captures():
    graph = from_text(TEXT)
    assert graph.nodes["add"].uses == ("x", "w", "x")
    assert graph.nodes["if"].captures == ("x", "y", "w")
    assert graph.nodes["if"].uses == ("y", "x", "y", "w")
    assert graph.captures == ()


def test_queries():
    graph = from_text(TEXT)
    assert [node.name for node in graph.users_of("x")] == ["add", "if"]
    assert graph.users_of("nothing") == ()
    assert graph.producer("y") is graph.nodes["add"]
    assert graph.producer("x") is None
    assert graph.producer("nothing") is None
    assert [value.name for value in graph.constants] == ["w"]
    assert (len(graph), graph.nodes_deep) == (2, 4)
    assert str(graph.tensor("w")) == "float32[]"
    assert graph.tensor("x") is None


def test_attributes_are_asked_by_kind():
    node = from_text(TEXT).nodes["add"]
    assert node.integer("axis", 0) == 1
    assert node.integer("other", 7) == 7
    assert node.integers("pads") == (1, 2)
    assert node.integers("other") is None
    with pytest.raises(VerifyError, match="add: attribute pads must be an integer"):
        node.integer("pads", 0)
    with pytest.raises(VerifyError, match="add: attribute axis must be a list of integers"):
        node.integers("axis")


def test_nothing_can_be_changed():
    graph = from_text(TEXT)
    for item, field in ((graph, "outputs"), (graph.nodes["add"], "op"), (graph.values["x"], "type")):
        with pytest.raises(FrozenInstanceError):
            setattr(item, field, ())
    with pytest.raises(AttributeError):
        Ints((1,)).extra = 1


def test_a_graph_made_from_another_does_not_share_its_cache():
    graph = from_text(TEXT).nodes["if"].attribute("a")[0]
    assert graph.captures == ("x", "y")
    assert replace(graph, outputs=("p",)).captures == ("x",)


def test_order_follows_position_and_then_names():
    nodes = [Node(name, "A", (), (), position=p) for name, p in (("c", 1), ("b", 2), ("a", 1), ("d", -5))]
    graph = make_graph("g", inputs=(), nodes=nodes, values=(), outputs=(), opsets={})
    assert [node.name for node in graph] == ["d", "a", "c", "b"]


def test_order_moves_a_node_behind_its_producer():
    text = "graph g\n  %b = B(%a) #b at 1\n  %c = C() #c at 2\n  %a = A() #a at 3\n  %d = D() #d at 4"
    assert [node.name for node in from_text(text)] == ["c", "a", "b", "d"]


def test_order_of_an_outer_producer_and_a_nested_use():
    text = "graph g\n  %b = If() #b at 1\n    then = graph t\n      output %a\n  %a = A() #a at 2"
    assert [node.name for node in from_text(text)] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "serial"),
    [("x@7", 7), ("x@", -1), ("x", -1), ("x@7y", -1), ("x@1@2", 2), ("x@7\n", -1), ("x@" + "9" * 5000, -1)],
)
def test_serial_of(name: str, serial: int):
    assert serial_of(name) == serial


def test_graphs_in_lists_are_nested_graphs():
    inner = make_graph("i", inputs=(), nodes=(), values=(), outputs=("x",), opsets={})
    node = Node("n", "If", (), ("y",), Map(a=Graphs((inner, inner)), b=inner, c=constant_attribute()))
    graph = make_graph("g", inputs=[Value("x")], nodes=[node], values=[Value("y", producer="n")], outputs=(), opsets={})
    assert node.graphs.count(inner) == 3
    assert graph.nested == ("n",)
    assert graph.users["x"] == ("n",)


def constant_attribute():
    import numpy as np

    return constant(np.zeros(1))
