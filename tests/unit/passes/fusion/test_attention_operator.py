"""Attention that is one operator in the model becomes the attention kernel."""

from __future__ import annotations

import onnx
import pytest

from gexplorer.compiler import compile

HEAD = '<ir_version: 10, opset_import: ["": 23, "com.microsoft": 1, "own": 1]> '
Q = "float[1, 4, 8] q, float[1, 4, 8] k, float[1, 4, 8] v"


def compiled(text: str, **options: object):
    return compile(onnx.parser.parse_model(HEAD + text), **options)


@pytest.mark.parametrize(
    ("node", "heads"),
    [
        ("Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1, scale = 0.25> (q, k, v)", 2),
        ("com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (q, k, v)", 4),
    ],
    ids=["onnx", "com.microsoft"],
)
def test_it_becomes_the_kernel_and_computes_the_same(node, heads):
    done = compiled(f"g ({Q}) => (float[1, 4, 8] y) {{ y = {node} }}", verify="per-step")
    (kernel,) = done.graph
    assert (kernel.op, kernel.attributes["heads"]) == ("FlashAttentionScore", heads)
    assert [inner.op for inner in kernel.body] == [node.split(" ")[0].rpartition(".")[2]]


def test_an_operator_of_that_name_in_another_domain_is_left_alone():
    done = compiled(f"g ({Q}) => (y) {{ y = own.Attention(q, k, v) }}")
    assert [node.op for node in done.graph] == ["Attention"]
    assert done.steps["attention_operator"].rewrites == ()
