"""Saving, loading, running: without the model, without a search, and with clear words for what does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import gexplorer as gx
from gexplorer.offline.model import OfflineModel
from gexplorer.validation.inputs import random_inputs

pytest.importorskip("onnxruntime")
HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
DENSE = """
dense (float[b, 4] x, float[4, 3] w) => (float[b, 3] y)
<float[3] bias = {0.5, -0.5, 0.25}>
{
    m = MatMul(x, w)
    a = Add(m, bias)
    y = Relu(a)
}
"""


@pytest.fixture
def dense(tmp_path):
    path = tmp_path / "dense.om"
    gx.compile(parser.parse_model(HEAD + DENSE)).save(path)
    return gx.load_om(path)


W = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_what_it_says_of_itself(dense):
    assert list(dense.inputs) == [
        {"name": "x", "dtype": "float32", "shape": ["b", 4]},
        {"name": "w", "dtype": "float32", "shape": [4, 3]},
    ]
    assert [(row["name"], row["shape"]) for row in dense.outputs] == [("y", ["b", 3])]
    assert dense.info()["schema"] == "gexplorer.om/1"
    assert dense.info()["memory"]["symbols"] == ["b"]
    assert dense.timings is None


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_it_computes_what_the_model_computes(dense, batch):
    x = np.random.default_rng(0).standard_normal((batch, 4)).astype(np.float32)
    found = dense.run({"x": x, "w": W})
    expected = np.maximum(x @ W + np.float32([0.5, -0.5, 0.25]), 0)
    np.testing.assert_allclose(found["y"], expected, rtol=1e-5, atol=1e-5)
    assert dense.timings.total_us > 0
    assert [op for _, op, _ in dense.timings.instructions] == [
        i.op for i in dense.program.instructions if not i.is_spared
    ]
    assert dense.pool_bytes >= 0


def test_calls_one_after_the_other(dense):
    calls = [{"x": np.full((n, 4), n, np.float32), "w": W} for n in (1, 5, 2)]
    found = dense.run_batch(calls)
    assert [result["y"].shape for result in found] == [(1, 3), (5, 3), (2, 3)]
    for call, result in zip(calls, found, strict=True):
        np.testing.assert_array_equal(result["y"], dense.run(call)["y"])


def test_threads_take_turns(dense):
    wrong = []

    def work(number: int) -> None:
        x = np.full((number, 4), number, np.float32)
        expected = dense_of(x)
        results = [dense.run({"x": x, "w": W})["y"] for _ in range(20)]
        wrong.extend(number for result in results if not np.allclose(result, expected))

    def dense_of(x):
        return np.maximum(x @ W + np.float32([0.5, -0.5, 0.25]), 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 7, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"x": np.ones((2, 4), np.float32)}, r"input w is missing: float32\[4,3\] is wanted"),
        (None, "a mapping from name to array is wanted, not NoneType"),
        ([np.ones((2, 4), np.float32)], "a mapping from name to array is wanted, not list"),
        ({"xx": 1, "x": np.ones((2, 4), np.float32), "w": W}, "no input 'xx'; did you mean x"),
        ({"zebra": 1}, "no input 'zebra'; the inputs are: x, w"),
        ({"x": np.ones((2, 5), np.float32), "w": W}, r"input x: float32\[b,4\] is wanted, not shape \[2, 5\]"),
        ({"x": np.ones((2, 4, 1), np.float32), "w": W}, r"input x: float32\[b,4\] is wanted, not shape \[2, 4, 1\]"),
        ({"x": np.ones((2, 4)), "w": W}, r"input x: float32\[b,4\] is wanted, not elements of type float64"),
        ({"x": np.ones((2, 4), np.int32), "w": W}, r"input x: float32\[b,4\] is wanted, not elements of type int32"),
        ({"x": "text", "w": W}, r"input x: float32\[b,4\] is wanted, not a str"),
        ({"x": [[1, 2, 3, 4], [1]], "w": W}, r"input x: float32\[b,4\] is wanted, not a list"),
        ({"x": None, "w": W}, r"input x: float32\[b,4\] is wanted"),
    ],
)
def test_wrong_inputs_are_told_in_one_line(dense, inputs, said):
    with pytest.raises(gx.ModelError, match=said) as error:
        dense.run(inputs)
    assert "\n" not in str(error.value)


def test_lists_of_numbers_are_taken_where_nothing_is_lost(dense):
    found = dense.run({"x": [[1, 2, 3, 4]], "w": W.tolist()})
    np.testing.assert_array_equal(found["y"], dense.run({"x": np.float32([[1, 2, 3, 4]]), "w": W})["y"])
    with pytest.raises(gx.ModelError, match="do not fit"):
        dense.run({"x": [[1 << 40, 2**24 + 1, 3, 4]], "w": W})


def test_dimensions_that_contradict_each_other(tmp_path):
    model = parser.parse_model(HEAD + "two (float[b, 2] x, float[b, 2] y) => (float[b, 2] z) { z = Add(x, y) }")
    gx.compile(model).save(tmp_path / "two.om")
    session = gx.load_om(tmp_path / "two.om")
    with pytest.raises(
        gx.ModelError, match=r"contradict each other: x is \[2, 2\], float32\[b,2\] is wanted; y is \[3"
    ):
        session.run({"x": np.ones((2, 2), np.float32), "y": np.ones((3, 2), np.float32)})


def test_inputs_that_may_be_left_out(tmp_path):
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> scale (float[2] x, float[1] k) => (float[2] y) { y = Mul(x, k) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(np.float32([3]), "k"))
    gx.compile(model).save(tmp_path / "scale.om")
    session = gx.load_om(tmp_path / "scale.om")
    assert session.inputs[1]["optional"] is True
    assert session.run({"x": np.float32([1, 2])})["y"].tolist() == [3, 6]
    assert session.run({"x": np.float32([1, 2]), "k": np.float32([5])})["y"].tolist() == [5, 10]
    OfflineModel(tmp_path / "scale.om").check()


def test_constants_of_strings_and_of_half_a_byte(tmp_path):
    info = helper.make_tensor_value_info
    table = np.array(["über", "", "c"], object)
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["words", "i"], ["text"]),
            helper.make_node("Gather", ["nibbles", "i"], ["n"]),
            helper.make_node("Cast", ["n"], ["number"], to=TensorProto.FLOAT),
        ],
        "odd",
        [info("i", TensorProto.INT64, [2])],
        [info("text", TensorProto.STRING, [2]), info("number", TensorProto.FLOAT, [2])],
        [
            helper.make_tensor("words", TensorProto.STRING, [3], [text.encode() for text in table]),
            helper.make_tensor("nibbles", TensorProto.INT4, [3], [-8, 7, 3]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    gx.compile(model).save(tmp_path / "odd.om")
    found = gx.load_om(tmp_path / "odd.om", evaluator="reference").run({"i": np.array([0, 1])})
    assert found["text"].tolist() == ["über", ""]
    assert found["number"].tolist() == [-8, 7]


def external(folder: Path) -> Path:
    """A model with its weights in a file of their own."""
    model = parser.parse_model(HEAD + "big (float[2, 64] x) => (float[2, 32] y) { y = MatMul(x, w) }")
    w = np.random.default_rng(1).standard_normal((64, 32)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    onnx.save(model, folder / "big.onnx", save_as_external_data=True, location="big.weights", size_threshold=0)
    return folder / "big.onnx"


@pytest.mark.parametrize("weights", ["inline", "reference"])
def test_weights_inside_and_beside(tmp_path, weights):
    compiled = gx.compile(external(tmp_path))
    compiled.save(tmp_path / "big.om", weights=weights)
    x = {"x": np.ones((2, 64), np.float32)}
    expected = gx.load_om(tmp_path / "big.om").run(x)["y"]
    found = gx.load_om(tmp_path / "big.om").info()["constants"]
    assert (found["inline"], found["references"]) == ((1, 0) if weights == "inline" else (0, 1))
    assert (found["reference_bytes"], found["files"]) == ((0, []) if weights == "inline" else (8192, ["big.weights"]))
    (tmp_path / "big.onnx").unlink()
    (tmp_path / "big.weights").rename(tmp_path / "elsewhere")
    session = gx.load_om(tmp_path / "big.om")
    if weights == "inline":
        np.testing.assert_array_equal(session.run(x)["y"], expected)
        return
    with pytest.raises(gx.ModelError, match=r"weights not available: w; they are looked for in .*big\.weights"):
        session.run(x)
    (tmp_path / "elsewhere").rename(tmp_path / "big.weights")
    np.testing.assert_array_equal(gx.load_om(tmp_path / "big.om").run(x)["y"], expected)


def test_a_full_size_model_without_weights_is_saved_and_says_so(tmp_path):
    compiled = gx.compile("bert-base:layers=1")
    compiled.save(tmp_path / "full.om")
    session = gx.load_om(tmp_path / "full.om")
    assert session.info()["constants"]["references"] > 10
    assert (tmp_path / "full.om").stat().st_size < 10_000_000
    with pytest.raises(gx.ModelError, match="weights not available"):
        session.run(random_inputs(compiled.steps[1].after, 0))


def test_tied_weights_are_stored_once(tmp_path):
    w = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model = parser.parse_model(
        HEAD + "tied (float[2, 64] x) => (float[2, 64] y) { m = MatMul(x, w)\n y = MatMul(m, w) }"
    )
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    gx.compile(model).save(tmp_path / "tied.om")
    assert (tmp_path / "tied.om").stat().st_size < 2 * w.nbytes


def test_an_unsound_plan_is_not_saved(tmp_path):
    compiled = gx.compile("bert-base:small=true,layers=1", memory="article_literal")
    with pytest.raises(gx.OptionError, match="not sound"):
        compiled.save(tmp_path / "wrong.om")
    assert list(tmp_path.iterdir()) == []


def test_the_same_compilation_gives_the_same_bytes(tmp_path):
    for name in ("a.om", "b.om"):
        gx.compile("mlp:small=true").save(tmp_path / name)
    assert (tmp_path / "a.om").read_bytes() == (tmp_path / "b.om").read_bytes()


def test_loading_and_running_need_neither_compiler_nor_planner(tmp_path):
    compiled = gx.compile("mlp:small=true")
    compiled.save(tmp_path / "mlp.om")
    np.savez(tmp_path / "in.npz", **random_inputs(compiled.graph, 0))
    code = f"""
