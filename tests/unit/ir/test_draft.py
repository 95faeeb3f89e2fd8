import gc
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from gexplorer.ir.draft import POSITION_STEP, Draft, changed_nodes, empty_graph
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Graphs, Node, Value, make_graph
from gexplorer.ir.text import from_text, to_text
from gexplorer.ir.types import TensorType
from gexplorer.ir.verify import verify, verify_changes
from tests.graphs import GraphMaker, content

SEEDS = st.integers(0, 2**32)


def random_graph(seed: int) -> Graph:
    return from_text(to_text(GraphMaker(seed).graph()))  # reading finds the serial


def random_edits(draft: Draft, pick: random.Random, count: int, depth: int = 0) -> None:
    for _ in range(count):
        nodes = draft.candidates(*draft.ops())
        node = pick.choice(nodes) if nodes else None
        inputs = draft.inputs
        match pick.randint(0, 7):
            case 0 if node:
                draft.insert(
                    node,
                    pick.choice(("Cast", "Relu")),
                    (pick.choice(inputs), ""),
                    (None, None)[: pick.randint(1, 2)],
                )
            case 1 if node:
                draft.update(node, attributes=node.attributes.set("axis", pick.randint(0, 3)))
            case 2 if node and node.outputs and node.outputs[0]:
                draft.replace_uses(node.outputs[0], pick.choice(inputs))
            case 3 if node and not any(output and draft.use_count(output) for output in node.outputs):
                draft.remove(node)
            case 4:
                name = pick.choice(inputs)
                if name not in draft.base.defaults:
                    draft.put_value(Value(name, TensorType(DType.INT8, (pick.randint(0, 3),))))
            case 5:
                draft.set_outputs(pick.sample(draft.outputs, len(draft.outputs)))
            case 6:
                draft.set_outputs((draft.add_constant(np.zeros(2), "c"), *draft.outputs[1:]))
            case 7 if draft.nested_nodes() and depth < 2:
                outer = pick.choice(draft.nested_nodes())
                name, graphs = pick.choice(
                    [
                        (k, v)
                        for k, v in outer.attributes.items()
                        if isinstance(v, Graph) or (isinstance(v, Graphs) and v)
                    ]
                )
                if isinstance(graphs, Graph):
                    inner = Draft(graphs, draft)
                    random_edits(inner, pick, 3, depth + 1)
                    draft.update(outer, attributes=outer.attributes.set(name, inner.finish()))
                else:
                    draft.update(outer, attributes=outer.attributes.set(name, Graphs(graphs[1:])))
            case _:
                pass


@given(SEEDS, st.integers(0, 12))
def test_random_edits(seed: int, count: int):
    """The old graph stays; the new one is valid, indexed as if made anew, and reached by undo and redo."""
    old = random_graph(seed)
    before = content(old)
    draft = Draft(old)
    random_edits(draft, random.Random(seed), count)
    new = draft.finish()
    assert content(old) == before
    verify(old)

    verify(new)
    verify_changes(new, draft.changes)
    after = content(new)
    assert content(from_text(to_text(new))) == after

    back = Draft(new)
    back.apply(draft.changes, undo=True)
    assert content(back.finish()) == before
    again = Draft(old)
    again.apply(draft.changes)
    assert content(again.finish()) == after


@given(SEEDS)
def test_no_change_gives_the_same_object(seed: int):
    graph = random_graph(seed)
    draft = Draft(graph)
    draft.candidates(*draft.ops())
    assert draft.finish() is graph


# -- sharing ------------------------------------------------------------------------------------------------


def chain(length: int, hub: str = "") -> Graph:
    values = [Value(f"v{i + 1}", producer=f"n{i}") for i in range(length)]
    nodes = [
        Node(f"n{i}", "Add", (f"v{i}", hub or f"v{i}"), (f"v{i + 1}",), position=i * POSITION_STEP)
        for i in range(length)
    ]
    inputs = [Value("v0"), *([Value(hub)] if hub else [])]
    return make_graph("g", inputs=inputs, nodes=nodes, values=values, outputs=(f"v{length}",), opsets={})


def objects(graph: Graph) -> set[int]:
    """Ids of all containers that the graph's maps are made of, and of what they hold."""
    found: dict[int, object] = {}
    todo: list[object] = [graph.nodes, graph.values, graph.users, graph.by_op]
    while todo:
        item = todo.pop()
        if id(item) not in found and gc.is_tracked(item) and not isinstance(item, type):
            found[id(item)] = item
            todo += gc.get_referents(item)
    return set(found)


@pytest.mark.parametrize("hub", ["", "hub"])
def test_a_rewrite_makes_as_many_objects_in_a_large_graph_as_in_a_small_one(hub: str):
    new = {}
    for length in (1000, 16_000):
        old = chain(length, hub)
        draft = Draft(old)
        draft.replace_uses("v500", draft.insert(draft.node("n500"), "Neg", ("v0",), (None,)).outputs[0])
        edited = draft.finish()
        shared = objects(old)
        assert len(shared) > length
        new[length] = len(objects(edited) - shared)
    assert new[16_000] < 2 * new[1000]  # a trie of 16 times as many is one level deeper
    assert new[16_000] < 200


# -- single operations --------------------------------------------------------------------------------------

NESTED = """\
graph g
  input %x
  input %new
  %old = Relu(%x) #relu
  %y = If(%x, %old, %old) #if
    a = graph a
      %t = If(%t0) #inner
        b = graph b
          %u = Neg(%old) #neg
          output %u
          output %old
      %t0 = Abs(%old) #abs
      output %t
    b += graph c
      output %old
    b += graph d
      output %new
  output %old as result
  output %y
"""


