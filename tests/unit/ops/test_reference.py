"""The mended operators of onnx's reference evaluator against onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from gexplorer.ops.reference import reference_evaluator


def one_node(op: str, inputs: list[np.ndarray], opset: int = 18, **attributes) -> tuple[onnx.ModelProto, dict]:
    """A model of one node and its inputs by name."""
    feeds = {f"i{k}": array for k, array in enumerate(inputs)}
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    node = helper.make_node(op, list(feeds), ["o"], **attributes)
    graph = helper.make_graph([node], "one", types, [onnx.ValueInfoProto(name="o")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), feeds


def check(op: str, inputs: list[np.ndarray], opset: int = 18, **attributes) -> None:
    model, feeds = one_node(op, inputs, opset, **attributes)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, feeds)
    (got,) = reference_evaluator(model).run(None, feeds)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)


def shape_of(random: np.random.Generator) -> tuple[int, ...]:
    return tuple(random.integers(1, 5, size=random.integers(1, 5)).tolist())


@pytest.mark.parametrize("seed", range(30))
def test_gather_elements_along_every_axis(seed: int):
    random = np.random.default_rng(seed)
    shape = shape_of(random)
    data = random.standard_normal(shape).astype(np.float32)
    for axis in range(-len(shape), len(shape)):
        smaller = [int(random.integers(1, size + 1)) for size in shape]
        smaller[axis] = int(random.integers(1, 6))
        indices = random.integers(-shape[axis], shape[axis], size=smaller)
        check("GatherElements", [data, indices], axis=axis)
        check("GatherElements", [data, indices.astype(np.int32)], axis=axis)


def test_gather_elements_without_an_axis_and_without_indices():
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    check("GatherElements", [data, np.array([[1, 0, 1]])])
    check("GatherElements", [data, np.zeros((0, 3), dtype=np.int64)])


@pytest.mark.parametrize("seed", range(60))
def test_slices_with_borders_far_outside(seed: int):
    random = np.random.default_rng(seed)
    shape = shape_of(random)
    axes = random.permutation(len(shape))[: random.integers(1, len(shape) + 1)]
    far = [-(2**63), 2**63 - 1, *range(-6, 7)]
    starts, ends = (random.choice(np.array(far, dtype=object), axes.size).astype(np.int64) for _ in range(2))
    steps = random.choice([1, 2, -1, -2, -7], axes.size)
    # onnxruntime takes the largest number as "to the very end" backwards too, which the specification does not
    ends[(steps < 0) & (ends == 2**63 - 1)] -= 1
    data = np.arange(np.prod(shape)).reshape(shape)
    check("Slice", [data, starts, ends, axes - len(shape) * random.integers(0, 2, axes.size), steps])


def test_slices_without_axes_or_steps():
    data = np.arange(12).reshape(3, 4)
    check("Slice", [data, np.array([1, -2]), np.array([9, 9])])
    check("Slice", [data, np.array([-1]), np.array([9]), np.array([-1])])


def test_a_slice_by_attributes_is_left_to_the_evaluator():
    model, feeds = one_node("Slice", [np.arange(12).reshape(3, 4)], opset=9, starts=[1], ends=[3], axes=[1])
    (got,) = reference_evaluator(model).run(None, feeds)
    np.testing.assert_array_equal(got, np.arange(12).reshape(3, 4)[:, 1:3])


@pytest.mark.parametrize("opset", [10, 13, 18, 19, 21])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_dequantize_linear_in_every_version(opset: int, axis: int | None):
    if axis is not None and opset < 13:
        pytest.skip("before opset 13 there was no axis")
    random = np.random.default_rng(0)
    data = random.integers(-128, 128, size=(3, 5)).astype(np.int8)
    size = () if axis is None else (data.shape[axis],)
    scale = random.uniform(0.1, 2, size=size).astype(np.float32)
    zero = random.integers(-5, 5, size=size).astype(np.int8)
    check("DequantizeLinear", [data, scale, zero], opset, **({} if axis is None else {"axis": axis}))
    check("DequantizeLinear", [data.astype(np.int32), scale], opset, **({} if axis is None else {"axis": axis}))
