"""Shapes of onnxruntime's own operators, beside what onnxruntime gives."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from gexplorer.frontends.onnx import read
from gexplorer.ir.graph import Node
from gexplorer.ops.shapes import has_shape_rule, infer_graph
from gexplorer.ops.shapes.foreign_quantised import QUANTISED
from gexplorer.ops.table import entries

F, I32, I64, U8, I8 = np.float32, np.int32, np.int64, np.uint8, np.int8


def array(*shape, dtype=F):
    return np.random.default_rng(0).integers(0, 2, shape).astype(dtype)


SCALE, ZERO = np.array(0.5, F), np.array(0, U8)
# Operator, inputs ("" for an absent one), how many outputs, attributes.
CASES = {
    "FusedMatMul": ("FusedMatMul", [array(2, 4, 3), array(2, 5, 4)], 1, {"transA": 1, "transB": 1, "alpha": 2.0}),
    "FusedMatMul, batch axes": ("FusedMatMul", [array(3, 2, 4), array(2, 5, 4)], 1, {"transBatchA": 1, "transB": 1}),
    "FusedMatMul, both": ("FusedMatMul", [array(4, 2, 3), array(2, 4, 5)], 1, {"transBatchA": 1, "transA": 1}),
    "TransposeMatMul": ("TransposeMatMul", [array(4, 3), array(4, 5)], 1, {"transA": 1}),
    "FusedGemm": ("FusedGemm", [array(4, 3), array(4, 5)], 1, {"transA": 1, "activation": "Relu"}),
    "FusedConv": ("FusedConv", [array(1, 2, 5, 5), array(3, 2, 3, 3)], 1, {"activation": "Relu"}),
    "MatMulNBits": (
        "MatMulNBits",
        [array(2, 3, 32), array(6, 1, 16, dtype=U8), array(6)],
        1,
        {"K": 32, "N": 6, "bits": 4, "block_size": 32},
    ),
    "MatMulIntegerToFloat": (
        "MatMulIntegerToFloat",
        [array(2, 3, dtype=U8), array(3, 4, dtype=U8), SCALE, SCALE],
        1,
        {},
    ),
    "DynamicQuantizeMatMul": ("DynamicQuantizeMatMul", [array(2, 3), array(3, 4, dtype=U8), SCALE], 1, {}),
    "QLinearAdd": (
        "QLinearAdd",
        [array(2, 3, dtype=U8), SCALE, ZERO, array(1, 3, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {},
    ),
    "QLinearMul": (
        "QLinearMul",
        [array(2, 1, dtype=U8), SCALE, ZERO, array(4, 1, 3, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {},
    ),
    "QLinearLeakyRelu": (
        "QLinearLeakyRelu",
        [array(2, 3, dtype=I8), SCALE, np.array(0, I8), SCALE, np.array(0, I8)],
        1,
        {"alpha": 0.5},
    ),
    "QLinearSigmoid": ("QLinearSigmoid", [array(2, 3, dtype=U8), SCALE, ZERO, SCALE, ZERO], 1, {}),
    "QLinearSoftmax": (
        "QLinearSoftmax",
        [array(2, 3, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {"axis": 1, "opset": 17},
    ),
    "QLinearWhere": (
        "QLinearWhere",
        [array(3, dtype=bool), array(2, 1, dtype=U8), SCALE, ZERO, array(4, 1, 1, dtype=U8), *[SCALE, ZERO] * 2],
        1,
        {},
    ),
    "QLinearConcat": (
        "QLinearConcat",
        [SCALE, ZERO, *[array(2, 3, dtype=U8), SCALE, ZERO], *[array(2, 5, dtype=U8), SCALE, ZERO]],
        1,
        {"axis": -1},
    ),
    "QLinearGlobalAveragePool": (
        "QLinearGlobalAveragePool",
        [array(2, 3, 4, 5, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {},
    ),
    "QLinearGlobalAveragePool, channels last": (
        "QLinearGlobalAveragePool",
        [array(2, 4, 5, 3, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {"channels_last": 1},
    ),
    "QLinearAveragePool": (
        "QLinearAveragePool",
        [array(1, 3, 8, 9, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0], "ceil_mode": 1},
    ),
    "QLinearAveragePool, channels last": (
        "QLinearAveragePool",
        [array(1, 8, 9, 3, dtype=U8), SCALE, ZERO, SCALE, ZERO],
        1,
        {"kernel_shape": [3, 2], "channels_last": 1},
    ),
    "QLinearConv, channels last": (
        "QLinearConv",
        [array(1, 8, 9, 2, dtype=U8), SCALE, ZERO, array(4, 2, 3, 2, dtype=U8), *[SCALE, ZERO] * 2],
        1,
        {"kernel_shape": [3, 2], "channels_last": 1},
    ),
    "DequantizeLinear": ("DequantizeLinear", [array(2, 3, dtype=U8), SCALE, ZERO], 1, {}),
    "QuantizeLinear": ("QuantizeLinear", [array(2, 3), SCALE, np.array(0, I8)], 1, {}),
    "SkipLayerNormalization": (
        "SkipLayerNormalization",
        [array(2, 3, 4), array(2, 3, 4), array(4), array(4)],
        4,
        {"epsilon": 0.5},
    ),
    "EmbedLayerNormalization": (
        "EmbedLayerNormalization",
        [array(2, 3, dtype=I32), "", array(5, 4), array(6, 4), "", array(4), array(4), array(2, 3, dtype=I32)],
        3,
        {"epsilon": 0.5},
    ),
    "Attention": ("Attention", [array(2, 3, 4), array(4, 12), array(12)], 1, {"num_heads": 2}),
    "Attention, sizes": (
        "Attention",
        [array(2, 3, 4), array(4, 14), array(14)],
        1,
        {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 6]},
    ),
    "Attention, past": (
        "Attention",
        [array(2, 3, 4), array(4, 12), array(12), "", array(2, 2, 2, 5, 2)],
        2,
        {"num_heads": 2, "unidirectional": 1},
    ),
    "MultiHeadAttention": (
        "MultiHeadAttention",
        [array(2, 3, 4), array(2, 5, 4), array(2, 5, 6)],
        1,
        {"num_heads": 2},
    ),
    "GroupQueryAttention, packed": (
        "GroupQueryAttention",
        [array(1, 3, 64), "", "", array(1, 2, 8, 8), array(1, 2, 8, 8), np.array([2], I32), np.array(3, I32)],
        3,
        {"num_heads": 4, "kv_num_heads": 2},
    ),
    "GroupQueryAttention": (
        "GroupQueryAttention",
        [
            array(1, 3, 32),
            array(1, 3, 16),
            array(1, 3, 16),
            array(1, 2, 8, 8),
            array(1, 2, 8, 8),
            np.array([2], I32),
            np.array(3, I32),
        ],
        3,
        {"num_heads": 4, "kv_num_heads": 2},
    ),
    "RotaryEmbedding": (
        "RotaryEmbedding",
        [array(1, 2, 3, 4), np.arange(3, dtype=I64).reshape(1, 3), array(5, 2), array(5, 2)],
        1,
        {},
    ),
}


@pytest.mark.parametrize(("op", "inputs", "outputs", "attributes"), CASES.values(), ids=CASES)
def test_what_is_known_is_what_onnxruntime_gives(op, inputs, outputs, attributes):
    names = [f"i{index}" if isinstance(item, np.ndarray) else "" for index, item in enumerate(inputs)]
    feeds = {name: item for name, item in zip(names, inputs, strict=True) if name}
    made = [f"o{index}" for index in range(outputs)]
    node = helper.make_node(op, names, made, "node", domain="com.microsoft", **attributes)
    types = {name: helper.np_dtype_to_tensor_dtype(item.dtype) for name, item in feeds.items()}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, types[name], item.shape) for name, item in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in made],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    facts = infer_graph(read(model).graph)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    known = 0
    for name, value in zip(made, session.run(None, feeds), strict=True):
        type_ = facts[name].type
        if type_ is None or value is None:
            continue
        known += 1
        assert type_.dtype.numpy() == value.dtype
        dims = list(zip(type_.shape, value.shape, strict=True))
        assert [dim for dim, size in dims if dim not in (None, size)] == []
        assert name != "o0" or None not in type_.shape
    assert known


def test_every_quantised_operator_with_a_rule_is_in_the_operator_table_and_is_tried_here():
    assert {op for op, *_ in CASES.values() if op.startswith("QLinear")} == set(QUANTISED)
    assert {op for domain, op in ((domain, entry.row.op) for domain, entry in entries()) if domain} >= set(QUANTISED)


@pytest.mark.parametrize(
    ("op", "domain", "known"),
    [
        ("QLinearLeakyRelu", "com.microsoft", True),  # ours
        ("NonZero", "", True),  # ONNX's: its size depends on data, but that is a rule
        ("DFT", "", True),
        ("Scaler", "ai.onnx.ml", False),  # ONNX defines it, and does not say what comes out
        ("Strange", "mine", False),
        ("Strange", "", False),
        ("QMoE", "com.microsoft", False),
    ],
)
def test_who_has_a_shape_rule(op, domain, known):
    assert has_shape_rule(Node("n", op, ("x",), ("y",), domain=domain)) is known
