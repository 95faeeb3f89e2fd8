"""CANN operator names that depend on the node: its rank, its groups, its mode."""

from __future__ import annotations

from collections.abc import Sequence

from gexplorer.ir.graph import Ints, Node
from gexplorer.ir.types import TensorType, Type

Types = Sequence[Type | None]
Name = tuple[str, bool]  # the CANN operator type, and whether it is certain


def matmul(node: Node, inputs: Types) -> Name:
    """MatMulV2 for two matrices, BatchMatMulV2 as soon as one operand has more dimensions."""
    ranks = [_rank(inputs, index) for index in (0, 1)]
    if any(rank is not None and rank > 2 for rank in ranks):
        return "BatchMatMulV2", True
    return "MatMulV2", None not in ranks


def matmul_uncertain(node: Node, inputs: Types) -> Name:
    """As ``matmul``, for operators that no public ONNX parser of CANN knows."""
    return matmul(node, inputs)[0], False


def conv(node: Node, inputs: Types) -> Name:
    """Conv2D (of height 1 for one dimension), DepthwiseConv2D (a group a channel) or Conv3D."""
    spatial = _spatial(node, inputs)
    if spatial is None:
        return "Conv2D", False
    if spatial >= 3:
        return "Conv3D", spatial == 3
    group = node.integer("group", 1)
    if group == 1 or spatial == 1:
        return "Conv2D", True
    data = _tensor(inputs, 0)
    channels = data.shape[1] if data is not None and data.shape is not None and len(data.shape) > 1 else None
    if channels is None:
        # Without the channel count: a weight of one channel a group is what makes a convolution depthwise.
        weight = _tensor(inputs, 1)
        if weight is None or weight.shape is None:
            return "Conv2D", False
        return ("DepthwiseConv2D" if weight.shape[1] == 1 else "Conv2D"), True
    return ("DepthwiseConv2D" if channels == group else "Conv2D"), True


def conv_transpose(node: Node, inputs: Types) -> Name:
    """Conv2DTranspose or Conv3DTranspose."""
    spatial = _spatial(node, inputs)
    return ("Conv3DTranspose" if spatial == 3 else "Conv2DTranspose"), spatial in (1, 2, 3)


def max_pool(node: Node, inputs: Types) -> Name:
    """MaxPoolV3, MaxPool3D, or the one that gives the indices too."""
    if len(node.outputs) > 1 and node.outputs[1]:
        return "MaxPoolWithArgmaxV1", False
    spatial = _spatial(node, inputs)
    return ("MaxPool3D" if spatial == 3 else "MaxPoolV3"), spatial is not None


def average_pool(node: Node, inputs: Types) -> Name:
    """AvgPoolV2 or AvgPool3D."""
    spatial = _spatial(node, inputs)
    return ("AvgPool3D" if spatial == 3 else "AvgPoolV2"), spatial is not None


def batch_norm(node: Node, inputs: Types) -> Name:
    """BNInfer, or BatchNorm while training (before opset 14: where the running statistics are asked for)."""
    training = node.integer("training_mode", 0) or sum(map(bool, node.outputs)) > 1
    return ("BatchNorm" if training else "BNInfer"), True


def resize(node: Node, inputs: Types) -> Name:
    """By interpolation; for cubic only the general AI CPU operator is public."""
    mode = node.attribute("mode", "nearest")
    if mode == "cubic":
        return "Resize", False
    return ("ResizeNearestNeighborV2" if mode == "nearest" else "ResizeBilinearV2"), _rank(inputs, 0) in (
        None,
        4,
    )


def grid_sample(node: Node, inputs: Types) -> Name:
    """GridSampler2D or GridSampler3D."""
    rank = _rank(inputs, 0)
    return ("GridSampler3D" if rank == 5 else "GridSampler2D"), rank in (None, 4, 5)


def split(node: Node, inputs: Types) -> Name:
    """SplitD into equal parts, SplitVD into given sizes."""
    sized = "split" in node.attributes or (len(node.inputs) > 1 and node.inputs[1])
    return ("SplitVD" if sized else "SplitD"), True


def trilu(node: Node, inputs: Types) -> Name:
    """Triu or Tril."""
    return ("Triu" if node.integer("upper", 1) else "Tril"), True


def bit_shift(node: Node, inputs: Types) -> Name:
    """LeftShift or RightShift."""
    return ("LeftShift" if node.attribute("direction", "") == "LEFT" else "RightShift"), True


def mod(node: Node, inputs: Types) -> Name:
    """Mod (sign of the dividend, C's fmod) or FloorMod (sign of the divisor)."""
    return ("Mod" if node.integer("fmod", 0) else "FloorMod"), True


def dropout(node: Node, inputs: Types) -> Name:
    """DropOutDoMask where it may be training; without a training_mode input GE removes it as an identity."""
    return ("DropOutDoMask", False) if len(node.inputs) > 2 and node.inputs[2] else ("Identity", True)


def fast_gelu(node: Node, inputs: Types) -> Name:
    """FastGelu; with the bias that com.microsoft allows there is an addition in front."""
    return "FastGelu", not (len(node.inputs) > 1 and node.inputs[1])


def _tensor(inputs: Types, index: int) -> TensorType | None:
    found = inputs[index] if index < len(inputs) else None
    return found if isinstance(found, TensorType) else None


def _rank(inputs: Types, index: int) -> int | None:
    found = _tensor(inputs, index)
    return None if found is None else found.rank


def _spatial(node: Node, inputs: Types) -> int | None:
    kernel = node.attribute("kernel_shape")
    if isinstance(kernel, Ints):
        return len(kernel)
    for index in (0, 1):
        rank = _rank(inputs, index)
        if rank is not None:
            return rank - 2
    return None
