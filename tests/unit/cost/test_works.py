"""Works that nodes have in common are those that each has by itself."""

from __future__ import annotations

import random

import onnx
import pytest

import gexplorer as gx
from gexplorer.cost import works
from gexplorer.cost.kernel_work import Uncosted
from gexplorer.cost.work_of_node import work_of_node
from gexplorer.cost.works import Works
from tests.random_models import ModelMaker


def check(steps):
    found = Works()
    for step in steps:
        for node in step.after.order:
            assert found.of(step.after, node) == work_of_node(step.after, node), node.name


@pytest.mark.parametrize(
    "spec", ["bert-base:layers=2", "mixtral-8x7b:small=true", "resnet50:small=true", "llama2-7b:layers=2"]
)
def test_models_of_the_zoo(spec):
    check(gx.compile(spec, validate="off").steps)


@pytest.mark.parametrize("seed", range(30))
def test_random_models(seed):
    check(gx.compile(ModelMaker(random.Random(seed)).model(), validate="off").steps)


def test_layers_are_read_once(monkeypatch):
    compiled, again = (gx.compile("bert-base", validate="off").graph for _ in range(2))
    asked = []
    monkeypatch.setattr(works, "work_of_node", lambda graph, node: asked.append(node) or work_of_node(graph, node))
    found = Works()
    for node in compiled.order:
        found.of(compiled, node)
    assert 0 < len(asked) < len(compiled) / 3
    del asked[:]
    other = found.continued()
    for node in again.order:
        other.of(again, node)
    assert asked == []


def test_a_reason_that_says_a_name_is_each_nodes_own():
    text = "<ir_version: 8, opset_import: ['' : 17]> m (float[n] x) => (float[n] z) { y = Exp(x)  z = Exp(y) }"
    graph = gx.compile(onnx.parser.parse_model(text.replace("'", '"')), fusion={"elementwise_chain": False}).graph
    found = Works()
    exp, again = graph.order
    assert found.of(graph, exp) == Uncosted("the size of x is not known before run time")
    assert found.of(graph, again) == Uncosted("the size of y is not known before run time")
