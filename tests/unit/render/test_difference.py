"""The page of a difference, and the object that ``gx.diff`` gives."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.errors import OptionError
from gexplorer.render.base91 import decoded
from gexplorer.render.difference import sharing
from gexplorer.views.pack import unpack

MODEL = "bert-base:small=true,layers=2"


@pytest.fixture(scope="module")
def first():
    return gx.compile(MODEL, validate="off")


@pytest.fixture(scope="module")
def second(first):
    return first.replace(fusion={"matmul_bias": False}, memory="safe")


@pytest.fixture(scope="module")
def page(first, second, tmp_path_factory):
    return gx.diff(first, second).report(tmp_path_factory.mktemp("diff") / "d.html").read_text("utf-8")


def parts_of(page):
    found = re.search(r'id="gexplorer-document">(.*?)</script>', page, re.DOTALL)
    return {name: unpack(gzip.decompress(decoded(part))) for name, part in json.loads(found[1])["parts"].items()}


def test_nodes_that_are_alike_are_the_same_object(first):
    again = gx.compile(MODEL, validate="off")
    assert not any(again.graph.nodes[name] is node for name, node in first.graph.nodes.items())
    shared = sharing(first.graph, again.graph)
    assert all(node is again.graph.nodes[name] for name, node in shared.nodes.items())


def test_nodes_that_differ_in_anything_are_not(first):
    model = first.steps[0].after.to_onnx()
    attribute = next(one for node in model.graph.node if node.op_type == "Softmax" for one in node.attribute)
    attribute.i = 2 if attribute.i != 2 else 1
    shapes = gx.compile(f"{MODEL},seq=16", validate="off")
    for before, after in (
        (first.steps[0].after, gx.compile(model, validate="off").steps[0].after),
        (first.steps[1].after, shapes.steps[1].after),
    ):
        shared = sharing(before, after)
        same = [name for name, node in shared.nodes.items() if node is after.nodes.get(name)]
        assert 0 < len(same) < len(shared)


def test_the_page_shows_both_figures_and_what_is_new(page, first, second):
    parts = parts_of(page)
    figures = {row["key"]: (row["first"], row["value"]) for row in parts["head"]["figures"]}
    assert figures["pool_bytes"] == (first.memory.pool_bytes, second.memory.pool_bytes)
    assert figures["hbm_bytes"] == (first.cost.hbm_bytes, second.cost.hbm_bytes)
    (step,) = parts["steps"]["steps"]
    assert (step["nodes_before"], step["nodes_after"]) == (len(first.graph), len(second.graph))
    assert "matmul_bias" in step["summary"]
    assert "switched off" in step["summary"]
    names = [parts["nodes"]["strings"][name] for name in parts["nodes"]["name"]]
    ends = dict(
        zip(zip(names, parts["nodes"]["born"].tolist(), strict=True), parts["nodes"]["gone"].tolist(), strict=True)
    )
    gone = {name for (name, _), end in ends.items() if end == 0}
    alike = {n for n, node in sharing(first.graph, second.graph).nodes.items() if node is second.graph.nodes.get(n)}
    assert gone == set(first.graph.nodes) - alike
    changed = gone | {name for name in second.graph.nodes if name not in first.graph.nodes}
    assert len(step["rewrites"]["node"]) == len(changed) > 3


def test_the_page_says_it_in_words(page):
    words = re.sub("<[^>]*>", "", page[page.index('id="summary"') : page.index('id="gexplorer-document"')])
    assert "matmul_bias" in words
    assert "memory: balanced → safe" in words
    assert "memory pool" in words


def test_the_command_writes_it(tmp_path):
    path = tmp_path / "d.html"
    done = CliRunner().invoke(cli, ["diff", "mlp", "mlp", "--b", "memory=safe", "-o", str(path)])
    assert done.exit_code == 0, done.output
    assert "gexplorer-document" in path.read_text("utf-8")


def test_two_steps_can_be_compared(first, tmp_path):
    a, b = first.steps["shape_folding"], first.steps["matmul_bias"]
    found = gx.diff(a, b)
    figures = {figure.key: (figure.before, figure.after) for figure in found.figures}
    assert figures["graph.nodes"] == (a.nodes_after, b.nodes_after)
    assert found.rules == ()
    (step,) = parts_of(found.report(tmp_path / "d.html").read_text("utf-8"))["steps"]["steps"]
    assert step["nodes_after"] == b.nodes_after


def test_the_object_says_what_is_different(first, second):
    found = gx.diff(first, second)
    assert {rule.name for rule in found.rules} >= {"matmul_bias"}
    data = json.loads(json.dumps(found.summary()))
    assert data["options"]["memory"] == ["balanced", "safe"]
    assert len(data["figures"]) == len(found.figures)
    assert len(repr(found)) < 200
    assert "no difference" in repr(gx.diff(first, first))


def test_the_widget_sends_what_the_page_would_show(first, second):
    widget = gx.diff(first, second).widget()
    sent = []
    widget.send = lambda message, buffers=None: sent.append((message, buffers))
    widget._handle_custom_msg({"type": "ready"}, [])
    ((message, buffers),) = sent
    head = unpack(buffers[message["names"].index("head")])
    assert head["figures"][0]["first"] == len(first.graph)
    assert set(message["names"]) >= {"head", "steps", "nodes", "scenes", "memory"}
    assert "tiling" not in message["names"]
    widget._handle_custom_msg({"type": "change", "sequence": 1, "changes": {}}, [])
    assert sent[-1][0]["type"] == "failure"


def test_a_step_and_a_compilation_are_not_compared(first):
    with pytest.raises(OptionError, match="two compilations or two steps"):
        gx.diff(first, first.steps[3])
