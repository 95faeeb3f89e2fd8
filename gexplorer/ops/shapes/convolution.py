"""Convolutions, pooling and resizing: operators whose windows slide over the spatial dimensions."""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.ir.dtypes import DType
from gexplorer.ir.symbols import Dim, Shape, floor_div
from gexplorer.ops.shapes.arithmetic import add, is_natural, multiply
from gexplorer.ops.shapes.elementwise import same_dtypes
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, tensor
from gexplorer.ops.shapes.registry import Call, shape_of


@dataclass(frozen=True, slots=True)
class Window:
    """The geometry of a sliding window, one entry a spatial axis.

    Attributes:
        kernel: sizes of the window.
        strides: distances between windows.
        dilations: distances between the elements within a window.
        before: padding at the low end.
        after: padding at the high end.
        auto: the ``auto_pad`` attribute.
    """

    kernel: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    auto: str


def window(call: Call, kernel: tuple[Dim, ...]) -> Window:
    """Reads the attributes that Conv and the pooling operators share."""
    node, rank = call.node, len(call.shape(0) or ()) - 2
    strides = node.integers("strides") or (1,) * rank
    dilations = node.integers("dilations") or (1,) * rank
    pads = node.integers("pads") or (0,) * (2 * rank)
    auto = node.attribute("auto_pad", "NOTSET")
    if not len(kernel) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise call.error(f"kernel, strides, dilations or pads do not have {rank} spatial axes")
    if any(number < 1 for number in strides + dilations):
        raise call.error("strides and dilations must be positive")
    text = auto.decode(errors="replace") if isinstance(auto, bytes) else str(auto)
    return Window(kernel, strides, dilations, pads[:rank], pads[rank:], text or "NOTSET")


def slid(dim: Dim, geometry: Window, axis: int, *, ceil: bool = False) -> Dim:
    """Number of windows: ``floor((dim + pads - extent) / stride) + 1``."""
    stride = geometry.strides[axis]
    extent = add(multiply(add(geometry.kernel[axis], -1), geometry.dilations[axis]), 1)
    if geometry.auto in ("SAME_UPPER", "SAME_LOWER"):
        return floor_div(add(dim, stride - 1), stride)
    before, after = (0, 0) if geometry.auto == "VALID" else (geometry.before[axis], geometry.after[axis])
    room = add(add(dim, before + after), None if extent is None else -extent)
    if isinstance(room, int) and room < 0:
        return None  # the window does not fit; onnxruntime rounds towards zero and goes on with one window
    if not ceil:
        return add(floor_div(room, stride), 1)
    return _ceiled(dim, room, stride, before)


def _ceiled(dim: Dim, room: Dim, stride: int, before: int) -> Dim:
    """Rounded up, where the last window must begin within the input or its low padding."""
    if stride == 1:
        return add(room, 1)
    if not isinstance(room, int) or not isinstance(dim, int):
        return None
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= dim + before else count


@shape_of("Conv")
def conv(call: Call) -> tuple[Fact, ...]:
    """``[n, c, ...] * [m, c/group, k...]`` gives ``[n, m, ...]``."""
    same_dtypes(call, range(len(call.inputs)))
    dtype = call.dtype(0) or call.dtype(1)
    return (UNKNOWN if dtype is None else tensor(dtype, conv_shape(call, call.shape(0), call.shape(1))),)


@shape_of("ConvInteger")
def conv_integer(call: Call) -> tuple[Fact, ...]:
    """As Conv, the result is int32."""
    return (tensor(DType.INT32, conv_shape(call, call.shape(0), call.shape(1))),)


def conv_shape(call: Call, data: Shape | None, weight: Shape | None) -> Shape | None:
    """The shape of a convolution's result; raises VerifyError where channels or ranks do not fit."""
    if data is None:
        return None if weight is None or len(weight) < 3 else (None, weight[0]) + (None,) * (len(weight) - 2)
    if len(data) < 3:
        raise call.error(f"the input must have batch, channels and spatial axes, its rank is {len(data)}")
    if weight is None:
        return (data[0],) + (None,) * (len(data) - 1)
    if len(weight) != len(data):
        raise call.error(f"input and weight differ in rank: {len(data)} and {len(weight)}")
    channels, each, group = data[1], weight[1], call.node.integer("group", 1)
    if isinstance(channels, int) and isinstance(each, int) and channels != each * group:
        raise call.error(f"{channels} channels do not fit {group} groups of {each}")
    geometry = window(call, call.node.integers("kernel_shape") or weight[2:])
    spatial = (slid(dim, geometry, axis) for axis, dim in enumerate(data[2:]))
    return (data[0], weight[0], *spatial)


