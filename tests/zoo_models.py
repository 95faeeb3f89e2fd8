"""Models of the zoo: their names, how to run them, and what they are fed with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir
import onnxruntime as ort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def scopes(node: ir.Node) -> list[str]:
    return ast.literal_eval(node.metadata_props["pkg.torch.onnx.name_scopes"])