import sys
import numpy as np
import gexplorer as gx
session = gx.load_om({str(tmp_path / "mlp.om")!r})
session.run(dict(np.load({str(tmp_path / "in.npz")!r})))
loaded = [name for name in sys.modules if name.startswith("gexplorer.")]
assert "gexplorer.compiler" not in loaded
heavy = ("gexplorer.passes", "gexplorer.schedule", "gexplorer.memory.stage", "gexplorer.memory.planners")
assert not [name for name in loaded if name.startswith(heavy)], loaded
assert session.timings.planning_us == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_info_reads_no_more_than_the_manifest(tmp_path):
    """Whatever is broken behind the manifest, the manifest is still there to be read."""
    gx.compile("mlp:small=true").save(tmp_path / "mlp.om")
    whole = (tmp_path / "mlp.om").read_bytes()
    manifest = OfflineModel(tmp_path / "mlp.om").container.sections["manifest"]
    behind = manifest.offset + manifest.padded_size
    (tmp_path / "mlp.om").write_bytes(whole[:behind] + bytes(len(whole) - behind))
    model = OfflineModel(tmp_path / "mlp.om")
    assert model.manifest["model"]["name"] == "mlp:small=true"
    with pytest.raises(gx.ModelError, match="altered"):
        model.check()
    with pytest.raises(gx.ModelError, match="altered"):
        gx.load_om(tmp_path / "mlp.om")


