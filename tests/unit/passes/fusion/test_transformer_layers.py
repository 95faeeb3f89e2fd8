"""All rules together on whole decoders: what is left of a layer."""

from collections import Counter

import pytest

import gexplorer as gx
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.manager import all_passes
from gexplorer.views.summary import kernels
from tests.fused import SHARED

OVER_FUSING = {"ffn", "mega_kernel"}


@pytest.mark.parametrize("model", ["qwen2.5-7b", "corpus/exports/qwen28.onnx"])
def test_about_ten_kernels_a_layer(model):
    """From 2,061 and 1,733 kernels in 28 layers."""
    if model.endswith(".onnx") and not (SHARED / model).exists():
        pytest.skip("the shared models are not beside this checkout")
    rules = {p.name: True for p in all_passes() if issubclass(p, Rule) and p.name not in OVER_FUSING}
    graph = gx.compile(str(SHARED / model) if model.endswith(".onnx") else model, fusion=rules).graph
    names = kernels(graph)
    counts = Counter(graph.nodes[name].op for name in names)
    assert len(names) < 300
    assert [counts[op] for op in ("FlashAttentionScore", "ApplyRotaryPosEmb", "SwiGlu", "QkvMatMul")] == [
        28,
        28,
        28,
        27,
    ]
    assert counts["NormQkvMatMul"] == 1  # the first layer, before which nothing is added
