"""The commands about offline models: compile -o, info, run, atc."""

from __future__ import annotations

import json
from time import process_time

import numpy as np
import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.passes import manager
from tests import wrong_rules
from tests.unit.offline.test_cann import cann_file

pytest.importorskip("onnxruntime")
MODEL = "mlp:small=true"
FREE = "bert-base:small=true,layers=1,seq=s,batch=b,dtype=float32"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def mlp(folder):
    run("compile", MODEL, "-o", "mlp.om")
    return folder / "mlp.om"


@pytest.fixture
def free(folder):
    run("compile", FREE, "-o", "free.om")
    return folder / "free.om"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output + result.stderr
    assert max(map(len, result.output.splitlines()), default=0) <= 80 or "--json" in arguments
    return result.output


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_info_shows_what_the_articles_list(mlp):
    text = run("info", "mlp.om", "--check")
    for word in ("instructions", "constants", "memory", "inputs", "outputs", "every byte checked", "AIcoreEngine"):
        assert word in text
    compiled = gx.compile(MODEL)
    found = json.loads(run("info", "mlp.om", "--json", "-"))
    assert found["schema"] == "gexplorer.om/1"
    assert found["file_bytes"] == mlp.stat().st_size
    assert found["instructions"]["count"] == len(compiled.graph)
    assert found["constants"]["count"] == len(compiled.graph.constants)
    assert found["memory"]["pool_bytes"] == compiled.memory.pool_bytes
    assert sum(found["memory"]["tensors"].values()) == len(compiled.memory.program.tensors)
    assert found["options"] == json.loads(json.dumps(compiled.options.as_dict()))
    assert found["model"]["sha256"] == compiled.source.sha256
    assert [row["name"] for row in found["inputs"]] == list(compiled.graph.inputs)


def test_info_of_a_model_with_free_dimensions(free):
    assert "placed by fast when the inputs give b, s" in " ".join(run("info", "free.om").split())


def test_atc_says_the_same(mlp):
    run("atc", "--mode=1", "--om=mlp.om", "--json=out.json")
    assert json.loads((mlp.parent / "out.json").read_text()) == json.loads(run("info", "mlp.om", "--json", "-"))


def test_atc_shows_as_the_article_calls_it(mlp):
    assert run("atc", "--mode=1", "--om=mlp.om", "--framework=0") == run("info", "mlp.om")


def test_atc_says_when_the_result_is_wrong(folder, monkeypatch):
    monkeypatch.setenv("GEXPLORER_VALIDATE", "quick")
    monkeypatch.setattr(manager, "_registered", {})
    manager.register(wrong_rules.DroppedBias)
    assert "validation failed" in refused("atc", "--model=bert-base:small=true,layers=1", "--output=made")


def test_atc_compiles(folder):
    import onnx

    onnx.save(gx.compile("mlp:small=true,batch=b").steps[0].before.to_onnx(), "m.onnx")
    name = gx.compile("m.onnx").graph.inputs[0]
    shape = gx.compile("m.onnx").graph.tensor(name).shape
    text = run(
        *("atc", "--model=m.onnx", "--framework=5", "--output=made", "--soc_version=Ascend310P3"),
        f"--input_shape={name}:{','.join(map(str, (7, *shape[1:])))}",
    )
    assert text == "ATC run success, made.om\n"
    found = json.loads(run("info", "made.om", "--json", "-"))
    assert found["soc"] == "Ascend310P3"
    assert found["inputs"][0]["shape"][0] == 7
    assert found["memory"]["is_fixed"]


def test_run_with_files(mlp):
    inputs = {row["name"]: np.ones(row["shape"], np.float32) for row in gx.load_om(mlp).inputs}
    np.savez("in.npz", **inputs)
    text = run("run", "mlp.om", "--inputs", "in.npz", "--outputs", "out.npz")
    assert "on this CPU" in text
    expected = gx.load_om(mlp).run(inputs)
    with np.load("out.npz") as found:
        assert set(found.files) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


def test_run_with_random_inputs(free):
    first = run("run", "free.om", "--random", "3", "--size", "s=9", "--size", "b=2", "--outputs", "a.npz")
    assert "[2, 9, " in first
    run("run", "free.om", "--random", "3", "--size", "s=9", "--size", "b=2", "--outputs", "b.npz", "--poison")
    run("run", "free.om", "--random", "4", "--size", "s=9", "--size", "b=2", "--outputs", "c.npz", "--repeat", "2")
    a, b, c = (dict(np.load(f"{name}.npz")) for name in "abc")
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not all(np.array_equal(a[name], c[name]) for name in a)


