import onnx
import pytest
from onnx import TensorProto, helper

import gexplorer as gx
from gexplorer.ir.graph import Graph
from gexplorer.trace.records import replay
from gexplorer.views.region import ALIKE, HUB_USERS, MOST_BOXES, rewrite_regions, step_region

HEAD = '<ir_version: 9, opset_import: ["" : 17]>'


def compiled(body: str):
    return gx.compile(onnx.parser.parse_model(f"{HEAD} {body}"))


def marks(picture):
    return {(box.title, box.mark) for box in picture.boxes}


def flows(picture):
    names = {box.key: box.title for box in picture.boxes}
    return {(names[edge.source], names[edge.target]) for edge in picture.edges}


def first_region(body: str, step: str):
    return rewrite_regions(compiled(body).steps[step], [0])[0]


def test_a_removed_node_its_changed_user_and_its_neighbours():
    region = first_region(
        "g (float[2] x) => (float[2] y) { a = Abs(x) b = Identity(a) c = Neg(b) y = Relu(c) }",
        "identity_elimination",
    )
    assert marks(region.before) == {
        ("Abs", "kept"),
        ("Identity", "removed"),
        ("Neg", "changed"),
        ("Relu", "kept"),
    }
    assert marks(region.after) == {("Abs", "kept"), ("Neg", "changed"), ("Relu", "kept")}
    assert flows(region.before) == {("Abs", "Identity"), ("Identity", "Neg"), ("Neg", "Relu")}
    assert flows(region.after) == {("Abs", "Neg"), ("Neg", "Relu")}
    assert not region.left_out


def test_what_changed_in_a_node_is_told_after_it_and_types_are_shown():
    region = first_region(
        "g (float[2,3] x) => (float[2,3] y) { a = Abs(x) b = Identity(a) y = Neg(b) }", "identity_elimination"
    )
    (neg,) = (box for box in region.after.boxes if box.title == "Neg")
    assert neg.type == "float32[2,3]"
    assert neg.details == ("input 0 was b",)


def test_inputs_and_outputs_are_stubs():
    region = first_region("g (float[2] x) => (float[2] y) { a = Identity(x) y = Neg(a) }", "identity_elimination")
    assert [(box.kind, box.name) for box in region.before.boxes if box.kind != "node"] == [
        ("input", "x"),
        ("output", "y"),
    ]
    assert flows(region.after) == {("input", "Neg"), ("Neg", "output")}


def test_a_folded_constant_is_a_box_and_an_unchanged_one_a_line():
    region = first_region(
        "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float[2] d = {3, 4}>"
        "{ a = Neg(c) b = Mul(x, a) y = Add(b, d) }",
        "constant_folding",
    )
    (neg,) = (box for box in region.before.boxes if box.title == "Neg")
    assert neg.mark == "removed"
    assert "input 0: float32 [1, 2]" in neg.details
    (folded,) = (box for box in region.after.boxes if box.kind == "constant")
    assert (folded.mark, folded.type) == ("added", "float32 [-1, -2]")


def test_a_constant_that_takes_the_place_of_another_is_shown():
    region = first_region(
        "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float[2] d = {1, 2}> { a = Mul(x, c) y = Add(a, d) }",
        "constant_merging",
    )
    assert {(box.name, box.mark) for box in region.before.boxes if box.kind == "constant"} == {
        ("c", "kept"),
        ("d", "removed"),
    }
    (kept,) = (box for box in region.after.boxes if box.kind == "constant")
    assert (kept.key, "n:Add_1") in {(edge.source, edge.target) for edge in region.after.edges}


def test_boxes_that_are_alike_are_counted_and_the_hub_gets_a_stub():
    users = 40
    nodes = [helper.make_node("Identity", ["x"], ["a"])]
    nodes += [helper.make_node("Neg", ["a"], [f"y{n}"]) for n in range(users)]
    outputs = [helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, [2]) for n in range(users)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (region,) = rewrite_regions(gx.compile(model).steps["identity_elimination"], [0])
    assert sum(box.title == "Neg" for box in region.after.boxes) == ALIKE
    assert region.left_out == (("changed", users - ALIKE),)
    assert f"… {users - ALIKE} more users" in {box.title for box in region.before.boxes}


