"""onnxruntime's own test models for graph rewrites: rule pairs, near misses and traps that somebody else thought of.

Every model compiles, with formats and without, and after every step gives what it gave, com.microsoft's operators
included. Those that cannot be compared are listed with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gexplorer.compiler import compile
from gexplorer.errors import GexplorerError, ModelError
from gexplorer.validation.equality import compare_steps, difference
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.run import run

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "ort_fusion"
MODELS = [entry["f"] for entry in json.loads((FOLDER / "INVENTORY.json").read_text())] if FOLDER.is_dir() else []

# Not valid ONNX, by the specification or by their own shapes.
REFUSED = {
    "fusion/attention_distilbert.onnx": "3 elements cannot be reshaped to 1",
    "fusion/fuse-conv-bn-mul-add-unsqueeze.onnx": "an output is listed twice",
    "fusion/fuse-matmul-bn-directly-dont-fuse.onnx": "input 1 has 5 elements for 1 channels",
    "fusion/fuse-matmul-bn-only-reshape.onnx": "input 1 has 5 elements for 1 channels",
    "fusion/fuse-matmul-bn-only-transpose.onnx": "input 1 has 5 elements for 1 channels",
    "fusion/reshape_fusion_multiple_values_in_initializer_tensor_1.onnx": "6000 elements cannot be reshaped to 4000",
    "multinomial_float16.onnx": "operator domain ai.onnx is imported in two versions",
}
_RANDOM = "the model draws random numbers"
_TRAINING = "is not a registered function/op"  # operators of onnxruntime's training build
NOT_RUN = {
    "fusion/embed_layer_norm_format1.onnx": "hidden_size should be divisible by num_heads",
    "fusion/embed_layer_norm_format4.onnx": "hidden_size should be divisible by num_heads",
    "fusion/embed_layer_norm_format7_opset13.onnx": "indices element out of data bounds",
    "cse/cse_random.onnx": _RANDOM,
    "fusion/bias_dropout_fusion2.onnx": _RANDOM,
    "fusion/bias_dropout_fusion_dim_is_param.onnx": _RANDOM,
    "fusion/bias_dropout_residual_fusion2.onnx": _RANDOM,
    "fusion/bias_dropout_residual_fusion_dim_is_param.onnx": _RANDOM,
    "fusion/bias_dropout_residual_fusion_mismatch.onnx": _RANDOM,
    "fusion/bias_dropout_residual_fusion_multiple_consumers1.onnx": _RANDOM,
    "fusion/bias_dropout_residual_fusion_multiple_consumers2.onnx": _RANDOM,
    "fusion/bias_dropout_residual_same_shape_fusion.onnx": _RANDOM,
    "fusion/bias_dropout_residual_same_shape_fusion_dim_is_param.onnx": _RANDOM,
    "random_normal_like_float16.onnx": _RANDOM,
    "fusion/bitmask_bias_dropout_fusion_basic.onnx": _TRAINING,
    "fusion/bitmask_bias_dropout_fusion_residual.onnx": _TRAINING,
    "fusion/bitmask_bias_dropout_replacement_basic.onnx": _TRAINING,
    "fusion/bitmask_dropout_replacement_basic.onnx": _TRAINING,
    "fusion/bitmask_dropout_replacement_multiple_mask_uses.onnx": _TRAINING,
    "recompute/3layer_bloom_optimized_training.onnx": _TRAINING,
    "recompute/recompute_tile.onnx": _TRAINING,
    "fusion/label_encoder.onnx": "random string[N] cannot be made",
    "fusion/reshape_fusion_concat_subgraph_not_triggered.onnx": "cannot reshape array of size 6000",
}
# It has no result to compare, and its input takes 3 GB.
TOO_LARGE = "fusion/matmul_integer_to_float_large_tensor.onnx"
# Sizes of symbolic dimensions that are not free.
_PAST = {"batch_size": 1, "seq_len": 2, "past_seq_len": 2, "total_seq_len": 4, "past_seq_len+seq_len": 4}
SIZES = {
    "fusion/attention_past_no_unidir.onnx": _PAST,
    "fusion/attention_past_unidir.onnx": _PAST,
    "fusion/gpt2_past_mask_one_layer.onnx": _PAST,
}
# onnxruntime keeps float32 between operators that it does not have in float16; a format between them makes it round.
# In the reference, which always rounds, nothing changes.
ROUNDED = "fusion/skip_layer_norm_input_output_with_cast_check.onnx"

pytestmark = pytest.mark.skipif(not MODELS, reason="onnxruntime's fusion models are not beside this checkout")


@pytest.mark.parametrize("formats", [False, True], ids=["plain", "formats"])
@pytest.mark.parametrize("name", [m for m in MODELS if m not in {*REFUSED, *NOT_RUN, ROUNDED, TOO_LARGE}])
def test_every_step_agrees(name, formats):
    found = compare_steps(
        compile(FOLDER / name, fusion={"format_assignment": formats}).steps, (0, 1), sizes=SIZES.get(name)
    )
    assert [f"{c.step}: {c.output} (seed {c.seed}): {c.fault}" for c in found if c.fault] == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_valid_model_is_refused_by_name(name):
    with pytest.raises(GexplorerError) as caught:
        compile(FOLDER / name)
    assert REFUSED[name] in str(caught.value)


@pytest.mark.parametrize("name", NOT_RUN)
def test_what_does_not_run_compiles(name):
    compiled = compile(FOLDER / name, fusion={"format_assignment": True})
    with pytest.raises(ModelError) as caught:
        compare_steps(compiled.steps)
    assert NOT_RUN[name] in str(caught.value)


def test_the_large_one_compiles():
    assert compile(FOLDER / TOO_LARGE, fusion={"format_assignment": True}).graph is not None


def test_where_float16_is_rounded_the_reference_sees_no_difference():
    compiled = compile(FOLDER / ROUNDED, fusion={"format_assignment": True})
    for seed in range(5):
        feeds = random_inputs(compiled.steps["infer_shapes"].after, seed)
        before, after = (run(graph, feeds, "reference") for graph in (compiled.steps[0].after, compiled.graph))
        assert [difference(a, b)[2] for a, b in zip(before, after, strict=True)] == [""] * len(before)


def test_the_lists_name_models_that_are_there():
    assert {*REFUSED, *NOT_RUN, ROUNDED, TOO_LARGE} <= set(MODELS)
