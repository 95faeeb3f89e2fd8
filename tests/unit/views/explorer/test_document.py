"""The explorer's document holds together: every part is as the front end wants it, every number points somewhere."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import gexplorer as gx
from gexplorer.errors import PassError
from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.layout.scenes import Scenes
from gexplorer.passes.base import Context, Pass
from gexplorer.passes.manager import all_passes, run_passes
from gexplorer.passes.switches import PRESETS
from gexplorer.render.document import document, document_of_failure, document_of_trace
from gexplorer.trace.records import Step
from gexplorer.views.pack import part_hash
from tests.graphs import GraphMaker
from tests.random_models import ModelMaker
from tests.small_models import build
from tests.unit.views.explorer.consistency import faults, unpacked

SHARED = Path(__file__).parents[5] / "shared" / "corpus"
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    '"',
    "\\",
    "x" * 10_000,
    "\u202eright",
    "\U0001f600",
    "a\nb",
    "\u2028",
    "$",
)


def small(**options):
    return gx.compile("bert-base:small=true,layers=2", **options)


@pytest.fixture(scope="module")
def compiled():
    return small()


@pytest.fixture(scope="module")
def parts(compiled):
    return unpacked(document(compiled))


def test_every_part_of_the_contract_is_there_and_consistent(parts):
    assert faults(parts) == []
    names = "head steps nodes values scenes memory planners schedule cost course tiling kernel rules far sources log"
    assert list(parts) == names.split()


@pytest.mark.parametrize("name", ["dense", "control", "shapes", "image", "odd"])
def test_small_models_of_every_kind(name, tmp_path):
    model = build()[name]
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:  # the bytes are not wanted
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]
            tensor.raw_data = bytes(4 * int(np.prod(tensor.dims)))
    assert faults(unpacked(document(gx.compile(model)))) == []


@pytest.mark.parametrize("spec", ["resnet50:small=true", "qwen2.5-7b:small=true,layers=3", "mixtral-8x7b:small=true"])
def test_models_of_the_zoo(spec):
    assert faults(unpacked(document(gx.compile(spec)), on_demand=False)) == []


@pytest.mark.parametrize("seed", range(6))
def test_random_models(seed):
    model = ModelMaker(random.Random(seed)).model()
    formats = {"format_assignment": True} if seed % 2 else {}
    found = document(gx.compile(model, fusion=formats, streams="cube_vector", memory="safe" if seed % 3 else "fast"))
    assert faults(unpacked(found, on_demand=not seed)) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset(preset):
    assert faults(unpacked(document(small(preset=preset)), on_demand=False, scenes=False)) == []


@pytest.mark.skipif(not SHARED.exists(), reason="the corpus of real exports lies beside the repository, if at all")
def test_real_exports():
    found = sorted((SHARED / "exports").glob("*.onnx"), key=lambda path: path.stat().st_size)[:2]
    for path in found:
        assert faults(unpacked(document(gx.compile(path)), on_demand=False, scenes=False)) == [], path.name


def hostile_model():
    names = [f"{text} {number}" for number, text in enumerate(HOSTILE)]
    nodes = [
        helper.make_node("Relu", [a], [b], f"node {b}", doc_string=b)
        for a, b in zip(["$", *names], [*names, "</script>"], strict=True)
    ]
    nodes.insert(1, helper.make_node("LeakyRelu", ["$"], ["leaky"], HOSTILE[0], alpha=0.5))
    nodes.append(helper.make_node("Frobnicate\u202e", ["leaky"], ["odd"], "\n", domain="my.<domain>", text="</script>"))
    inputs = [helper.make_tensor_value_info("$", TensorProto.FLOAT, ["n<b>", 4])]
    outputs = [
        helper.make_tensor_value_info("</script>", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("odd", TensorProto.FLOAT, None),
    ]
    graph = helper.make_graph(nodes, "graph\n</script>", inputs, outputs)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("my.<domain>", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_hostile_names_stay_the_texts_that_they_are():
    found = unpacked(
        document(gx.compile(hostile_model(), fusion={"elementwise_chain": False}, shapes={"$": ("f64", 4)}))
    )
    assert faults(found) == []
    nodes = found["nodes"]
    names = {nodes["strings"][one] for one in nodes["name"]}
    assert {f"node {text} {number}" for number, text in enumerate(HOSTILE)} <= names
    assert found["head"]["options"]["shapes"] == {"$": ["f64", 4]}
    assert all(line.isprintable() for line in found["log"]["lines"])


def test_a_model_without_nodes():
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21]> m (float[2] x) => (float[2] x) {}')
    found = unpacked(document(gx.compile(model)))
    assert faults(found) == []
    figures = {figure["key"]: figure for figure in found["head"]["figures"]}
    assert (figures["kernels"]["value"], figures["latency_us"]["value"]) == (0, None)
    assert figures["latency_us"]["note"] == "there are no kernels"


def test_a_model_of_one_node_with_an_unknown_shape():
    text = '<ir_version: 10, opset_import: ["": 21]> m (float[n] x) => (float[k] y) { y = Compress(x, c) } '
    model = parser.parse_model(text.replace("(float[n] x)", "(float[n] x, bool[m] c)"))
    found = unpacked(document(gx.compile(model)))
    assert faults(found) == []
    assert found["memory"]["unsized"] == 0 or found["memory"]["pool_bytes"] == 0
    assert found["nodes"]["bytes"][-1] != found["nodes"]["bytes"][-1]  # NaN: not known


def test_sequences_and_texts():
    body = """<ir_version: 10, opset_import: ["": 21]> m (float[n, 2] x, string[k] s) => (float[m, 2] y, string[k] t)
    { parts = SplitToSequence(x)
      one = SequenceInsert(parts, x)  y = ConcatFromSequence<axis = 0>(one)  t = Identity(s) }
    """
    found = unpacked(document(gx.compile(parser.parse_model(body))))
    assert faults(found) == []
    values = found["values"]
    row = [values["strings"][one] for one in values["name"]].index("parts")
    assert values["strings"][values["dtype"][row]].startswith("seq(float32")
    assert np.isnan(values["bytes"][row])


class Broken(Pass):
    """Fails."""

    name = "broken"
    order = 999

    def run(self, draft, log, context):
        raise ValueError("it </broke>")


def failure(first):
    source = gx.compile("simple-attention").source
    with pytest.raises(PassError) as caught:
        run_passes(source.graph, [*first, Broken], Context())
    return caught.value, source


def test_a_failure_shows_what_came_before():
    error, source = failure(all_passes())
    found = document_of_failure(error, source, gx.compile("simple-attention").options)
    parts = unpacked(found)
    assert faults(parts) == []
    assert {"head", "steps", "nodes", "values", "scenes"} <= set(parts)
    assert "memory" not in parts
    assert parts["head"]["failure"] == {"name": "broken", "why": "ValueError: it </broke>"}
    assert {stage["name"]: stage["status"] for stage in parts["head"]["stages"]}["passes"] == "failed"
    assert len(parts["steps"]["steps"]) == len(all_passes())


def test_a_failure_of_the_first_pass_of_all():
    error, _ = failure([])
    parts = unpacked(document_of_failure(error))
    assert faults(parts) == []
    assert parts["head"]["failure"]["name"] == "broken"
    assert parts["head"]["figures"][0]["value"] is None
    assert len(parts["nodes"]["name"]) == 0


def step(index, before, after, stage="passes"):
    return Step(index, stage, f"dump_{index}", None, before, after, 0.0)


@pytest.mark.parametrize("seed", range(25))
def test_traces_from_elsewhere_with_anything_in_them(seed):
    graphs = [GraphMaker(seed * 10 + number).graph() for number in range(4)]
    steps = [
        step(0, graphs[0], graphs[1]),
        step(1, graphs[1], graphs[1]),
        step(2, graphs[2], graphs[3]),  # does not begin where the one before ended
        step(3, graphs[3], graphs[1]),  # an earlier graph again
    ]
    parts = unpacked(document_of_trace("dump", steps), scenes=False)
    assert faults(parts) == []
    assert parts["head"]["figures"][0]["first"] is None


def test_a_graph_with_a_cycle_and_names_that_nobody_defines():
    nodes = [Node("a", "Add", ("y", "ghost"), ("x",)), Node("b", "Relu", ("x",), ("y",))]
    graph = make_graph("g", inputs=[], nodes=nodes, values=[Value("x", None, "a"), Value("y", None, "b")],
                       outputs=("y", "nothing"), opsets={})  # fmt: skip
    parts = unpacked(document_of_trace("dump", [step(0, graph, graph)]), scenes=False)
    assert faults(parts) == []


def test_a_change_keeps_what_it_cannot_have_touched_and_gives_what_a_new_document_has(compiled):
    old = document(compiled)
    _ = old.hashes
    rule = next(one.name for one in reversed(compiled.steps) if one.is_fusion and one.changed)
    cases = (
        ({"fusion": {rule: False}}, set()),
        ({"memory": "safe"}, {"nodes", "values", "scenes", "cost", "tiling"}),
        ({"soc": "Ascend910A"}, {"nodes", "values", "scenes", "memory", "planners"}),
        ({"streams": "cube_vector"}, {"nodes", "values", "scenes", "cost", "memory", "planners", "tiling"}),
    )
    for change, kept in cases:
        other = compiled.replace(**change)
        found, fresh = document(other, previous=old), document(other)
        assert kept <= found.taken_over, change
        for name, block in fresh.parts.items():
            if name not in fresh.on_demand:
                assert found.parts[name] == block, (change, name)
        hashes = old.hashes
        assert {name for name, found in found.hashes.items() if hashes[name] == found} >= kept - {*found.on_demand}


def test_a_rule_that_had_nothing_to_do_is_switched_off_without_drawing_anything(compiled, monkeypatch):
    idle = next(step.name for step in compiled.steps if step.is_fusion and not step.changed and not step.rejects)
    old, other = document(compiled), compiled.replace(fusion={idle: False})
    _ = old.parts["scenes"]
    fresh = document(other).parts["scenes"]
    monkeypatch.setattr(Scenes, "picture", lambda self, union, index: pytest.fail("a picture is drawn"))
    assert document(other, previous=old).parts["scenes"] == fresh


def test_a_change_that_touches_something_is_seen(compiled):
    old, new = document(compiled), document(compiled.replace(fusion={"matmul_bias": False}))
    assert old.hashes["nodes"] != new.hashes["nodes"]
    assert old.hashes["cost"] != new.hashes["cost"]


def test_parts_on_demand_are_not_made_unasked(compiled):
    found = document(compiled)
    assert set(found.on_demand) == {"planners", "course", "tiling", "kernel", "far", "sources", "log"}
    _ = found.hashes
    other = document(compiled.replace(memory="fast"), previous=found)
    assert "planners" in other.parts
    for one in (found, other):
        assert not {*one.on_demand} & {*one.parts.packed}
    with pytest.raises(KeyError):
        found.parts["nonsense"]


def test_equal_compilations_give_equal_bytes_but_for_the_times(compiled):
    one, other = document(compiled), document(small())
    assert {name for name in one.hashes if one.hashes[name] != other.hashes[name]} <= {"head", "steps", "rules", "log"}
    assert part_hash(one.parts["nodes"]) == one.hashes["nodes"]


HASHES = """
import gexplorer as gx
from gexplorer.render.document import document
from tests.small_models import build

found = document(gx.compile(build()["control"], streams="cube_vector")).hashes
print({name: found[name] for name in ("nodes", "values", "scenes", "memory", "schedule", "cost")})
"""


def test_every_run_gives_the_same_numbers():
    root = Path(gx.__file__).parents[1]
    said = {
        subprocess.run(
            [sys.executable, "-c", HASHES],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "3")
    }
    assert len(said) == 1, said


def test_the_page_of_a_thousand_nodes_is_small():
    found = document(gx.compile("bert-base"))
    size = sum(len(gzip.compress(found.parts[name], 6)) for name in found.parts if name not in found.on_demand)
    assert size < 400_000