def test_a_region_is_bounded():
    ops = ["Abs", "Neg", "Relu", "Exp", "Sqrt", "Sin", "Cos", "Tanh", "Sign", "Ceil", "Floor", "Erf"]
    nodes = [helper.make_node("Identity", ["x"], ["a"])]
    for number, op in enumerate(ops * 3):
        nodes += [
            helper.make_node(op, ["a"], [f"b{number}"]),
            helper.make_node(ops[number % 5], [f"b{number}"], [f"y{number}"]),
        ]
    outputs = [helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, [2]) for n in range(len(ops) * 3)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (region,) = rewrite_regions(gx.compile(model).steps["identity_elimination"], [0])
    for picture in (region.before, region.after):
        assert sum(box.kind in ("node", "constant") for box in picture.boxes) <= MOST_BOXES
        keys = {box.key for box in picture.boxes}
        assert all(edge.source in keys and edge.target in keys for edge in picture.edges)
    assert dict(region.left_out)["changed"] == 36 + 1 - MOST_BOXES


def test_a_value_with_very_many_users_is_never_walked_through(monkeypatch):
    users = 10 * HUB_USERS
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Identity", ["a"], ["hub"])]
    nodes += [helper.make_node("Neg", ["hub"], [f"y{n}"]) for n in range(users)]
    outputs = [helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, [2]) for n in range(users)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    step = gx.compile(model).steps["identity_elimination"]
    walked = []
    original = Graph.users_of
    monkeypatch.setattr(Graph, "users_of", lambda self, value: walked.append(value) or original(self, value))
    (region,) = rewrite_regions(step, [0])
    assert walked
    assert "hub" not in walked
    assert {box.title for box in region.before.boxes} >= {"Abs", "Identity", "Neg"}


IF_MODEL = """g (float[2] x, bool c) => (float[2] y) {
    a = Abs(x)
    y = If(c) <then_branch = t () => (float[2] p) { q = Identity(a) p = Neg(q) },
               else_branch = e () => (float[2] r) { r = Relu(a) }>
}"""


def test_a_rewrite_inside_a_branch_shows_the_branch_and_what_it_takes_from_around():
    region = first_region(IF_MODEL, "identity_elimination")
    assert [text.rpartition(".")[2] for text in region.inside] == ["then_branch"]
    assert [(box.kind, box.name, box.type) for box in region.before.boxes if box.kind == "around"] == [
        ("around", "a", "float32[2]")
    ]
    assert ("Identity", "removed") in marks(region.before)


def test_a_whole_step_at_once():
    step = compiled("g (float[2] x) => (float[2] y) { a = Identity(x) b = Neg(a) c = Identity(b) y = Relu(c) }").steps[
        "identity_elimination"
    ]
    region = step_region(step)
    assert sum(box.mark == "removed" for box in region.before.boxes) == 2
    assert not any(box.mark == "removed" for box in region.after.boxes)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0], [1]])
def test_regions_are_those_of_the_graphs_in_between(order):
    step = compiled(
        "g (float[2] x) => (float[2] y) "
        "{ a = Identity(x) b = Neg(a) c = Identity(b) d = Abs(c) e = Identity(d) y = Relu(e) }"
    ).steps["identity_elimination"]
    for number, region in zip(sorted(order), rewrite_regions(step, order), strict=True):
        before = step.graph_after(number)
        after = replay(before, (), step.rewrites[number].changes)
        for picture, graph in ((region.before, before), (region.after, after)):
            drawn = [box.name for box in picture.boxes if box.kind == "node"]
            assert drawn
            assert all(name in graph.nodes for name in drawn)
