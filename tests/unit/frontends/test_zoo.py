"""The zoo's entries: names, options, sizes."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import onnx_ir as ir
import pytest

from gexplorer.frontends import zoo
from gexplorer.frontends.zoo import discovery, models

if TYPE_CHECKING:
    pass
from tests.zoo_models import NAMES, parameters


def test_names_are_those_of_the_articles_and_the_benchmarks() -> None:
    assert zoo.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_entry_says_what_the_model_is_and_where_its_numbers_come_from(name: str) -> None:
    entry = zoo.describe(name)
    assert entry.name == name
    assert entry.summary.endswith(".")
    assert len(entry.source) > 20
    assert {"batch", "dtype", "weights", "seed", "small"} <= set(entry.defaults)
    with pytest.raises(TypeError):
        entry.defaults["batch"] = 2  # type: ignore[index]


def test_a_family_is_found_by_being_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dropped_in.py").write_text(
        "from dataclasses import replace\n"
        "from gexplorer.frontends.zoo.models.mlp import ENTRIES as known\n"
        "ENTRIES = (replace(known[0], name='dropped-in'),)\n"
    )
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    discovery.entries.cache_clear()
    try:
        assert "dropped-in" in zoo.names()
        assert len(zoo.build("dropped-in", small=True).graph) > 0
    finally:
        monkeypatch.undo()
        discovery.entries.cache_clear()
        sys.modules.pop("gexplorer.frontends.zoo.models.dropped_in")
    assert "dropped-in" not in zoo.names()


def test_two_families_may_not_define_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "twice.py").write_text("from gexplorer.frontends.zoo.models.mlp import ENTRIES\n")
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    discovery.entries.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"twice defines 'mlp'"):
            zoo.names()
    finally:
        monkeypatch.undo()
        discovery.entries.cache_clear()
        sys.modules.pop("gexplorer.frontends.zoo.models.twice")


def test_importing_the_zoo_loads_nothing_heavy() -> None:
    code = (
        "import sys, gexplorer.frontends.zoo;"
        "print(*{'numpy', 'onnx', 'onnx_ir', 'onnxruntime', 'ml_dtypes'} & set(sys.modules))"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# Options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mlp", ("mlp", {})),
        ("mlp:", ("mlp", {})),
        ("qwen2.5-7b:layers=2,seq=128,small=true", ("qwen2.5-7b", {"layers": 2, "seq": 128, "small": True})),
        (" mlp : batch = n , small = False ", ("mlp", {"batch": "n", "small": False})),
        ("mlp:seed=-1", ("mlp", {"seed": -1})),
    ],
)
def test_spec(text: str, expected: tuple[str, dict[str, object]]) -> None:
    name, options = zoo.parse_spec(text)
    assert (name, options) == expected
    assert all(type(options[key]) is type(value) for key, value in expected[1].items())


@pytest.mark.parametrize("text", ["", ":seed=2", "mlp:seed", "mlp:=2", "mlp:a=", "mlp:a=1,,b=2", "mlp:a=1,a=2"])
def test_malformed_spec(text: str) -> None:
    with pytest.raises(ValueError, match=r"names no model|not of the form|given twice"):
        zoo.parse_spec(text)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gpt-5", {}, r"no model named 'gpt-5'.*bert-base.*simple-attention"),
        ("mlp", {"heads": 2}, "mlp has no option 'heads'; it has: .*layers"),
        ("llama2-7b", {"heads": 7}, "llama2-7b: heads=7 does not divide hidden=4096"),
        ("llama2-7b", {"kv_heads": 5}, "kv_heads=5 does not divide heads=32"),
        (
            "llama2-7b",
            {"hidden": 96, "small": True, "heads": 32, "kv_heads": 8},
            "hidden=96 / heads=32 is odd",
        ),
        ("llama2-7b", {"past": 3}, "past=3 needs mode=decode"),
        ("llama2-7b", {"mode": "decode", "past": 0}, "past=0 needs mode=prefill"),
        ("llama2-7b", {"mode": "decode", "use_cache": False}, "use_cache=False needs mode=prefill"),
        ("llama2-7b", {"mode": "train"}, "mode='train' should be one of prefill, decode"),
        ("llama2-7b", {"batch": "n", "seq": "n"}, "seq and batch are both named 'n'"),
        ("llama2-7b", {"batch": "2 n"}, "batch='2 n' should be a number or the name"),
        ("llama2-7b", {"layers": 0}, "layers=0 should be at least 1"),
        ("llama2-7b", {"layers": "s"}, "layers='s' should be a whole number"),
        ("llama2-7b", {"layers": True}, "layers=True should be a whole number"),
        ("llama2-7b", {"dtype": "int8"}, "dtype='int8' should be one of float32, float16, bfloat16"),
        ("llama2-7b", {"weights": "trained"}, "weights='trained' should be one of none, random"),
        ("llama2-7b", {"small": 1}, "small=1 should be true or false"),
        ("llama2-7b", {"seed": -1}, "seed=-1 should be at least 0"),
        ("mixtral-8x7b", {"experts": 1}, "experts=1 is less than the 2"),
        ("bert-base", {"seq": 513}, "seq=513 is more than the 512 positions"),
        ("resnet50", {"dtype": "bfloat16"}, "resnet50: dtype=bfloat16 does not fit: opset 20"),
        ("bert-base", {"heads": 5}, "heads=5 does not divide hidden=768"),
    ],
)
def test_what_does_not_fit_is_named(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zoo.build(name, **options)


def test_a_choice_overrides_the_preset_and_the_mode() -> None:
    model = zoo.build("llama2-7b", small=True, layers=1, mode="decode", seq=3, past="p", batch=2)
    shapes = {value.name: str(value.shape) for value in (*model.graph.inputs, *model.graph.outputs)}
    assert shapes == {
        "input_ids": "[2,3]",
        "past_key_values.0.key": "[2,4,p,16]",
        "past_key_values.0.value": "[2,4,p,16]",
        "logits": "[2,3,256]",
        "present.0.key": "[2,4,p + 3,16]",
        "present.0.value": "[2,4,p + 3,16]",
    }


def test_decode_takes_one_token_after_as_many_as_a_prefill_sees() -> None:
    model = zoo.build("llama2-7b", layers=1, mode="decode")
    assert str(model.graph.inputs[0].shape) == "[1,1]"
    assert str(model.graph.inputs[1].shape) == "[1,32,2048,128]"


# Full size


@pytest.mark.parametrize(
    ("name", "count"),
    [
        # Counts of Hugging Face for the language models and BERT, of torchvision for ResNet-50, whose running
        # means and variances are no parameters.
        ("bert-base", 109_482_240),
        ("llama-70b", 68_976_648_192),
        ("llama2-7b", 6_738_415_616),
        ("mixtral-8x7b", 46_702_792_704),
        ("mlp", 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10),
        ("qwen2.5-7b", 7_615_616_512),
        ("resnet50", 25_557_032),
        ("simple-attention", 4 * (768 * 768 + 768)),
    ],
)
def test_parameters_are_as_many_as_published(name: str, count: int) -> None:
    found = parameters(zoo.build(name))
    statistics = ("running_mean", "running_var")
    assert sum(math.prod(v.shape) for k, v in found.items() if not k.endswith(statistics)) == count


@pytest.mark.parametrize(("name", "bytes_each"), [("qwen2.5-7b", 2), ("resnet50", 4)])
def test_full_size_weights_are_declared_without_bytes(name: str, bytes_each: int) -> None:
    model = zoo.build(name)
    end_bytes = 0
    for value in parameters(model).values():
        tensor = value.const_value
        assert isinstance(tensor, ir.ExternalTensor)
        assert tensor.location == f"{name}.weights"
        assert not Path(tensor.path).exists()
        assert tensor.offset == end_bytes
        assert tensor.length == tensor.nbytes == math.prod(value.shape) * bytes_each
        end_bytes += tensor.length
    buffers = set(model.graph.initializers) - set(parameters(model))
    assert all(math.prod(model.graph.initializers[name].shape) <= 512 for name in buffers)
    assert len(ir.to_proto(model).SerializeToString()) < 20e6


def test_a_large_model_is_written_within_a_second() -> None:
    zoo.names()
    start = time.process_time()
    zoo.build("qwen2.5-7b", seq="s")
    assert time.process_time() - start < 1


# Small
