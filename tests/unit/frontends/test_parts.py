"""Parts of a model, compiled by themselves, do together what the whole does."""

from __future__ import annotations

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.errors import OptionError
from gexplorer.frontends.parts import part_model, part_of_scope, parts_between
from gexplorer.ir.verify import verify
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.run import run

ort = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def typed():
    return gx.compile("bert-base:small=true,weights=random").steps[1].after


def test_a_pipeline_of_parts_gives_what_the_whole_gives(typed):
    feeds = random_inputs(typed, 0)
    expected = dict(zip(typed.outputs, run(typed, feeds), strict=True))
    cuts = [typed.order[len(typed) * part // 4].outputs[0] for part in (1, 2)]
    parts = parts_between(typed, cuts)
    assert len(parts) == 3
    assert sum(map(len, parts)) == len(typed)
    known = dict(feeds)
    for part in parts:
        verify(part)
        known |= zip(part.outputs, run(part, {name: known[name] for name in part.inputs}), strict=True)
    for name, value in expected.items():
        np.testing.assert_array_equal(known[name], value)


def test_a_module_is_cut_out_with_all_that_is_inside(typed):
    layer = part_of_scope(typed, "encoder.layer.0")
    verify(layer)
    assert {node.scope.split(".")[:3] == ["encoder", "layer", "0"] for node in layer} == {True}
    assert len(layer) == sum(node.scope.startswith("encoder.layer.0.") for node in typed)
    feeds = random_inputs(typed, 0)
    from gexplorer.validation.run import giving

    names = [*layer.inputs, *layer.outputs]
    known = dict(zip(names, run(giving(typed, names), feeds)[-len(names) :], strict=True))
    results = run(layer, {name: known[name] for name in layer.inputs})
    for name, value in zip(layer.outputs, results, strict=True):
        np.testing.assert_array_equal(value, known[name])


def test_a_part_is_a_model_of_its_own(typed):
    source = gx.compile("bert-base:small=true,weights=random").source
    layer = part_of_scope(typed, "encoder.layer.0")
    model = part_model(source, layer, "0" * 64)
    assert model.name.endswith("/encoder.layer.0")
    assert model.nodes == len(layer)
    assert 0 < model.weight_bytes < source.weight_bytes


def test_what_cannot_be_cut_is_said(typed):
    with pytest.raises(OptionError, match=r"no module of this name; the outermost are embeddings, encoder"):
        part_of_scope(typed, "decoder")
    with pytest.raises(OptionError, match="no node of the graph makes"):
        parts_between(typed, ["nothing"])
    with pytest.raises(OptionError, match="no node of the graph makes"):
        parts_between(typed, [typed.inputs[0]])
    middle = typed.order[len(typed) // 2].outputs[0]
    with pytest.raises(OptionError, match="an earlier cut"):
        parts_between(typed, [middle, middle])


def test_a_part_that_the_data_leave_and_enter_again_is_refused():
    import onnx.helper as h

    nodes = [
        h.make_node("Relu", ["x"], ["a"], name="in.1"),
        h.make_node("Neg", ["a"], ["b"], name="out"),
        h.make_node("Add", ["a", "b"], ["y"], name="in.2"),
    ]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [2])], [h.make_tensor_value_info("y", 1, [2])])
    from dataclasses import replace

    from gexplorer.ir.draft import Draft

    read = gx.compile(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])).steps[1].after
    draft = Draft(read)
    for node in read.order:
        draft.put_node(replace(node, scope=node.name.partition(".")[0]))
    with pytest.raises(OptionError, match=r"part in: a leaves it and comes back as b"):
        part_of_scope(draft.finish(), "in")
