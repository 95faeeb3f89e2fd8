"""Keys: equal for what is equal, different for whatever a compilation depends on."""

from __future__ import annotations

import importlib

import numpy as np
import onnx
import onnx.helper as h
import pytest

import gexplorer as gx
from gexplorer.cache.key import compilation_key, graph_digest
from gexplorer.frontends.onnx import read
from gexplorer.options import Options
from gexplorer.passes import manager


def model(weight=1.0, op="Add", elements=2000, text=b"a"):
    big = onnx.numpy_helper.from_array(np.full(elements, weight, np.float32), "w")
    words = h.make_tensor("words", onnx.TensorProto.STRING, [1], [text])
    nodes = [h.make_node(op, ["x", "w"], ["y"], name="n"), h.make_node("Identity", ["words"], ["z"], name="i")]
    graph = h.make_graph(
        nodes,
        "g",
        [h.make_tensor_value_info("x", 1, [elements])],
        [h.make_tensor_value_info("y", 1, [elements]), h.make_tensor_value_info("z", 8, [1])],
        [big, words],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])


def digest(**changes):
    return graph_digest(read(model(**changes)).graph)


def test_a_digest_is_of_the_content():
    assert digest() == digest()
    different = [digest(), digest(weight=2.0), digest(op="Mul"), digest(elements=2001), digest(text=b"b")]
    assert len(set(different)) == len(different)


def external(folder, weight, name="w.bin"):
    proto = model(weight)
    path = folder / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location=name, size_threshold=0)
    return read(path).graph


def test_weights_beside_the_model_count_by_their_bytes(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    one, same, other = (external(tmp_path / n, w) for n, w in (("a", 1.0), ("b", 1.0), ("c", 2.0)))
    assert graph_digest(one) == graph_digest(same)
    assert graph_digest(one) != graph_digest(other)
    weights = tmp_path / "a" / "w.bin"
    before = graph_digest(one)
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    assert graph_digest(read(tmp_path / "a" / "m.onnx").graph) != before


@pytest.mark.parametrize(
    "changes", [{"soc": "Ascend910A"}, {"memory": "safe"}, {"fusion": {"matmul_bias": False}}, {"order": "bfs"}]
)
def test_a_key_knows_the_options(changes):
    base = gx.compile("mlp:small=true")
    other = base.options.with_changes(changes)
    graph = base.steps[0].after
    assert compilation_key(graph, base.options) == compilation_key(graph, base.options)
    assert compilation_key(graph, base.options) != compilation_key(graph, other)


def test_a_chip_of_the_users_counts_by_what_it_says(tmp_path):
    from gexplorer.hardware.catalogue import load_chip

    base = gx.compile("mlp:small=true")
    chip = tmp_path / "mine.yaml"
    keys = []
    for mhz in (1000, 2000):
        rows = ("name: mine", "summary: x", "like: Ascend910B1", 'sources: {t: "a test"}')
        chip.write_text("\n".join([*rows, f"clock: {{value: {mhz} MHz, source: t}}"]))
        assert load_chip(str(chip)).clock_hz == mhz * 1e6
        keys.append(compilation_key(base.steps[0].after, base.options.with_changes({"soc": str(chip)})))
    assert keys[0] != keys[1]


def test_a_key_knows_which_switch_came_last():
    graph = gx.compile("mlp:small=true", validate="off").steps[0].after
    ours, theirs = {"matmul_bias": False}, {"MatMulBiasAddFusionPass": True}
    one, other = (Options(fusion=fusion) for fusion in ({**ours, **theirs}, {**theirs, **ours}))
    assert compilation_key(graph, one) != compilation_key(graph, other)


RULE = """
from gexplorer.passes.base import Pass

class Idle(Pass):
    \"\"\"Does {what}.\"\"\"

    name = "idle"
    order = 431

    def run(self, draft, log, context):
        pass
"""


def test_a_key_knows_the_passes_of_other_packages(tmp_path, monkeypatch):
    graph = gx.compile("mlp:small=true", validate="off").steps[0].after
    monkeypatch.setattr(manager, "_registered", {})
    monkeypatch.syspath_prepend(tmp_path)
    keys = [compilation_key(graph, Options())]
    for what in ("nothing", "nothing either"):
        (tmp_path / "idle_pass.py").write_text(RULE.format(what=what))
        gx.register(importlib.import_module("idle_pass").Idle)
        keys += [compilation_key(graph, Options()) for _ in range(2)]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3
    keys.append(compilation_key(graph, Options(fusion={"idle": False})))
    assert keys[-1] not in keys[:-1]  # another switch
    monkeypatch.setattr(manager._registered["idle"], "__module__", "__main__.cell")
    assert compilation_key(graph, Options()) != compilation_key(graph, Options())  # from no file
