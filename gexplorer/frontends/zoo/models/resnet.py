"""ResNet-50 (He et al., arXiv:1512.03385) with the stride in the 3x3 convolution (variant v1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.entry import Dim, ModelOptions, ZooEntry
from gexplorer.frontends.zoo.tokens import read_size
from gexplorer.frontends.zoo.weights import weight_source
from gexplorer.frontends.zoo.writer import OPSET, Writer, dims_of

if TYPE_CHECKING:
    import onnx_ir as ir

_STAGES = (3, 4, 6, 3)
_EXPANSION = 4
_SEQUENTIAL = "torch.nn.modules.container.Sequential"
_PACKAGE = "transformers.models.resnet.modeling_resnet"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResNetOptions(ModelOptions):
    """Options of the network.

    Attributes:
        hidden: channels after the first convolution; stages have 4, 8, 16 and 32 times as many.
        image: height and width of the input in pixels.
        classes: number of classes.
    """

    hidden: int = 64
    image: int = 224
    classes: int = 1000

    def check(self) -> None:
        """Raise ValueError if values do not fit each other."""
        if self.dtype == "bfloat16":
            raise ValueError(f"dtype=bfloat16 does not fit: opset {OPSET} has no convolution of that type")


def write_resnet50(name: str, options: ResNetOptions) -> ir.Model:
    """Write ResNet-50: ``pixel_values`` (batch, 3, image, image) to ``logits`` (batch, classes)."""
    source = weight_source(name, options.weights, options.seed)
    w = Writer(f"{_PACKAGE}.ResNetForImageClassification", dtype=options.dtype, weights=source)
    x = w.input("pixel_values", (options.batch, 3, options.image, options.image))
    if isinstance(options.batch, str):
        w.bind(options.batch, read_size(w, x, 0))
    with w.module("resnet", f"{_PACKAGE}.ResNetModel"):
        with w.module("embedder", f"{_PACKAGE}.ResNetEmbeddings"):
            x = _convolution(w, "embedder", x, options.hidden, kernel=7, stride=2)
            x = _max_pool(w, x)
        with w.module("encoder", f"{_PACKAGE}.ResNetEncoder"):
            for stage, blocks in enumerate(_STAGES):
                with w.module(f"stages.{stage}", f"{_PACKAGE}.ResNetStage"):
                    channels = options.hidden * _EXPANSION * 2**stage
                    for block in range(blocks):
                        stride = 2 if stage > 0 and block == 0 else 1
                        with w.module(f"layers.{block}", f"{_PACKAGE}.ResNetBottleNeckLayer"):
                            x = _bottleneck(w, x, channels, stride)
        with w.module("pooler", "torch.nn.modules.pooling.AdaptiveAvgPool2d"):
            batch, channels, _, _ = dims_of(x)
            x = aten.mean(w, x, [-1, -2], (batch, channels, 1, 1))
    with w.module("classifier", _SEQUENTIAL):
        with w.module("0", "torch.nn.modules.flatten.Flatten"):
            x = aten.view(w, x, (batch, channels))
        w.output("logits", aten.linear(w, "1", x, options.classes, bias=True))
    return w.model()


def _bottleneck(w: Writer, x: ir.Value, channels: int, stride: int) -> ir.Value:
    """1x1 down, 3x3, 1x1 up, plus the input, brought to the same shape where it differs."""
    inner = channels // _EXPANSION
    with w.module("layer", _SEQUENTIAL):
        y = _convolution(w, "0", x, inner)
        y = _convolution(w, "1", y, inner, kernel=3, stride=stride)
        y = _convolution(w, "2", y, channels, relu=False)
    if dims_of(x) != dims_of(y):
        with w.module("shortcut", f"{_PACKAGE}.ResNetShortCut"):
            x = _normalised_convolution(w, x, channels, 1, stride)
    return _relu(w, aten.add(w, y, x))


def _convolution(
    w: Writer,
    name: str,
    x: ir.Value,
    channels: int,
    *,
    kernel: int = 1,
    stride: int = 1,
    relu: bool = True,
) -> ir.Value:
    """The module ``name``: convolution, batch normalisation and ReLU."""
    with w.module(name, f"{_PACKAGE}.ResNetConvLayer"):
        y = _normalised_convolution(w, x, channels, kernel, stride)
        return _relu(w, y) if relu else y


def _relu(w: Writer, x: ir.Value) -> ir.Value:
    with w.module("activation", "torch.nn.modules.activation.ReLU"):
        return aten.unary(w, "Relu", "aten.relu.default", x)


def _normalised_convolution(w: Writer, x: ir.Value, channels: int, kernel: int, stride: int) -> ir.Value:
    """Convolution without bias, which the exporter gives one of zeros, and batch normalisation."""
    batch, inputs, height, width = dims_of(x)
    assert isinstance(inputs, int)
    pad = kernel // 2
    shape = (batch, channels, _strided(height, stride), _strided(width, stride))
    with w.module("convolution", "torch.nn.modules.conv.Conv2d"), w.call("aten.conv2d.default"):
        weight = w.weight("weight", (channels, inputs, kernel, kernel), "matrix")
        count = w.op("Expand", w.op("Shape", weight, end=1, start=0), w.ints(1))
        zeros = w.op("Expand", w.op("CastLike", w.constant(0.0, aten.FLOAT), x), count)
        y = w.result(
            "Conv",
            x,
            weight,
            zeros,
            shape=shape,
            group=1,
            pads=(pad,) * 4,
            auto_pad="NOTSET",
            strides=(stride, stride),
            dilations=(1, 1),
            kernel_shape=(kernel, kernel),
        )
    target = "aten._native_batch_norm_legit_no_training.default"
    with w.module("normalization", "torch.nn.modules.batchnorm.BatchNorm2d"), w.call(target):
        statistics = (
            w.weight("weight", (channels,), "gain"),
            w.weight("bias", (channels,), "bias"),
            w.weight("running_mean", (channels,), "bias"),
            w.weight("running_var", (channels,), "variance"),
        )
        return w.result("BatchNormalization", y, *statistics, shape=shape, momentum=0.9, epsilon=1e-5)


def _max_pool(w: Writer, x: ir.Value) -> ir.Value:
    """The largest of each 3x3 window, every second one."""
    batch, channels, height, width = dims_of(x)
    shape = (batch, channels, _strided(height, 2), _strided(width, 2))
    with w.module("pooler", "torch.nn.modules.pooling.MaxPool2d"), w.call("aten.max_pool2d.default"):
        return w.result(
            "MaxPool",
            x,
            shape=shape,
            storage_order=0,
            dilations=(1, 1),
            ceil_mode=0,
            pads=(1, 1, 1, 1),
            auto_pad="NOTSET",
            strides=(2, 2),
            kernel_shape=(3, 3),
        )


def _strided(size: Dim, stride: int) -> int:
    """The size after a window of odd width, padded by half of it."""
    assert isinstance(size, int)
    return (size - 1) // stride + 1


ENTRIES = (
    ZooEntry(
        name="resnet50",
        summary="ResNet-50 v1.5: 53 convolutions, each batch-normalised, 26 million parameters.",
        source="arXiv:1512.03385, table 1; torchvision.models.resnet50 (25,557,032 parameters)",
        options=ResNetOptions(),
        small={"hidden": 8, "image": 32, "classes": 10, "weights": "random"},
        write=write_resnet50,
    ),
)
