"""Plans are executed: every tensor lies in one block of bytes where the plan wants it, and results come out bit by bit.

Bytes are poisoned where a buffer's life ends, so that what is read too late is found as well. Operators run one by one
in onnxruntime, once with a place of their own for all tensors and once in the plan's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest

import gexplorer as gx
from gexplorer.ir.to_onnx import to_onnx
from gexplorer.memory.stage import Memory
from gexplorer.validation.inputs import random_inputs

ort = pytest.importorskip("onnxruntime")

POISON = 0xAA
SMALL = ("bert-base:small=true,layers=1", "qwen2.5-7b:small=true,layers=1", "mixtral-8x7b:small=true,layers=1")


class Pool:
    """The address space of a plan, as bytes."""

    def __init__(self, memory: Memory) -> None:
        self.live, self.program, self.addresses = memory.liveness, memory.program, memory.addresses
        self.pool = memory.pool_buffers
        self.number = {name: index for index, name in enumerate(self.program.tensors)}
        self.bytes = np.full(int((self.addresses + self.live.size_bytes).max(initial=0)), POISON, np.uint8)
        self.kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}
        self.elsewhere: dict[str, np.ndarray] = {}  # what lies inside a fused kernel, or has no size

    def put(self, name: str, value: np.ndarray) -> None:
        index = self.number.get(name)
        if index is None or self.live.buffer[index] < 0:
            self.elsewhere[name] = value
            return
        assert value.nbytes == self.program.size_bytes[index]
        self.kinds[name] = (value.dtype, value.shape)
        self.place(name)[:] = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)

    def get(self, name: str) -> np.ndarray:
        if name in self.elsewhere:
            return self.elsewhere[name]
        dtype, shape = self.kinds[name]
        return np.frombuffer(self.place(name).tobytes(), dtype).reshape(shape)

    def place(self, name: str) -> np.ndarray:
        index = self.number[name]
        begin = int(self.addresses[self.live.buffer[index]] + self.live.offset_bytes[index])
        return self.bytes[begin : begin + int(self.program.size_bytes[index])]

    def poison(self, point: int) -> None:
        for buffer in self.pool[self.live.last[self.pool] == point].tolist():
            begin = int(self.addresses[buffer])
            self.bytes[begin : begin + int(self.live.size_bytes[buffer])] = POISON


def execute(memory: Memory, put: Callable, get: Callable, after: Callable[[int], None]) -> list[bytes]:
    """The bytes of the results; tensors are kept by ``put`` and ``get``, and ``after`` is called behind each point."""
    model = to_onnx(memory.graph, value_info=False)
    for constant in model.graph.initializer:
        put(constant.name, onnx.numpy_helper.to_array(constant))
    for name, value in random_inputs(memory.graph, 0).items():
        put(name, value)
    point_of = {name: point for point, name in enumerate(memory.program.operators)}
    seen = 0
    for node in model.graph.node:
        inputs = {name: get(name) for name in node.input if name}
        for name, value in zip(filter(None, node.output), run_one(model, node, inputs), strict=True):
            put(name, value)
        if node.name in point_of:
            seen += 1
            after(point_of[node.name])
    assert seen == len(memory.program)
    return [get(result.name).tobytes() for result in model.graph.output]


def run_one(model: onnx.ModelProto, node: onnx.NodeProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    types = {name: onnx.helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in inputs.items()}
    graph = onnx.helper.make_graph(
        [node],
        "one",
        [onnx.helper.make_tensor_value_info(name, type_, None) for name, type_ in types.items()],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
    )
    one = onnx.helper.make_model(
        graph, opset_imports=model.opset_import, functions=model.functions, ir_version=model.ir_version
    )
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    return ort.InferenceSession(one.SerializeToString(), settings, providers=["CPUExecutionProvider"]).run(None, inputs)


def in_the_pool(memory: Memory) -> list[bytes]:
    pool = Pool(memory)
    return execute(memory, pool.put, pool.get, pool.poison)


def apart(memory: Memory) -> list[bytes]:
    places: dict[str, np.ndarray] = {}
    return execute(memory, places.__setitem__, places.__getitem__, lambda point: None)


@pytest.mark.parametrize(
    "options", [{}, {"preset": "unconfigured"}, {"preset": "unconfigured", "order": "memory_aware"}]
)
@pytest.mark.parametrize("model", SMALL)
def test_every_sound_plan_computes_the_same_bits(model, options):
    memory = gx.compile(model, **options).memory
    expected = apart(memory)
    for mode in ("balanced", "fast", "safe", "ge_blocks", "best_fit", "skyline"):
        planned = memory.what_if(mode=mode)
        assert planned.is_sound
        assert in_the_pool(planned) == expected, mode


@pytest.mark.parametrize("model", SMALL)
def test_what_the_verifier_refuses_computes_something_else(model):
    planned = gx.compile(model, memory="article_literal").memory
    assert not planned.is_sound
    assert in_the_pool(planned) != apart(planned)
