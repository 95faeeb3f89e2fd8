from __future__ import annotations

import ast
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest

from gexplorer.frontends import zoo
from gexplorer.frontends.zoo import discovery, models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAMES = (
    "bert-base",
    "llama-70b",
    "llama2-7b",
    "mixtral-8x7b",
    "mlp",
    "qwen2.5-7b",
    "resnet50",
    "simple-attention",
)
DECODERS = ("llama-70b", "llama2-7b", "mixtral-8x7b", "qwen2.5-7b")
BUFFERS = ("inv_freq", "position_ids", "token_type_ids")
CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpus" / "exports"


def executable(model: ir.Model) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    content = ir.to_proto(model).SerializeToString()
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]
    return lambda feeds: dict(zip(outputs, session.run(outputs, dict(feeds)), strict=True))


def run(model: ir.Model, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return executable(model)(feeds)


def random_feeds(model: ir.Model, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(7)
    feeds = {}
    for value in model.graph.inputs:
        shape = tuple(dim if isinstance(dim, int) else (sizes or {})[dim.value] for dim in value.shape)
        if value.name == "attention_mask":
            feeds[value.name] = np.ones(shape, np.int64)
        elif value.dtype == ir.DataType.INT64:
            feeds[value.name] = generator.integers(0, 200, shape)
        else:
            feeds[value.name] = generator.standard_normal(shape).astype(value.dtype.numpy())
    return feeds


def parameters(model: ir.Model) -> dict[str, ir.Value]:
    return {name: value for name, value in model.graph.initializers.items() if not name.endswith(BUFFERS)}


# The catalogue


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


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", NAMES)
def test_small_variant_runs_and_every_declared_shape_is_true(name: str, dtype: str) -> None:
    model = zoo.build(name, small=True, dtype=dtype)
    onnx.checker.check_model(ir.to_proto(model), full_check=True)
    declared = [value for node in model.graph for value in node.outputs if value.shape is not None]
    wanted = list(model.graph.outputs)
    model.graph.outputs.extend(value for value in declared if value not in wanted)
    found = run(model, random_feeds(model))
    for value in declared:
        real = found[value.name]
        assert real.dtype == value.dtype.numpy(), value.name
        assert len(real.shape) == len(value.shape), value.name
        for size, dim in zip(real.shape, value.shape, strict=True):
            # Only the number of tokens that an expert gets is not known beforehand.
            known = isinstance(dim, int) or not (name == "mixtral-8x7b" and dim.value.startswith("u"))
            assert not known or size == dim, value.name
    for value in wanted:
        assert np.isfinite(found[value.name]).all()
        assert np.ptp(found[value.name]) > 0.1


@pytest.mark.parametrize("name", [name for name in NAMES if name != "resnet50"])
def test_bfloat16_is_a_valid_model(name: str) -> None:
    model = zoo.build(name, small=True, dtype="bfloat16")
    onnx.checker.check_model(ir.to_proto(model), full_check=True)
    assert {value.dtype for value in parameters(model).values()} == {ir.DataType.BFLOAT16}


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_named_batch_do_not_touch_each_other(name: str) -> None:
    sequence = {"seq": "s"} if "seq" in zoo.describe(name).defaults else {}
    model = zoo.build(name, small=True, dtype="float32", batch="b", **sequence)
    together = random_feeds(model, {"b": 3, "s": 5})
    if "attention_mask" in together:
        together["attention_mask"][1, 3:] = 0
    found = run(model, together)
    fixed = executable(zoo.build(name, small=True, dtype="float32", **dict.fromkeys(sequence, 5)))
    for row in range(3):
        alone = fixed({key: array[row : row + 1] for key, array in together.items()})
        for key, array in alone.items():
            np.testing.assert_allclose(found[key][row : row + 1], array, rtol=2e-4, atol=2e-5)


def test_the_seed_decides_the_weights() -> None:
    def weights(**options: object) -> dict[str, bytes]:
        model = zoo.build("llama2-7b", small=True, **options)
        return {name: value.const_value.tobytes() for name, value in parameters(model).items()}

    first = weights(seed=3)
    assert len(set(first.values())) == len(first)
    assert first == weights(seed=3)
    other = weights(seed=4)
    assert all(first[name] != other[name] for name in first)
    shallow = weights(seed=3, layers=1)
    assert shallow == {name: first[name] for name in shallow}


def test_deep_random_models_stay_finite() -> None:
    model = zoo.build("qwen2.5-7b", small=True, layers=28)
    (logits,) = run(model, random_feeds(model)).values()
    assert logits.dtype == np.float16
    assert np.isfinite(logits).all()


# Numbers


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(("new", "named"), [(1, False), (1, True), (2, True)])
def test_decoding_with_the_cache_continues_a_prefill(name: str, new: int, named: bool) -> None:
    past, batch = 5, 2
    options = {"small": True, "dtype": "float32", "batch": batch}
    ids = np.random.default_rng(1).integers(0, 256, (batch, past + new))
    whole = run(zoo.build(name, **options, seq=past + new, use_cache=True), {"input_ids": ids})
    before = run(zoo.build(name, **options, seq=past, use_cache=True), {"input_ids": ids[:, :past]})
    cache = {key.replace("present", "past_key_values"): v for key, v in before.items() if key != "logits"}
    sizes = {"batch": "b", "seq": "s", "past": "p"} if named else {"seq": new, "past": past}
    step = zoo.build(name, **(options | {"mode": "decode"} | sizes))
    after = run(step, {"input_ids": ids[:, past:]} | cache)
    assert set(after) == set(whole)
    np.testing.assert_allclose(after["logits"], whole["logits"][:, past:], rtol=1e-4, atol=1e-5)
    for key in after.keys() - {"logits"}:
        np.testing.assert_allclose(after[key], whole[key], rtol=1e-4, atol=1e-5)


def test_a_token_does_not_see_those_after_it() -> None:
    model = zoo.build("llama2-7b", small=True, dtype="float32")
    ids = np.random.default_rng(2).integers(0, 256, (1, 8))
    changed = ids.copy()
    changed[0, 5] += 1
    before, after = (run(model, {"input_ids": tokens})["logits"] for tokens in (ids, changed))
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert np.abs(before[:, 5:] - after[:, 5:]).max() > 1e-3


def test_simple_attention_computes_the_formula_of_its_module() -> None:
    model = zoo.build("simple-attention", small=True)
    x = random_feeds(model)["x"]
    p = {name: value.const_value.numpy() for name, value in parameters(model).items()}

    def linear(name: str, y: np.ndarray) -> np.ndarray:
        return y @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    q, k, v = (linear(name, x) for name in ("q_proj", "k_proj", "v_proj"))
    scores = np.exp(q @ k.swapaxes(-1, -2) / 16**0.5)
    expected = linear("o_proj", scores / scores.sum(-1, keepdims=True) @ v)
    np.testing.assert_allclose(run(model, {"x": x})["output"], expected, rtol=1e-4, atol=1e-5)


def test_llama_computes_the_published_formulas() -> None:
    options = {"small": True, "dtype": "float32", "layers": 2, "seq": 6}
    model = zoo.build("llama-70b", **options)  # its small variant has 8 heads on 2 key-value heads
    p = {name: value.const_value.numpy().astype(np.float64) for name, value in parameters(model).items()}
    ids = np.random.default_rng(3).integers(0, 256, (1, 6))
    np.testing.assert_allclose(
        run(model, {"input_ids": ids})["logits"][0], reference_llama(p, ids[0], 2, 8, 2), rtol=1e-4, atol=1e-4
    )


def reference_llama(p: Mapping[str, np.ndarray], ids: np.ndarray, layers: int, heads: int, kv_heads: int) -> np.ndarray:
    """Logits (tokens, vocab), head by head and without any of the exporter's detours."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return p[f"{name}.weight"] * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)

    def turn(x: np.ndarray) -> np.ndarray:
        half = x.shape[-1] // 2
        angle = np.arange(len(x))[:, None] * 10_000.0 ** (-np.arange(half) / half)
        pairs = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * angle)
        return np.concatenate([pairs.real, pairs.imag], axis=-1)

    x = p["model.embed_tokens.weight"][ids]
    for i in range(layers):
        layer = f"model.layers.{i}"
        y = norm(x, f"{layer}.input_layernorm")
        q, k, v = (y @ p[f"{layer}.self_attn.{part}_proj.weight"].T for part in "qkv")
        size = q.shape[-1] // heads
        mixed = []
        for head in range(heads):
            shared = head // (heads // kv_heads)
            own = slice(head * size, (head + 1) * size)
            kv = slice(shared * size, (shared + 1) * size)
            scores = turn(q[:, own]) @ turn(k[:, kv]).T / np.sqrt(size)
            scores = np.exp(np.where(np.tri(len(ids), dtype=bool), scores, -np.inf))
            mixed.append(scores / scores.sum(-1, keepdims=True) @ v[:, kv])
        x = x + np.concatenate(mixed, axis=-1) @ p[f"{layer}.self_attn.o_proj.weight"].T
        y = norm(x, f"{layer}.post_attention_layernorm")
        gate = y @ p[f"{layer}.mlp.gate_proj.weight"].T
        up = y @ p[f"{layer}.mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ p[f"{layer}.mlp.down_proj.weight"].T
    return norm(x, "model.norm") @ p["lm_head.weight"].T


@pytest.mark.parametrize(
    ("name", "theta", "epsilon"),
    [
        ("llama-70b", 1e4, 1e-5),
        ("llama2-7b", 1e4, 1e-5),
        ("mixtral-8x7b", 1e6, 1e-5),
        ("qwen2.5-7b", 1e6, 1e-6),
    ],
)
def test_decoders_have_their_published_constants(name: str, theta: float, epsilon: float) -> None:
    graph = zoo.build(name, layers=1).graph
    frequencies = graph.initializers["model.rotary_emb.inv_freq"].const_value.numpy()
    np.testing.assert_allclose(frequencies, theta ** (-np.arange(64) / 64), rtol=1e-5)
    constants = [n.attributes["value"].value.numpy() for n in graph if "value" in n.attributes]
    small = {float(array) for array in constants if array.ndim == 0 and 0 < array < 1e-3}
    assert small == {float(np.float32(epsilon))}


@pytest.mark.parametrize("sizes", [{}, {"batch": "b", "seq": "s"}])
def test_mixture_is_the_weighted_sum_of_two_experts(sizes: dict[str, object]) -> None:
    model = zoo.build("mixtral-8x7b", small=True, dtype="float32", layers=1, **sizes)
    block = "model.layers.0.block_sparse_moe"
    x = last_value_in(model, "model.layers.0.post_attention_layernorm")
    y = last_value_in(model, block)
    model.graph.outputs.extend([x, y])
    found = run(model, random_feeds(model, {"b": 2, "s": 8}))
    p = {name: value.const_value.numpy() for name, value in parameters(model).items()}
    rows = found[x.name].reshape(-1, 64)
    logits = rows @ p[f"{block}.gate.weight"].T
    expected = np.zeros_like(rows)
    used = set()
    for row, logit, out in zip(rows, logits, expected, strict=True):
        best = np.argsort(logit)[-2:]
        share = np.exp(logit[best]) / np.exp(logit[best]).sum()
        for expert, weight in zip(best, share, strict=True):
            w1, w2, w3 = (p[f"{block}.experts.{expert}.w{i}.weight"] for i in (1, 2, 3))
            gate = w1 @ row
            out += weight * (w2 @ (gate / (1 + np.exp(-gate)) * (w3 @ row)))
            used.add(int(expert))
    assert len(used) > 2
    np.testing.assert_allclose(found[y.name].reshape(-1, 64), expected, rtol=1e-3, atol=1e-5)


def last_value_in(model: ir.Model, module: str) -> ir.Value:
    inside = [n for n in model.graph if scopes(n)[-2] == module]
    return inside[-1].outputs[0]


# Structure


def scopes(node: ir.Node) -> list[str]:
    return ast.literal_eval(node.metadata_props["pkg.torch.onnx.name_scopes"])


def classes(node: ir.Node) -> list[str]:
    return ast.literal_eval(node.metadata_props["pkg.torch.onnx.class_hierarchy"])


@pytest.mark.parametrize("name", NAMES)
def test_metadata_say_which_module_made_a_node(name: str) -> None:
    model = zoo.build(name, small=True)
    for node in model.graph:
        paths, owners = scopes(node), classes(node)
        assert len(paths) == len(owners) >= 2
        pairs = zip(paths, owners, strict=True)
        assert node.metadata_props["namespace"] == "/".join(f"{path}: {owner}" for path, owner in pairs)
    for value in parameters(model).values():
        module = value.name.rpartition(".")[0]
        assert {scopes(use.node)[-2] for use in value.uses()} == {module}


def test_no_node_is_dead() -> None:
    for name in NAMES:
        model = zoo.build(name, small=True)
        dead = [n for n in model.graph if not any(v.uses() or v.is_graph_output() for v in n.outputs)]
        assert dead == []


EXPORTS = {
    "qwen8": ("qwen2.5-7b", {"layers": 8, "batch": 1, "seq": "s"}),
    "qwen28": ("qwen2.5-7b", {"layers": 28, "batch": 1, "seq": "s"}),
    "bert": ("bert-base", {"batch": "b", "seq": "s", "hidden": 96, "intermediate": 384, "vocab": 1000}),
    "resnet50": ("resnet50", {"batch": "b", "hidden": 16, "image": 64, "classes": 2}),
}
QWEN_SIZES = {"hidden": 64, "heads": 8, "kv_heads": 2, "intermediate": 128, "vocab": 512, "dtype": "float32"}


@pytest.mark.skipif(not CORPUS.exists(), reason=f"the corpus of real exports is not at {CORPUS}")
@pytest.mark.parametrize("export", EXPORTS)
def test_nodes_are_those_of_a_real_export(export: str) -> None:
    """Node for node in order: operator, inputs, attributes, modules, calls, and declared results.

    What differs, and is taken out before comparing: the export wraps the model in a module whose attribute it
    is ("m."); names of values and numbers of calls; weights in another order; the export of Qwen declares its
    first values with a batch "b" although all later ones have fixed it to 1; that of BERT declares positions
    as "Min(512, s)" long.
    """
    name, options = EXPORTS[export]
    ours = zoo.build(name, **(options | (QWEN_SIZES if name == "qwen2.5-7b" else {})))
    theirs = ir.load(CORPUS / f"{export}.onnx")
    assert sorted(signature(v) for v in ours.graph.initializers.values()) == sorted(
        signature(v) for v in theirs.graph.initializers.values()
    )
    assert len(ours.graph) == len(theirs.graph)
    batch_became_1 = name == "qwen2.5-7b"
    pairs = zip(structure(ours, batch_became_1), structure(theirs, batch_became_1), strict=True)
    for mine, real in pairs:
        assert mine == real
    assert [value.dtype for value in ours.graph.outputs] == [value.dtype for value in theirs.graph.outputs]
    for buffer in set(ours.graph.initializers) - set(parameters(ours)):
        real = theirs.graph.initializers[f"m.{buffer}"].const_value.numpy()
        array = ours.graph.initializers[buffer].const_value.numpy()
        if buffer.endswith("inv_freq"):  # the export is of a model with another theta
            assert array.shape == real.shape
        else:
            np.testing.assert_array_equal(array, real)


def signature(value: ir.Value) -> tuple[str, str, str]:
    return value.name.removeprefix("m."), str(value.dtype), str(value.shape)


def structure(model: ir.Model, batch_became_1: bool) -> Iterator[dict[str, object]]:
    places: dict[ir.Value | None, object] = {value: i for i, value in enumerate(model.graph.inputs)}
    for value in model.graph.initializers.values():
        places[value] = value.name.removeprefix("m.")
    for number, node in enumerate(model.graph):
        for index, value in enumerate(node.outputs):
            places[value] = (number, index)
        paths, owners = scopes(node), classes(node)
        if owners[0].startswith("__main__."):
            paths, owners = ["", *paths[2:]], owners[1:]
        yield {
            "number": number,
            "operator": (node.domain, node.op_type),
            "inputs": tuple(places[value] for value in node.inputs),
            "attributes": {key: plain(attribute) for key, attribute in sorted(node.attributes.items())},
            "modules": [path.removeprefix("m.") for path in paths[:-1]],
            "classes": owners,
            "results": [declared(value, batch_became_1) for value in node.outputs if value.shape is not None],
        }


def plain(attribute: ir.Attr) -> object:
    if attribute.type == ir.AttributeType.TENSOR:
        tensor = attribute.value
        return str(tensor.dtype), tuple(tensor.shape), tensor.numpy().tolist()
    return float(np.float32(attribute.value)) if attribute.type == ir.AttributeType.FLOAT else attribute.value


def declared(value: ir.Value, batch_became_1: bool) -> tuple[str, list[object]]:
    dims = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
    same = {"Min(512, s)": "s"} | ({"b": 1} if batch_became_1 else {})
    return str(value.dtype), [same.get(dim, dim) for dim in dims]
