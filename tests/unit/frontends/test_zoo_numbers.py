"""The zoo's models compute what their papers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from gexplorer.frontends import zoo

if TYPE_CHECKING:
    from collections.abc import Mapping
from tests.zoo_models import DECODERS, NAMES, executable, parameters, random_feeds, run, scopes


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
