"""What our rules do with onnxruntime's fusion models, beside what onnxruntime does, model by model.

``ort_fusion_table.toml`` has a row for each model that compiles. Where our rules and onnxruntime's are not of the same
families, the row says ``why``; a ``note`` tells of a place in a model that agrees. Reasons that start with ``gap_`` are
ours to mend.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gexplorer.compiler import compile
from tests.numerics.test_ort_fusion_models import FOLDER, MODELS, REFUSED

_TABLE = tomllib.loads(Path(__file__).with_name("ort_fusion_table.toml").read_text(encoding="utf-8"))
REASONS: dict[str, str] = _TABLE["reasons"]
ROWS: dict[str, dict[str, object]] = _TABLE["models"]
INVENTORY = {e["f"]: e for e in json.loads((FOLDER / "INVENTORY.json").read_text())} if FOLDER.is_dir() else {}

# What onnxruntime may do, and which of our rules do the same; none where we have no such rule.
FAMILIES: Mapping[str, frozenset[str]] = {
    "norm": frozenset(("layer_norm", "rms_norm", "group_norm")),
    "add_norm": frozenset(("add_layer_norm", "add_rms_norm")),
    "gelu": frozenset(("gelu", "gelu_tanh")),
    "bias_gelu": frozenset(("matmul_activation", "elementwise_chain")),
    "relu_clip": frozenset(("elementwise_chain",)),
    "attention": frozenset(("flash_attention",)),
    "conv_activation": frozenset(("conv_activation", "conv_add_relu")),
    "conv_fold": frozenset(
        ("conv_batchnorm", "conv_batchnorm_epilogue", "conv_scale", "conv_bias", "conv_bias_epilogue")
    ),
    "pad_conv": frozenset(("pad_conv",)),
    "pad_pool": frozenset(("pad_pool",)),
    "matmul_add": frozenset(("matmul_bias", "matmul_residual")),
    "matmul_activation": frozenset(("matmul_activation", "linear_silu")),
    "matmul_transpose": frozenset(("matmul_transpose",)),
    "matmul_scale": frozenset(("matmul_scale",)),
    "matmul_batchnorm": frozenset(("matmul_batchnorm",)),
    "gemm_transpose": frozenset(("matmul_transpose",)),
    "quantised_matmul": frozenset(("dynamic_quantised_matmul", "quantised_matmul")),
    "quantised_conv": frozenset(("quantised_conv", "requantise")),
    "quantised_add": frozenset(("quantised_add",)),
}
# Of what onnxruntime has no counterpart, or only in its transformer optimiser; they may fire anywhere.
OURS = frozenset(
    ("attention_operator", "elementwise_chain", "qkv", "gate_up", "matmul_operator", "norm_matmul", "norm_qkv")
)

# Operators that onnxruntime leaves in a graph, and the family that made them.
_GAINED = {
    "LayerNormalization": "norm",
    "SimplifiedLayerNormalization": "norm",
    "SkipLayerNormalization": "add_norm",
    "Gelu": "gelu",
    "BiasGelu": "bias_gelu",
    "Attention": "attention",
    "FusedConv": "conv_activation",
    "FusedGemm": "matmul_activation",
    "DynamicQuantizeMatMul": "quantised_matmul",
    "QLinearConv": "quantised_conv",
    "QLinearAdd": "quantised_add",
}
# Operators that went into another one of the graph, in the models that are about that.
_ABSORBED = (
    ("fusion/fuse-conv", ("BatchNormalization", "Mul", "Add"), "conv_fold"),
    ("fusion/fuse-pad-avgpool", ("Pad",), "pad_pool"),
    ("fusion/fuse-pad", ("Pad",), "pad_conv"),
    ("fusion/gemm_sum", ("Sum",), "matmul_add"),
    ("fusion/gemm_transpose", ("Transpose",), "gemm_transpose"),
    ("fusion/matmul_scale", ("Mul", "Div"), "matmul_scale"),
    ("fusion/gpt2_past_one_layer", ("Div",), "matmul_scale"),
    ("fusion/transpose_matmul", ("Transpose",), "matmul_transpose"),
    ("propagate_cast/matmul_add_transpose_inputs", ("Transpose",), "matmul_transpose"),
    ("fusion/relu_clip", ("Relu",), "relu_clip"),
    ("runtime_optimization/matmulnbits", ("Add",), "matmul_add"),
)

pytestmark = pytest.mark.skipif(not MODELS, reason="onnxruntime's fusion models are not beside this checkout")


@dataclass(frozen=True)
class Done:
    """What our rules did with a model: how often each fired, and which near misses they told of."""

    fires: Mapping[str, int]
    near: tuple[str, ...]


def done(name: str) -> Done:
    steps = [step for step in compile(FOLDER / name).steps if step.is_fusion]
    fires = Counter(step.name for step in steps for rewrite in step.rewrites if rewrite.code == "fused")
    near = sorted({f"{step.name}: {reject.code}" for step in steps for reject in step.rejects})
    return Done(dict(sorted(fires.items())), tuple(near))


def families(name: str) -> list[str]:
    """What onnxruntime did with a model, from the operators that it gained and lost."""
    gained, gone = INVENTORY[name].get("new") or {}, INVENTORY[name].get("gone") or {}
    found = {_GAINED[op] for op in gained if op in _GAINED}
    if "Erf" in gone:
        found.add("gelu")
    if "add_norm" in found and "ReduceMean" in gone:
        found.add("norm")
    if "Gemm" in gained and "MatMul" in gone:
        found.add("matmul_batchnorm" if "BatchNormalization" in gone else "matmul_add")
    if "FusedMatMul" in gained:
        found.add("matmul_scale" if {"Mul", "Div"} & set(gone) else "matmul_transpose")
    absorbed = [(family, ops) for prefix, ops, family in _ABSORBED if name.startswith(prefix)]
    found |= {family for family, ops in absorbed[:1] if set(ops) & set(gone)}
    return sorted(found)


def agrees(theirs: list[str], fires: Mapping[str, int]) -> bool:
    """True when a rule of ours fired for all that onnxruntime did, and none for anything else."""
    rules = [FAMILIES[family] for family in theirs]
    return all(some & set(fires) for some in rules) and set(fires) <= OURS.union(*rules)


def test_every_model_that_compiles_has_a_row():
    assert sorted(ROWS) == sorted(set(MODELS) - set(REFUSED))


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    row, found, theirs = ROWS[name], done(name), families(name)
    assert row.get("ort", []) == theirs
    assert row.get("fires", {}) == found.fires
    if not theirs or set(found.fires) <= OURS:  # somebody declined
        assert row.get("near", []) == list(found.near)
    assert ("why" in row) != agrees(theirs, found.fires)


def test_every_reason_is_given_and_used():
    assert {row[key] for row in ROWS.values() for key in ("why", "note") if key in row} == set(REASONS)
