"""Every kernel of every suite: no generator fails, and what has a program runs as the reference does, byte by byte.

A part of each suite; all with ``GEXPLORER_FULL=1`` (minutes).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gexplorer.frontends import zoo
from gexplorer.kernels.generators.vector import VectorUnit
from tests.backend_suite import light_models, node_cases
from tests.kernel_sweep import FULL, compiled_of, faults
from tests.random_models import ModelMaker

SHARED = Path(__file__).parents[3] / "shared"
CORPUS = sorted(SHARED.glob("corpus/*/*.onnx"))
FUSIONS = sorted(p for p in SHARED.glob("data/ort_fusion/**/*.onnx") if "large_tensor" not in p.name)  # 3 GB of inputs
NAMED = {  # each had a generator fail, or a program give other numbers
    "test_causal_conv_with_state_kernel_size_one_expanded",
    "test_reduce_l1_empty_set_expanded",
    "test_attention_4d_expanded",
    "test_cast_FLOAT_to_FLOAT16",
}
SEEDS = range(400) if FULL else (45, 278, 389, *range(8))
ZOO = [*(f"{name}:small=true" for name in zoo.names()), "qwen2.5-7b:small=true,seq=s,batch=1"]
FORMATS = {"fusion": {"format_assignment": True}}


def swept(models, soc="Ascend910B3"):
    """Names of the kernels that are at fault, and how many agree. ``models``: name, model, inputs, options."""
    found, ran = [], 0
    for name, model, inputs, options in models:
        compiled = compiled_of(model, soc, **options)
        for fault in faults(compiled, inputs) if compiled is not None else ():
            ran += fault == "ran"
            found += [f"{name}: {fault}"] if fault != "ran" else []
    return found, ran


def part(entries, step):
    return list(entries)[:: 1 if FULL else step]


def test_onnx_backend_models():
    cases = node_cases()
    chosen = dict.fromkeys([*part(cases, 100), *NAMED])
    found, ran = swept((name, cases[name].model, cases[name].data_sets[0][0], {}) for name in chosen)
    assert found == []
    assert ran >= (1700 if FULL else 12)


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend910A"])
def test_random_models(soc):
    models = ((f"seed {seed}", ModelMaker(random.Random(seed)).model(), None, {}) for seed in SEEDS)
    found, ran = swept(models, soc)
    assert found == []
    assert ran >= len(SEEDS) / 2


@pytest.mark.parametrize("options", [{}, FORMATS], ids=["plain", "formats"])
def test_zoo(options):
    models = ZOO if FULL else ["mixtral-8x7b:small=true", "qwen2.5-7b:small=true,seq=s,batch=1"]
    found, ran = swept((name, name, None, options) for name in models)
    assert found == []
    assert ran >= 10 * len(models)


def test_light_models():
    found, _ = swept((path.stem, path, None, {}) for path in part(light_models(), 9))
    assert found == []


@pytest.mark.parametrize("options", [{}, FORMATS], ids=["plain", "formats"])
@pytest.mark.skipif(not CORPUS, reason="the corpus of models is not beside this checkout")
def test_corpus(options):
    small = [path for path in CORPUS if FULL or path.stat().st_size < 1_000_000]
    found, ran = swept((path.stem, path, None, options) for path in part(small, 4))
    assert found == []
    assert ran


@pytest.mark.parametrize("options", [{}, FORMATS], ids=["plain", "formats"])
@pytest.mark.skipif(not FUSIONS, reason="onnxruntime's fusion models are not beside this checkout")
def test_fusion_models(options):
    named = ("cast_elimination.onnx", "slice-v1-elim.onnx", "fuse_back2back_casts_float16_float.onnx")
    small = [path for path in FUSIONS if FULL or path.stat().st_size < 1_000_000]
    paths = dict.fromkeys([*part(small, 40), *(path for path in FUSIONS if path.name in named)])
    found, ran = swept((path.name, path, None, options) for path in paths)
    assert found == []
    assert ran


def test_what_a_generator_raises_is_found(monkeypatch):
    monkeypatch.setattr(VectorUnit, "choose", lambda self, kernel, searches: kernel.nothing)
    found, _ = swept([("resnet50", "resnet50:small=true", None, {})])
    assert found
    assert all("generator vector: AttributeError at test_kernel_sweep.py" in fault for fault in found)