def test_replace_uses_reaches_nested_graphs_and_results():
    graph = from_text(NESTED)
    draft = Draft(graph)
    draft.replace_uses("old", "new")
    draft.remove(draft.node("relu"))
    after = draft.finish()
    verify(after)
    expected = NESTED.replace("output %old\n", "output %new as old\n").replace("%old", "%new")
    expected = expected.replace("  %new = Relu(%x) #relu\n", "")
    assert to_text(after, locations=False) == to_text(from_text(expected), locations=False)
    assert after.nodes["if"].attribute("b")[1] is graph.nodes["if"].attribute("b")[1]
    assert to_text(graph, locations=False) == to_text(from_text(NESTED), locations=False)


def test_uses_are_counted():
    draft = Draft(from_text(NESTED))
    assert draft.use_count("old") == 2  # one node, and a result
    assert draft.use_count("new") == 1
    assert draft.use_count("nothing") == 0
    assert [node.name for node in draft.users("x")] == ["relu", "if"]
    assert draft.is_result("old")
    assert not draft.is_result("x")


def test_fresh_names_differ_in_nested_drafts():
    graph = from_text(NESTED.replace("%t0", "%t0@41"))
    outer = Draft(graph)
    inner = Draft(graph.nodes["if"].attribute("a"), outer)
    innermost = Draft(graph.nodes["if"].attribute("a").nodes["inner"].attribute("b"), inner)
    names = [draft.fresh("x") for draft in (outer, inner, innermost, outer)]
    assert names == ["x@42", "x@43", "x@44", "x@45"]
    assert outer.fresh("x@42") == "x@46"


def test_values_around_are_seen_but_not_owned():
    graph = from_text(NESTED)
    inner = Draft(graph.nodes["if"].attribute("a"), Draft(graph))
    assert inner.value("old") is graph.values["old"]
    assert inner.own_value("old") is None
    assert inner.producer("old") is None


@pytest.mark.parametrize("size", [3, 40])
def test_users_and_candidates_can_be_asked_between_edits(size: int):
    draft = Draft(chain(size, "hub"))
    for i in range(size):
        assert len(draft.users("hub")) == size - i
        assert [node.name for node in draft.candidates("Add")] == [f"n{k}" for k in range(i, size)]
        draft.put_node(Node(f"n{i}", "Neg", ("v0",), (f"v{i + 1}",), position=i * POSITION_STEP))
    assert draft.ops() == ("Neg",)
    after = draft.finish()
    assert set(after.by_op) == {"Neg"}
    assert "hub" not in after.users


def test_walking_through_a_draft_keeps_its_edits():
    draft = Draft(chain(3))
    name = draft.add_constant(np.zeros(1), "c")
    assert [value.name for value in draft.constants()] == [name]
    assert [value.name for value in draft.unused_constants()] == [name]
    draft.set_outputs((name,))
    draft.remove(draft.node("n2"))
    first = draft.anchor()
    assert first is not None
    assert first.name == "n0"
    after = draft.finish()
    verify(after)
    assert len(after) == 2


def test_inserted_nodes_stand_before_their_anchor_in_the_order_of_insertion():
    draft = Draft(chain(3))
    names = [draft.insert(draft.node("n1"), "Neg", ("v0",), (None,)).name for _ in range(25)]
    order = [node.name for node in draft.finish()]
    assert order.index("n1") == 26
    assert order[1:20] == names[:19]


@given(st.integers(1, 30), st.randoms(use_true_random=False))
def test_order_is_topological_and_does_not_depend_on_history(length: int, pick: random.Random):
    draft = Draft(chain(length))
    for _ in range(20):
        at = pick.randrange(length)
        made = draft.insert(draft.node(f"n{at}"), "Neg", (f"v{pick.randint(0, at)}",), (None,))
        draft.update(draft.node(f"n{pick.randint(at, length - 1)}"), inputs=(made.outputs[0],))
    graph = draft.finish()
    verify(graph)
    seen = set(graph.inputs)
    for node in graph:
        assert seen.issuperset(node.uses)
        seen.update(node.outputs)
    nodes = list(graph.nodes.values())
    pick.shuffle(nodes)
    values = [value for name, value in graph.values.items() if name not in graph.inputs]
    anew = make_graph("g", inputs=[graph.values["v0"]], nodes=nodes, values=values, outputs=graph.outputs, opsets={})
    assert [node.name for node in anew] == [node.name for node in graph]


def test_changed_nodes_are_the_first_and_last_states():
    graph = chain(3)
    draft = Draft(graph)
    draft.update(draft.node("n0"), inputs=("v0",))
    last = draft.update(draft.node("n0"), attributes=Map(axis=1))
    made = draft.insert(draft.node("n1"), "Neg", ("v0",), (None,))
    gone = draft.insert(draft.node("n1"), "Neg", ("v0",), (None,))
    draft.remove(gone)
    draft.set_outputs(("v2",))
    removed = draft.node("n2")
    draft.remove(removed)
    assert list(changed_nodes(draft.changes)) == [(graph.nodes["n0"], last), (None, made), (removed, None)]


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.node("nothing"),
        lambda d: d.drop_value("nothing"),
        lambda d: d.remove(Node("nothing", "A", (), ())),
    ],
)
def test_what_is_not_there_is_a_key_error(edit: Callable[[Draft], object]):
    with pytest.raises(KeyError):
        edit(Draft(chain(2)))


def test_a_graph_can_be_filled_from_nothing():
    draft = Draft(empty_graph("g", opsets={"": 17}, inputs=[Value("x")]))
    draft.put_value(Value("y", producer="n"))
    draft.put_node(Node("n", "Relu", ("x",), ("y",)))
    graph = draft.finish()
    verify(graph)
    assert to_text(graph) == "graph g opset(17)\n  input %x\n  %y = Relu(%x) #n from ()\n"
