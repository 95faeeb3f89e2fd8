"""Normalisations and softmaxes: the data's type, and some statistics beside it."""

from __future__ import annotations

from dataclasses import replace

from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Shape
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, tensor
from gexplorer.ops.shapes.registry import Call, shape_of


@shape_of("Softmax", "LogSoftmax", "Hardmax")
def softmax(call: Call) -> tuple[Fact, ...]:
    """The type of the data. Before opset 13 an axis may point behind the last dimension."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,)
    if type_.shape is not None and call.version >= 13:
        call.axis(call.node.integer("axis", -1), len(type_.shape))
    return (Fact(type_),)


@shape_of("InstanceNormalization", "GroupNormalization")
def same(call: Call) -> tuple[Fact, ...]:
    """The type of the data."""
    return (Fact(call.tensor(0)),)


@shape_of("RMSNormalization")
def rms_normalization(call: Call) -> tuple[Fact, ...]:
    """The data's shape in the scale's element type."""
    dtype = call.dtype(1)
    return (UNKNOWN if dtype is None else tensor(dtype, call.shape(0)),)


@shape_of("BatchNormalization")
def batch_normalization(call: Call) -> tuple[Fact, ...]:
    """The data's type, then mean and variance of each channel."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,) * len(call.node.outputs)
    channels: Shape | None = None
    if type_.shape is not None:
        channels = type_.shape[1:2] or (1,)
        for index in range(1, len(call.inputs)):
            shape = call.shape(index)
            if shape is None or call.version < 7:
                continue
            if len(shape) != 1:
                raise call.error(f"input {index} must have one dimension, it has {len(shape)}")
            if isinstance(shape[0], int) and isinstance(channels[0], int) and shape[0] != channels[0]:
                raise call.error(f"input {index} has {shape[0]} elements for {channels[0]} channels")
    facts = [Fact(type_)]
    for index in range(1, len(call.node.outputs)):
        statistics = call.tensor(3 if index % 2 else 4)
        facts.append(Fact(TensorType((statistics or type_).dtype, channels)))
    return tuple(facts)


@shape_of("LayerNormalization")
def layer_normalization(call: Call) -> tuple[Fact, ...]:
    """The data's type, then mean and inverse deviation with the normalised axes as 1.

    Before ONNX had it (17), the operator was onnxruntime's, and its result had the element type of the scale.
    """
    type_ = call.tensor(0)
    scale = call.dtype(1)
    if type_ is None or (call.version < 17 and scale is None):
        return (UNKNOWN,)
    if call.version < 17 and scale is not None:
        type_ = replace(type_, dtype=scale)
    shape: Shape | None = None
    if type_.shape is not None:
        axis = call.axis(call.node.integer("axis", -1), len(type_.shape))
        shape = type_.shape[:axis] + (1,) * (len(type_.shape) - axis)
    statistics = call.element_type(call.node.integer("stash_type", 1))
    return (Fact(type_), tensor(statistics, shape), tensor(statistics, shape))[: len(call.node.outputs)]


@shape_of("Dropout")
def dropout(call: Call) -> tuple[Fact, ...]:
    """The data's type, and a mask: boolean from opset 10 on."""
    type_ = call.tensor(0)
    if type_ is None:
        return (UNKNOWN,)
    mask = DType.BOOL if call.version >= 10 else type_.dtype
    return (Fact(type_), tensor(mask, type_.shape))[: len(call.node.outputs)]