def test_sections_hold_the_schedule(tmp_path):
    compiled = gx.compile("bert-base:small=true,layers=1", streams="cube_vector")
    compiled.save(tmp_path / "b.om")
    times = OfflineModel(tmp_path / "b.om").schedule
    assert times["streams"] == compiled.schedule.streams == 2
    assert times["makespan_us"] == compiled.schedule.makespan_us
    assert times["kernels"]["name"] == list(compiled.schedule.kernels.names)
    assert len(times["events"]["event"]) == len(compiled.schedule.syncs) > 0
    json.dumps(times)


def test_tile_programs_are_kept_as_text(tmp_path):
    from gexplorer.hardware.catalogue import load_chip
    from gexplorer.kernels.stage import generate_kernels
    from gexplorer.offline.manifest import About
    from gexplorer.offline.save import save
    from gexplorer.offline.tiles import tiles_text

    compiled = gx.compile("mlp:small=true")
    text = tiles_text(generate_kernels(compiled.graph, load_chip("Ascend910B3")))
    about = About("mlp", "", {}, "Ascend910B3", {}, {})
    save(tmp_path / "a.om", compiled.program, about, compiled.memory, compiled.schedule, tiles=text)
    save(tmp_path / "b.om", compiled.program, about, compiled.memory, compiled.schedule)
    assert OfflineModel(tmp_path / "a.om").tiles == text
    assert OfflineModel(tmp_path / "b.om").tiles == ""
    assert "MatMul" in text
    for node in compiled.graph.nodes:
        assert node in text
