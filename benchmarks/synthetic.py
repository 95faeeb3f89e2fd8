"""Models of any number of nodes: one that gives every general pass something to do, one that nothing folds in."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Nodes that one block adds; a model of N nodes has N / NODES_PER_BLOCK blocks in a chain.
NODES_PER_BLOCK = 27
WIDTH = 64


def build(nodes: int) -> onnx.ModelProto:
    """A chain of equal blocks, about ``nodes`` nodes in all.

    A block is a linear layer with bias and activation on [batch, 8, 64], with what exporters leave around it:
    shape arithmetic for a reshape to heads and back, a pair of transposes, casts there and back, an Identity, a
    Dropout, a computation done twice, a constant subexpression, a dead branch and a residual connection. One mask
    feeds every block, as attention masks do.
    """
    generator = np.random.default_rng(0)
    initializers = [
        numpy_helper.from_array(np.array([1, 0], np.int64), "unused_shape"),
        numpy_helper.from_array(np.array(0.125, np.float32), "scale"),
        numpy_helper.from_array(np.array(2.0, np.float32), "two"),
        numpy_helper.from_array(np.array(0, np.int64), "zero"),
        numpy_helper.from_array(np.array([0], np.int64), "axis0"),
        numpy_helper.from_array(np.array([8, 4, 16], np.int64), "heads"),
        numpy_helper.from_array(np.array([8, WIDTH], np.int64), "flat"),
    ]
    weights = [(generator.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float32) for _ in range(4)]
    initializers += [numpy_helper.from_array(w, f"weight_{i}") for i, w in enumerate(weights)]
    made: list[onnx.NodeProto] = []
    current = "x"
    for block in range(max(1, nodes // NODES_PER_BLOCK)):
        current = _block(block, current, made, initializers)
    graph = helper.make_graph(
        made,
        f"synthetic_{nodes}",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8, WIDTH]),
            helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 8, WIDTH]),
        ],
        [helper.make_tensor_value_info(current, TensorProto.FLOAT, ["batch", 8, WIDTH])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def irregular(nodes: int) -> onnx.ModelProto:
    """Elementwise operators on [8, 64] without scopes and without repeats: nothing folds, every node is a box."""
    pick = np.random.default_rng(0)
    unary, binary = ("Relu", "Sigmoid", "Tanh", "Exp", "Abs", "Neg", "Softplus", "Erf"), ("Add", "Mul", "Max", "Sub")
    values, made = ["x"], list[onnx.NodeProto]()
    for index in range(nodes):
        inputs = [values[-1 - int(pick.integers(min(len(values), 3)))]]
        if index % 3 == 2:
            inputs = [values[-1], values[-1 - int(pick.integers(min(len(values), 12)))]]
        kind = str(pick.choice(unary if len(inputs) == 1 else binary))
        values.append(f"v{index}")
        made.append(helper.make_node(kind, inputs, [values[-1]], f"n{index}"))
    used = {name for node in made for name in node.input}
    results = [name for name in values[1:] if name not in used]
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 64])  # noqa: E731
    graph = helper.make_graph(made, f"irregular_{nodes}", [tensor("x")], [tensor(name) for name in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _block(block: int, x: str, made: list[onnx.NodeProto], initializers: list[onnx.TensorProto]) -> str:
    def op(kind: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        name = f"b{block}/{kind}_{len(made)}"
        names = [f"{name}:{i}" for i in range(outputs)]
        made.append(helper.make_node(kind, list(inputs), names, name, **attributes))
        return names[0]

    bias = f"b{block}/bias"
    initializers.append(numpy_helper.from_array(np.full(WIDTH, 0.01 * (block % 7), np.float32), bias))
    linear = op("Add", op("MatMul", x, f"weight_{block % 4}"), bias)
    batch = op("Unsqueeze", op("Gather", op("Shape", linear), "zero"), "axis0")
    split = op("Reshape", linear, op("Concat", batch, "heads", axis=0))
    turned = op("Transpose", op("Transpose", split, perm=[0, 2, 1, 3]), perm=[0, 2, 1, 3])
    batch_again = op("Unsqueeze", op("Gather", op("Shape", linear), "zero"), "axis0")
    joined = op("Reshape", turned, op("Concat", batch_again, "flat", axis=0))
    wide = op("Cast", op("Cast", joined, to=TensorProto.DOUBLE), to=TensorProto.FLOAT)
    active = op("Mul", wide, op("Sigmoid", wide))
    scaled = op("Mul", active, op("Sqrt", op("Mul", "scale", "two")))
    copied = op("Identity", op("Dropout", scaled, outputs=2))
    masked = op("Mul", copied, "mask")
    op("Neg", masked)
    return op("Add", op("Mul", op("Tanh", masked), op("Tanh", masked)), x)