@shape_of("ConvTranspose")
def conv_transpose(call: Call) -> tuple[Fact, ...]:
    """``stride * (dim - 1) + output_padding + extent - pads``, or what output_shape says."""
    same_dtypes(call, range(len(call.inputs)))
    type_, weight = call.tensor(0), call.shape(1)
    if type_ is None:
        return (UNKNOWN,)
    if type_.shape is None or weight is None or len(type_.shape) != len(weight) or len(weight) < 3:
        return (Fact(type_.with_shape(None)),)
    node, rank = call.node, len(weight) - 2
    geometry = window(call, node.integers("kernel_shape") or weight[2:])
    extra = node.integers("output_padding") or (0,) * rank
    wanted = node.integers("output_shape")
    if len(extra) != rank or (wanted and len(wanted) < rank):
        raise call.error(f"output_padding or output_shape do not have {rank} spatial axes")
    dims: list[Dim] = []
    for axis, dim in enumerate(type_.shape[2:]):
        stride = geometry.strides[axis]
        if wanted:
            dims.append(wanted[axis - rank])
            continue
        extent = add(multiply(add(geometry.kernel[axis], -1), geometry.dilations[axis]), 1)
        if geometry.auto.startswith("SAME"):
            # A window smaller than its stride would need negative padding, which onnxruntime does not do.
            fits = is_natural(add(extent, extra[axis] - stride))
            dims.append(multiply(dim, stride) if fits else None)
        else:
            pads = 0 if geometry.auto == "VALID" else geometry.before[axis] + geometry.after[axis]
            dims.append(add(add(multiply(add(dim, -1), stride), extent), extra[axis] - pads))
    return (tensor(type_.dtype, (type_.shape[0], multiply(weight[1], node.integer("group", 1)), *dims)),)


@shape_of("MaxPool", "AveragePool", "LpPool")
def pool(call: Call) -> tuple[Fact, ...]:
    """Batch and channels stay, windows slide over the rest; MaxPool may also give positions."""
    type_, kernel = call.tensor(0), call.node.integers("kernel_shape")
    if type_ is None:
        return (UNKNOWN, tensor(DType.INT64, None))[: len(call.node.outputs)]
    shape: Shape | None = None
    if type_.shape is not None and kernel is not None:
        if len(kernel) != len(type_.shape) - 2:
            raise call.error(f"a window of {len(kernel)} axes over a tensor of rank {len(type_.shape)}")
        geometry = window(call, kernel)
        spatial: tuple[Dim, ...] = (None,) * len(kernel)
        # With SAME padding onnxruntime pads as if there were no dilation, against the specification.
        if not geometry.auto.startswith("SAME") or max(geometry.dilations, default=1) == 1:
            ceil = call.node.integer("ceil_mode", 0) != 0
            windows = (slid(dim, geometry, axis, ceil=ceil) for axis, dim in enumerate(type_.shape[2:]))
            spatial = tuple(windows)
        shape = (*type_.shape[:2], *spatial)
    return (tensor(type_.dtype, shape), tensor(DType.INT64, shape))[: len(call.node.outputs)]


@shape_of("Resize", "Upsample")
def resize(call: Call) -> tuple[Fact, ...]:
    """Dimensions times scales rounded down, or the sizes that are given."""
    type_ = call.tensor(0)
    if type_ is None or type_.shape is None:
        return (Fact(type_),)
    rank = len(type_.shape)
    unknown = (Fact(type_.with_shape((None,) * rank)),)
    scales_at, sizes_at = (2, 3) if call.node.op == "Resize" and call.version >= 11 else (1, 4)
    axes = call.node.integers("axes") or tuple(range(rank))
    axes = tuple(call.axis(axis, rank) for axis in axes)
    dims = list(type_.shape)
    sizes = call.content(sizes_at) if call.has(sizes_at) else None
    if sizes is not None and len(sizes) == len(axes):
        if call.node.attribute("keep_aspect_ratio_policy", "stretch") not in ("stretch", b"stretch"):
            return unknown
        for axis, size in zip(axes, sizes, strict=True):
            dims[axis] = size if is_natural(size) else None
        return (Fact(type_.with_shape(tuple(dims))),)
    scales = _scales(call, scales_at)
    if scales is None or len(scales) != len(axes) or call.has(sizes_at):
        return unknown
    crop = call.node.attribute("coordinate_transformation_mode") in (
        "tf_crop_and_resize",
        b"tf_crop_and_resize",
    )
    for axis, scale in zip(axes, scales, strict=True):
        dims[axis] = None if crop else _scaled(dims[axis], scale)
    return (Fact(type_.with_shape(tuple(dims))),)


def _scales(call: Call, index: int) -> tuple[float, ...] | None:
    attribute = call.node.attribute("scales")
    if isinstance(attribute, tuple):  # Upsample before opset 9
        return tuple(float(scale) for scale in attribute)
    known = call.constant(index)
    if known is None or not known.is_small or not known.elements:
        return None
    return tuple(float(scale) for scale in known.array().reshape(-1).tolist())


def _scaled(dim: Dim, scale: float) -> Dim:
    if not 0 < scale < float("inf"):
        return None
    if isinstance(dim, int):
        size = dim * scale
        # The scale is a float32: what comes out just below a whole number may be meant to be it.
        return int(size) if size == int(size) or int(size * (1 - 1e-6)) == int(size * (1 + 1e-6)) else None
    if scale == int(scale):
        return multiply(dim, int(scale))
    inverse = 1 / scale
    return floor_div(dim, int(inverse)) if 1 < inverse < 1 << 31 and inverse == int(inverse) else None