def test_run_as_json(mlp):
    found = json.loads(run("run", "mlp.om", "--random", "0", "--json", "-"))
    assert found["pool_bytes"] == gx.compile(MODEL).memory.pool_bytes
    assert found["planning_us"] == 0
    assert [row["name"] for row in found["instructions"]] == [
        i.name for i in gx.load_om(mlp).program.instructions if not i.is_spared
    ]


def test_types_that_npz_has_not_go_in_and_out(folder):
    import ml_dtypes
    from onnx import parser

    text = '<ir_version: 10, opset_import: ["": 21]> half (bfloat16[3] x) => (bfloat16[3] y) { y = Neg(x) }'
    gx.compile(parser.parse_model(text)).save("half.om")
    np.savez("in.npz", x=np.array([1, -2, 3], ml_dtypes.bfloat16))
    run("run", "half.om", "--inputs", "in.npz", "--outputs", "out.npz")
    assert np.load("out.npz")["y"].view(ml_dtypes.bfloat16).astype(float).tolist() == [-1, 2, -3]


def test_info_of_a_real_model_of_cann(folder):
    (folder / "real.om").write_bytes(cann_file())
    text = run("info", "real.om")
    for word in ("CANN", "resnet50", "MODEL_DEF", "WEIGHTS_DATA", "8.1.RC1", "dynamic"):
        assert word in text
    found = json.loads(run("info", "real.om", "--json", "-"))
    assert found["format"] == "cann"
    assert len(found["models"][0]["partitions"]) == 4
    assert "IMOD" in refused("run", "real.om", "--random", "0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "mlp.om"), "--inputs FILE.npz"),
        (("run", "mlp.om", "--random", "0", "--inputs", "x.npz"), "--inputs FILE.npz"),
        (("run", "mlp.om", "--inputs", "none.npz"), "cannot be read"),
        (("run", "mlp.om", "--inputs", "mlp.om"), "mlp.om: a .npz file is wanted"),
        (("run", "mlp.om", "--inputs", "one.npy"), "a .npz file is wanted"),
        (("run", "mlp.om", "--inputs", "pickle.npz"), "cannot be read"),
        (("run", "mlp.om", "--inputs", "other.npz"), "no input 'zebra'"),
        (("run", "mlp.om", "--random", "0", "--size", "b=2"), "no free dimension 'b'"),
        (("run", "mlp.om", "--random", "0", "--size", "b"), "NAME=N is wanted"),
        (("run", "mlp.om", "--inputs", "other.npz", "--size", "b=1"), "goes with --random"),
        (("run", "none.om", "--random", "0"), "No such file"),
        (("run", "mlp.om", "--random", "0", "--outputs", "no/such/out.npz"), "there is no folder"),
        (("info", "one.npy"), "not an offline model"),
        (("info", "."), "not a file"),
        (("atc", "--mode=1"), "wants --om=FILE.om"),
        (("atc", "--model=x.onnx"), "wants --model=FILE and --output=NAME"),
        (("atc", "--model=x.pb", "--framework=3", "--output=x"), "TensorFlow is not read"),
        (("compile", MODEL, "-o", "no/such/x.om"), "there is no folder"),
        (("compile", "bert-base:small=true,layers=1", "--memory", "article_literal", "-o", "x.om"), "not sound"),
    ],
)
def test_what_is_refused(mlp, arguments, said):
    np.save("one.npy", np.ones(3))
    np.savez("other.npz", zebra=np.ones(3))
    np.savez("pickle.npz", x=np.array([print], object))
    assert said in refused(*arguments)


def test_loading_is_twenty_times_faster_than_compiling():
    """In CPU time, the best of several, so that a busy machine changes nothing; measured 50 and more."""

    def seconds(work) -> float:
        start = process_time()
        work()
        return process_time() - start

    gx.compile("qwen2.5-7b").save("q.om")
    compiling = min(seconds(lambda: gx.compile("qwen2.5-7b")) for _ in range(2))
    loading = min(seconds(lambda: gx.load_om("q.om")) for _ in range(5))
    assert compiling > 20 * loading
