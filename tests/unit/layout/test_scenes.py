import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.layout.focus import focus
from gexplorer.layout.layered import MOST_USERS
from gexplorer.layout.openness import MOST_BOXES
from gexplorer.layout.scenes import scenes_of, scenes_part
from gexplorer.trace.records import Step
from gexplorer.views.explorer.numbering import Numbering
from tests import small_models
from tests.unit.layout.test_paths import chain

CONTRACT = Path(__file__).parents[3] / "widgets" / "src" / "core" / "document.ts"


@pytest.fixture(scope="module")
def bert():
    return gx.compile("bert-base")


@pytest.fixture(scope="module")
def numbering(bert):
    return Numbering(bert.steps)


@pytest.fixture(scope="module")
def part(bert, numbering):
    return scenes_part(bert.steps, numbering)


def alike(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


def leaves(part, container):
    """Every node of a picture with its status, however deep; of repeated blocks those of every instance."""
    found, waiting = [], [container]
    while waiting:
        one = part["containers"][waiting.pop()]
        if one["kind"] == "repeat":
            waiting += one["instances"].tolist()
            continue
        for member, status in zip(one["members"].tolist(), one["status"].tolist(), strict=True):
            if member >= 0:
                found.append((member, status))
            else:
                waiting.append(-1 - member)
    return found


def require_whole(part, steps, numbering):
    """Every picture has exactly the nodes before and after its step, each once, with what became of it."""
    result = [-1] if numbering.result_from < len(steps) else []
    assert part["steps"].tolist() == numbering.scene_steps + result
    for root, index in zip(part["roots"].tolist(), part["steps"].tolist(), strict=True):
        found = leaves(part, root)
        assert len(found) == len({member for member, _ in found})
        sides = {}
        for side, graph in ((1, steps[index].before if index >= 0 else steps[-1].after), (2, steps[index].after)):
            for node in flat(graph):
                sides.setdefault(node[0], {})[side] = numbering.node(node[1])
        wanted = set()
        for versions in sides.values():
            status = sum(versions)
            if status == 3 and versions[1] != versions[2]:
                status += 4
            wanted.add((versions.get(2, versions.get(1)), status))
        assert set(found) == wanted


def flat(graph, inside=()):
    for name, node in graph.nodes.items():
        yield (*inside, name), node
        for number, inner in enumerate(node.graphs):
            yield from flat(inner, (*inside, name, number))


def require_consistent(part):
    for one in part["containers"]:
        template = part["templates"][one["template"]]
        boxes = len(one["members"])
        assert len(one["status"]) == boxes == len(template["x"]) == len(template["rank"]) == len(template["w"])
        assert len(one["edge_values"]) == len(one["edge_status"]) == len(template["edge_from"])
        assert len(template["route_at"]) == len(template["edge_from"]) + 1
        assert 2 * template["route_at"][-1] == len(template["route"])
        assert len(one["stub_values"]) == len(template["stub_box"]) == len(template["stub_side"])
        if one["kind"] == "repeat":
            assert one["count"] == len(one["instances"]) > 1
            assert {part["containers"][k]["template"] for k in one["instances"].tolist()} == {one["template"]}
        else:
            assert one["count"] == 1
    require_ends(part)
    require_bodies(part)


def require_ends(part):
    """Inputs and outputs of the graph: one container each, with nothing in it, called like its value."""
    ends = dict(zip(part["ends"]["container"].tolist(), part["ends"]["value"].tolist(), strict=True))
    assert len(ends) == len(part["ends"]["container"])
    kinds = {number: one["kind"] for number, one in enumerate(part["containers"])}
    assert set(ends) == {number for number, kind in kinds.items() if kind in ("input", "output")}
    assert len({(value, kinds[number]) for number, value in ends.items()}) == len(ends)
    for number in ends:
        one = part["containers"][number]
        assert len(one["members"]) == len(one["instances"]) == one["nodes"] == 0
        assert not one["open"]
    drawn = {-1 - member for one in part["containers"] for member in one["members"].tolist() if member < 0}
    assert set(ends) <= drawn


def require_bodies(part):
    """What is inside kernels: a row for each that is drawn, none twice, as large as its template."""
    bodies = part["bodies"]
    rows = len(bodies["node"])
    assert len(bodies["template"]) == rows == len(set(bodies["node"].tolist()))
    for name in ("members", "stubs"):
        offsets = bodies[f"{name}_at"]
        assert len(offsets) == rows + 1
        assert offsets[0] == 0
        assert offsets[-1] == len(bodies[name])
    members, stubs = np.diff(bodies["members_at"]).tolist(), np.diff(bodies["stubs_at"]).tolist()
    for row, number in enumerate(bodies["template"].tolist()):
        template = part["templates"][number]
        assert members[row] == len(template["x"]) > 0
        assert stubs[row] == len(template["stub_box"]) == len(template["stub_side"])
    unknown = -1 - bodies["members"][bodies["members"] < 0]
    assert (unknown < len(part["strings"])).all()
    drawn = {member for one in part["containers"] for member in one["members"].tolist()}
    assert set(bodies["node"].tolist()) <= drawn


def visible(part, root):
    total, waiting = 0, [root]
    while waiting:
        members = part["containers"][waiting.pop()]["members"].tolist()
        total += len(members)
        waiting += [-1 - m for m in members if m < 0 and part["containers"][-1 - m]["open"]]
    return total


def test_every_node_is_in_the_picture_once(part, bert, numbering):
    require_whole(part, bert.steps, numbering)
    require_consistent(part)


def test_inputs_outputs_and_kernels_are_told_by_what_they_are(part, bert, numbering):
    shown = {numbering.values[value] for value in part["ends"]["value"].tolist()}
    assert shown == {*bert.graph.inputs, *bert.graph.outputs}
    for container, value in zip(part["ends"]["container"].tolist(), part["ends"]["value"].tolist(), strict=True):
        assert part["strings"][part["containers"][container]["label"]] == numbering.values[value]
    kernels = {node for node, one in enumerate(numbering.nodes) if one.body is not None}
    drawn = {member for one in part["containers"] for member in one["members"].tolist()}
    assert set(part["bodies"]["node"].tolist()) == kernels & drawn


def test_the_stages_after_the_passes_have_a_picture_of_the_result_alone(part, bert, numbering):
    """Nothing is removed in it, so no room is kept for what a pass took away."""
    assert bert.steps[numbering.result_from].stage == "memory"
    assert part["steps"][-1] == -1
    assert {status for _, status in leaves(part, part["roots"][-1])} == {3}
    heights = [part["templates"][part["containers"][root]["template"]]["height"] for root in part["roots"][-2:]]
    assert heights[1] <= heights[0]


@pytest.mark.parametrize("name", sorted(small_models.build()))
def test_small_models_with_nested_graphs_are_whole_too(name):
    compiled = gx.compile(small_models.build()[name])
    numbering = Numbering(compiled.steps)
    part = scenes_part(compiled.steps, numbering)
    require_whole(part, compiled.steps, numbering)
    require_consistent(part)


def test_a_stack_of_layers_is_one_open_block_with_a_badge(part):
    folded = 0
    for root in part["roots"].tolist():
        members = part["containers"][root]["members"].tolist()
        held = [part["containers"][-1 - member] for member in members if member < 0]
        blocks = [one for one in held if part["strings"][one["label"]].startswith("layer")]
        assert sum(one["count"] for one in blocks) == 12
        assert len(blocks) <= 2, "a step treats the first layer otherwise, never more of them"
        assert all(one["open"] for one in blocks)
        folded += blocks[0]["count"] == 12
        assert visible(part, root) <= MOST_BOXES
        assert part["templates"][part["containers"][root]["template"]]["height"] < 2_400
    assert folded >= 10


def test_the_block_that_differs_stands_apart(bert):
    changed = bert.replace(fusion={"flash_attention:node_scaled_dot_product_attention_5": False})
    if changed.steps["flash_attention"].rewrites == bert.steps["flash_attention"].rewrites:
        pytest.skip("a single match cannot be switched off by this name")
    numbering = Numbering(changed.steps)
    part = scenes_part(changed.steps, numbering)
    members = part["containers"][part["roots"][-1]]["members"].tolist()
    labels = [part["strings"][part["containers"][-1 - m]["label"]] for m in members if m < 0]
    counts = [part["containers"][-1 - m]["count"] for m in members if m < 0]
    assert "layer.5" in labels
    assert {5, 6} <= set(counts)


def test_what_did_not_change_keeps_its_container_and_template(part, numbering, bert):
    step = part["steps"].tolist().index(bert.steps["matmul_activation"].index)
    before, after = (
        {
            part["strings"][part["containers"][-1 - m]["label"]]: -1 - m
            for m in part["containers"][part["roots"][scene]]["members"].tolist()
            if m < 0
        }
        for scene in (step, step - 1)
    )
    same = [label for label in before if label in after and before[label] == after[label]]
    assert same, "embeddings are not touched by it"


def test_boxes_beside_long_lines_stay_where_a_step_makes_one_wider():
    """Lines over several ranks begin where they were: from straight ones another order would be found, no better."""
    reads = {0: (), 1: (), 2: (), 3: (2,), 4: (1, 2, 3), 5: (1, 2), 6: (1, 2, 3)}
    nodes = [
        Node(f"n{n}", "Add", tuple(f"v{k}" for k in known) or ("x",), (f"v{n}",), position=n)
        for n, known in reads.items()
    ]
    before = make_graph(
        "g",
        inputs=[Value("x")],
        nodes=nodes,
        values=[Value(f"v{n}", producer=f"n{n}") for n in reads],
        outputs=("v6",),
        opsets={"": 18},
    )
    draft = Draft(before)
    draft.put_node(replace(draft.node("n3"), op="AnOperatorOfALongerName"))
    steps = [
        Step(0, "parse", "read", None, before, before, 0.0),
        Step(1, "passes", "p", None, before, draft.finish(), 0),
    ]
    numbering = Numbering(steps)
    part = scenes_part(steps, numbering)
    orders, widths = [], []
    for root in part["roots"].tolist():
        container = part["containers"][root]
        template = part["templates"][container["template"]]
        names = [numbering.nodes[m].name if m >= 0 else str(m) for m in container["members"].tolist()]
        rows = sorted(zip(template["rank"].tolist(), template["x"].tolist(), names, strict=True))
        orders.append([(rank, name) for rank, _, name in rows])
        widths.append(template["width"])
    assert widths[0] < widths[1]
    assert orders[0] == orders[1]


def test_edges_follow_the_values(part, bert, numbering):
    for container in part["containers"]:
        template = part["templates"][container["template"]]
        ends = zip(template["edge_from"].tolist(), template["edge_to"].tolist(), strict=True)
        for (start, end), value in zip(ends, container["edge_values"].tolist(), strict=True):
            tail, head = (container["members"].tolist()[box] for box in (start, end))
            name = numbering.values[value]
            if tail >= 0 and head >= 0 and container["status"][start] & 4 == 0 == container["status"][end] & 4:
                assert name in numbering.nodes[tail].outputs
                assert name in numbering.nodes[head].uses


def test_the_same_trace_gives_the_same_pictures(part, bert):
    assert alike(part, scenes_part(bert.steps, Numbering(bert.steps)))


@pytest.mark.parametrize("rule", ["gelu", "flash_attention", "matmul_bias"])
def test_going_on_from_another_trace_gives_what_starting_afresh_gives(rule, part, bert):
    first = Numbering(bert.steps)
    scenes = scenes_of(bert.steps, first)
    changed = bert.replace(fusion={rule: False})
    second = Numbering(changed.steps, first)
    others = scenes_of(changed.steps, second, scenes)
    afresh = scenes_part(changed.steps, Numbering(changed.steps))
    assert alike(others.part(), afresh)
    assert alike(scenes.part(), part)  # others came from it, and it stayed as it was
    assert alike(scenes_of(changed.steps, second, scenes).part(), afresh)
    assert alike(scenes_of(bert.steps, first, others).part(), part)


def test_nobody_looks_at_an_empty_trace_in_vain():
    assert scenes_part([], Numbering([]))["roots"].tolist() == []


@pytest.mark.parametrize("count", [300, 3_000])
def test_a_graph_without_names_opens_within_the_budget(count):
    graph = chain(count, op=lambda n: f"Op{n * 7919 % 1013}")
    steps = [Step(0, "parse", "read", None, graph, graph, 0.0)]
    part = scenes_part(steps, Numbering(steps))
    assert visible(part, part["roots"][0]) <= MOST_BOXES


def test_past_the_budget_closed_containers_have_no_layout(monkeypatch):
    graph = chain(5_000, op=lambda n: f"Op{n * 7919 % 1013}")
    steps = [Step(0, "parse", "read", None, graph, graph, 0.0)]
    whole = scenes_part(steps, Numbering(steps))["containers"]
    assert all(one["template"] >= 0 for one in whole)
    monkeypatch.setattr("gexplorer.layout.scenes.IN_ADVANCE", 0)
    containers = scenes_part(steps, Numbering(steps))["containers"]
    assert [one["members"].tolist() for one in containers] == [one["members"].tolist() for one in whole]
    without = [one for one in containers if one["template"] < 0]
    assert len(without) > len(whole) / 2
    assert not any(one["open"] for one in without)


def test_names_of_fields_are_those_of_the_contract(part):
    if not CONTRACT.exists():
        pytest.skip("the front end's sources are not here")
    source = CONTRACT.read_text(encoding="utf-8")
    for name, found in (("ScenesPart", part), ("Container", part["containers"][0]), ("Template", part["templates"][0])):
        body = re.search(rf"export interface {name} {{(.*?)\n}}", source, re.S)[1]
        assert set(re.findall(r"^  (\w+)\??:", body, re.M)) == set(found)


def test_focus_shows_a_rewrite_and_little_else(bert, numbering):
    step = bert.steps["flash_attention"]
    part = focus(step, 3, numbering)
    found = dict(leaves(part, part["roots"][0]))
    gone = {numbering.node(node) for node in step.rewrites[3].removed}
    assert gone <= set(found)
    assert all(found[node] == 1 for node in gone)
    assert len(gone) < len(found) < 40
    wider = focus(step, 3, numbering, hops=3)
    assert len(found) < len(leaves(wider, wider["roots"][0])) <= MOST_BOXES


def test_a_value_with_many_users_is_a_stub_at_each(part, bert, numbering):
    tall = chain(MOST_USERS + 3)
    users = [node for node in tall if node.name != "n0"]
    from gexplorer.ir.draft import Draft

    draft = Draft(tall)
    for node in users:
        draft.update(draft.node(node.name), inputs=(*node.inputs, "v0"))
    graph = draft.finish()
    steps = [Step(0, "parse", "read", None, graph, graph, 0.0)]
    found = scenes_part(steps, Numbering(steps))
    template = found["templates"][found["containers"][found["roots"][0]]["template"]]
    assert template["stub_side"].tolist().count(0) >= MOST_USERS + 1
