from dataclasses import replace

import pytest

from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.layout.boundary import MOST_AROUND
from gexplorer.layout.scenes import scenes_part
from gexplorer.trace.records import Step
from gexplorer.views.explorer.numbering import Numbering
from tests.unit.layout.test_paths import chain


def pictured(graph):
    steps = [Step(0, "parse", "read", None, graph, graph, 0.0)]
    numbering = Numbering(steps)
    return scenes_part(steps, numbering), numbering


def boxes(part, container):
    """What stands in a container: operators' numbers, and containers."""
    entry = part["containers"][container]
    return entry, [part["containers"][-1 - m] if m < 0 else m for m in entry["members"].tolist()]


def names(part, held, kind):
    return [part["strings"][one["label"]] for one in held if isinstance(one, dict) and one["kind"] == kind]


def layers(count, *, caches=True):
    """Layers, each of three operators, with a cache of its own that comes in and goes out, and one mask for all."""
    nodes, values, inputs = [], [], [Value("x"), Value("mask")]
    last = "x"
    for n in range(count):
        scope = f"model.layers.{n}"
        cache = f"past.{n}.key"
        inputs.append(Value(cache))
        for k, (op, others) in enumerate((("Add", [cache] if caches else []), ("Mul", ["mask"]), ("Relu", []))):
            out = f"present.{n}.key" if k == 0 and caches else f"v{n}_{k}"
            nodes.append(Node(f"n{n}_{k}", op, (last, *others), (out,), position=3 * n + k, scope=scope))
            values.append(Value(out, producer=f"n{n}_{k}"))
            last = out
    outputs = [last, *(f"present.{n}.key" for n in range(count))] if caches else [last]
    kept = inputs if caches else inputs[:2]
    return make_graph("g", inputs=kept, nodes=nodes, values=values, outputs=tuple(outputs), opsets={"": 18})


def test_inputs_stand_on_top_and_outputs_below_what_makes_them():
    part, numbering = pictured(chain(4))
    entry, held = boxes(part, part["roots"][0])
    template = part["templates"][entry["template"]]
    rank = dict(zip(entry["members"].tolist(), template["rank"].tolist(), strict=True))
    ends = {part["strings"][part["containers"][-1 - m]["label"]]: rank[m] for m in rank if m < 0}
    assert ends == {"x": 0, "v3": 5}
    assert names(part, held, "input") == ["x"]
    assert names(part, held, "output") == ["v3"]
    assert entry["nodes"] == 4, "they are no nodes"
    assert [numbering.values[value] for value in part["ends"]["value"].tolist()] == ["x", "v3"]
    assert {part["containers"][one]["kind"] for one in part["ends"]["container"].tolist()} == {"input", "output"}


def test_an_input_that_is_used_late_stands_on_top_all_the_same():
    graph = chain(6)
    late = replace(graph.nodes["n5"], inputs=("v4", "late"))
    graph = make_graph(
        "g",
        inputs=[Value("x"), Value("late")],
        nodes=[*(n for n in graph if n.name != "n5"), late],
        values=list(graph.values.values())[1:],
        outputs=graph.outputs,
        opsets={"": 18},
    )
    part, _ = pictured(graph)
    entry, held = boxes(part, part["roots"][0])
    template = part["templates"][entry["template"]]
    tops = [r for one, r in zip(held, template["rank"].tolist(), strict=True) if isinstance(one, dict)]
    assert tops.count(0) == 2


def test_the_cache_of_each_layer_stands_in_its_layer_and_layers_fold():
    part, _ = pictured(layers(8))
    _, held = boxes(part, part["roots"][0])
    assert sorted(names(part, held, "input")) == ["mask", "x"]
    assert names(part, held, "output") == ["v7_2"]
    blocks = [one for one in held if isinstance(one, dict) and one["kind"] == "repeat"]
    assert [one["count"] for one in blocks] == [8]
    inside = [part["containers"][-1 - m]["kind"] for m in blocks[0]["members"].tolist() if m < 0]
    assert sorted(inside) == ["input", "output"]


def test_an_output_of_one_layer_does_not_keep_it_from_folding():
    part, _ = pictured(layers(8, caches=False))
    _, held = boxes(part, part["roots"][0])
    assert [one["count"] for one in held if isinstance(one, dict) and one["kind"] == "repeat"] == [8]


@pytest.mark.parametrize("count", [MOST_AROUND, MOST_AROUND + 1, 40])
def test_very_many_inputs_are_in_one_box(count):
    nodes = [Node(f"n{n}", "Add", (f"v{n - 1}" if n else "x0", f"x{n}"), (f"v{n}",), position=n) for n in range(count)]
    graph = make_graph(
        "g",
        inputs=[Value(f"x{n}") for n in range(count)],
        nodes=nodes,
        values=[Value(f"v{n}", producer=f"n{n}") for n in range(count)],
        outputs=(f"v{count - 1}",),
        opsets={"": 18},
    )
    part, _ = pictured(graph)
    _, held = boxes(part, part["roots"][0])
    around = names(part, held, "input")
    assert len(around) == (count if count <= MOST_AROUND else 0)
    held_in = [one for one in held if isinstance(one, dict) and part["strings"][one["label"]] == "graph inputs"]
    assert [len(one["members"]) for one in held_in] == ([] if count <= MOST_AROUND else [count])
    assert not any(one["open"] for one in held_in)


def test_an_output_that_is_an_input_has_both_boxes():
    graph = make_graph("g", inputs=[Value("x")], nodes=[], values=[], outputs=("x",), opsets={"": 18})
    part, _ = pictured(graph)
    entry, held = boxes(part, part["roots"][0])
    assert [one["kind"] for one in held] == ["input", "output"]
    assert part["templates"][entry["template"]]["edge_from"].tolist() == [0]
