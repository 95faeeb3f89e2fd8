import numpy as np
import pytest

import gexplorer as gx
from gexplorer.layout.scenes import scenes_part
from gexplorer.views.explorer.numbering import Numbering


@pytest.fixture(scope="module")
def bert():
    compiled = gx.compile("bert-base:layers=4", validate="off")
    numbering = Numbering(compiled.steps)
    return numbering, scenes_part(compiled.steps, numbering), compiled


def rows(part):
    bodies = part["bodies"]
    for row, node in enumerate(bodies["node"].tolist()):
        members = bodies["members"][bodies["members_at"][row] : bodies["members_at"][row + 1]].tolist()
        stubs = bodies["stubs"][bodies["stubs_at"][row] : bodies["stubs_at"][row + 1]].tolist()
        yield node, part["templates"][bodies["template"][row]], members, stubs


def test_every_kernel_that_is_shown_has_its_body(bert):
    numbering, part, compiled = bert
    shown = {m for one in part["containers"] for m in one["members"].tolist() if m >= 0}
    kernels = {number for number in shown if numbering.nodes[number].body is not None}
    assert {node for node, *_ in rows(part)} == kernels
    assert len(kernels) >= sum(node.body is not None for node in compiled.graph)


def test_operators_inside_are_the_nodes_that_they_were(bert):
    numbering, part, _ = bert
    for node, _, members, _ in rows(part):
        body = numbering.nodes[node].body.order
        assert len(members) == len(body)
        for inner, member in zip(body, members, strict=True):
            was = numbering.nodes[member]
            assert member >= 0
            assert (was.op, was.origin, was.attributes) == (inner.op, inner.origin, inner.attributes)
            assert numbering.born[member] <= numbering.born[node]


def test_edges_and_stubs_are_those_of_the_body(bert):
    numbering, part, _ = bert
    for node, template, members, stubs in rows(part):
        kernel = numbering.nodes[node]
        order = kernel.body.order
        assert len(template["x"]) == len(members)
        assert len(template["stub_box"]) == len(stubs)
        maker = {name: box for box, inner in enumerate(order) for name in inner.outputs}
        wanted = {(maker[name], box) for box, inner in enumerate(order) for name in inner.inputs if name in maker}
        found = set(zip(template["edge_from"].tolist(), template["edge_to"].tolist(), strict=True))
        assert found == wanted
        inside = {numbering.values[value] for value, side in zip(stubs, template["stub_side"], strict=True) if not side}
        outside = {numbering.values[value] for value, side in zip(stubs, template["stub_side"], strict=True) if side}
        read = {name for name in kernel.inputs if name and numbering.typed[numbering.value(name)].constant is None}
        assert inside == read
        assert outside == {name for name in kernel.outputs if name}


def test_kernels_of_all_layers_share_a_template(bert):
    _, part, _ = bert
    bodies = part["bodies"]
    assert len(set(bodies["template"].tolist())) < len(bodies["node"]) / 2
    assert len(bodies["node"]) > 4 * 5


def test_an_operator_that_no_graph_has_is_told_by_its_name(bert):
    from gexplorer.ir.graph import Node, Value, make_graph
    from gexplorer.trace.records import Step

    body = make_graph(
        "b", inputs=[Value("in0")], nodes=[Node("n0", "Erf", ("in0",), ("v0",))], values=[Value("v0", producer="n0")],
        outputs=("v0",), opsets={"": 18},
    )  # fmt: skip
    kernel = Node("k", "Fused", ("x",), ("y",), body=body)
    graph = make_graph(
        "g", inputs=[Value("x")], nodes=[kernel], values=[Value("y", producer="k")], outputs=("y",), opsets={"": 18}
    )
    steps = [Step(0, "parse", "read", None, graph, graph, 0.0)]
    part = scenes_part(steps, Numbering(steps))
    ((node, _, members, _),) = rows(part)
    assert node == 0
    assert [part["strings"][-1 - member] for member in members] == ["Erf"]


def test_another_trace_goes_on_from_the_bodies_of_the_first(bert):
    from gexplorer.layout.scenes import scenes_of

    _, part, compiled = bert
    first = Numbering(compiled.steps)
    scenes = scenes_of(compiled.steps, first)
    changed = compiled.replace(fusion={"flash_attention": False})
    scenes = scenes_of(changed.steps, Numbering(changed.steps, first), scenes)
    again = scenes_part(changed.steps, Numbering(changed.steps))
    for name, column in scenes.part()["bodies"].items():
        assert np.array_equal(column, again["bodies"][name]), name
    for name, column in scenes.part()["ends"].items():
        assert np.array_equal(column, again["ends"][name]), name
    assert not np.array_equal(again["bodies"]["node"], part["bodies"]["node"])
