"""Parts of a model are compiled once; put together they run as the whole model does."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cache.compiled import compile_parts
from gexplorer.cache.store import Store
from gexplorer.cli import cli
from gexplorer.compiler import options_from
from gexplorer.errors import ModelError
from gexplorer.frontends.load import load
from gexplorer.passes import manager
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.run import run
from tests import wrong_rules

pytest.importorskip("onnxruntime")
MODEL = "bert-base:small=true,weights=random"


def test_the_second_compilation_is_a_hit(tmp_path):
    store = Store(tmp_path)
    source, options = load(MODEL), options_from({})
    (first,), (second,) = (compile_parts(source, options, store) for _ in range(2))
    assert (first.hit, second.hit) == (False, True)
    assert (first.key, first.path) == (second.key, second.path)
    (other,) = compile_parts(source, options_from({"memory": "safe"}), store)
    assert not other.hit
    first.path.write_bytes(first.path.read_bytes()[:-100])
    (again,) = compile_parts(source, options, store)
    assert not again.hit


def test_what_fails_its_checks_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(manager, "_registered", {})
    manager.register(wrong_rules.DroppedBias)
    with pytest.raises(ModelError, match="validation failed, nothing is kept: dry_run"):
        compile_parts(load(MODEL), options_from({"validate": "quick"}), Store(tmp_path))
    assert not Store(tmp_path).entries()


def test_the_parts_of_a_pipeline_run_one_after_the_other(tmp_path):
    source = load(MODEL)
    typed = gx.compile(MODEL).steps[1].after
    cuts = [typed.order[len(typed) // 2].outputs[0]]
    parts = compile_parts(source, options_from({}), Store(tmp_path), cuts=cuts)
    feeds = random_inputs(typed, 0)
    expected = dict(zip(typed.output_names, run(typed, feeds), strict=True))
    known = dict(feeds)
    for part in parts:
        session = gx.load_om(part.path)
        known |= session.run({x["name"]: known[x["name"]] for x in session.inputs})
    for name, value in expected.items():
        np.testing.assert_allclose(known[name], value, atol=1e-5 * np.abs(value).max())


def test_a_change_in_one_part_leaves_the_others_in_the_cache(tmp_path):
    store = Store(tmp_path)
    wanted = {"scopes": ["embeddings", "encoder"]}
    first = compile_parts(load(MODEL), options_from({}), store, **wanted)
    assert [part.hit for part in first] == [False, False]
    more = compile_parts(load(f"{MODEL},layers=3"), options_from({}), store, **wanted)
    assert [part.hit for part in more] == [True, False]


def test_shapes_are_those_of_the_whole_model(tmp_path):
    source = load("bert-base:small=true,batch=b")
    options = options_from({"shapes": dict.fromkeys(source.graph.inputs, (4, None))})
    (part,) = compile_parts(source, options, Store(tmp_path), scopes=["encoder"])
    (free,) = compile_parts(source, options_from({}), Store(tmp_path), scopes=["encoder"])
    assert part.key != free.key


def test_the_commands(tmp_path):
    def invoke(*arguments):
        return CliRunner().invoke(
            cli, list(arguments), env={"GEXPLORER_CACHE": str(tmp_path / "cache")}, catch_exceptions=False
        )

    out = tmp_path / "out"
    out.mkdir()
    made = json.loads(invoke("parts", MODEL, "--part", "encoder", "-o", str(out), "--json", "-").stdout)["parts"]
    assert [part["hit"] for part in made] == [False]
    assert [path.suffix for path in out.iterdir()] == [".om"]
    assert "found" in invoke("parts", MODEL, "--part", "encoder").output
    listed = json.loads(invoke("cache", "--json", "-").stdout)
    assert [entry["key"] for entry in listed["entries"]] == [made[0]["key"]]
    assert listed["entries"][0]["model"] == f"{MODEL}/encoder"
    shown = invoke("cache").output
    assert "1 compiled part" in shown
    assert max(map(len, shown.splitlines()[2:])) <= 80
    assert "1 file thrown away" in invoke("cache", "--clear").output
    failed = invoke("cache", "--max-bytes", "many")
    assert failed.exit_code == 1
    assert "--max-bytes: 'many' is no number of bytes" in failed.stderr
    failed = invoke("parts", MODEL, "--part", "decoder")
    assert failed.exit_code == 1
    assert "no module of this name" in failed.stderr
