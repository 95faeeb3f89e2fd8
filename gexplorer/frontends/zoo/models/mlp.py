"""A multi-layer perceptron on images of 28 x 28 pixels: linear layers with ReLU between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.entry import ModelOptions, ZooEntry
from gexplorer.frontends.zoo.tokens import read_size
from gexplorer.frontends.zoo.weights import weight_source
from gexplorer.frontends.zoo.writer import Writer

if TYPE_CHECKING:
    import onnx_ir as ir

_SEQUENTIAL = "torch.nn.modules.container.Sequential"


@dataclass(frozen=True, slots=True, kw_only=True)
class MlpOptions(ModelOptions):
    """Options of the network.

    Attributes:
        layers: linear layers, the last one included.
        hidden: width of all but the last.
        image: height and width of the input in pixels.
        classes: width of the last.
    """

    layers: int = 3
    hidden: int = 512
    image: int = 28
    classes: int = 10


def write_mlp(name: str, options: MlpOptions) -> ir.Model:
    """Write the network: input ``x`` (batch, 1, image, image), output ``logits`` (batch, classes)."""
    source = weight_source(name, options.weights, options.seed)
    w = Writer("__main__.NeuralNetwork", dtype=options.dtype, weights=source)
    x = w.input("x", (options.batch, 1, options.image, options.image))
    if isinstance(options.batch, str):
        w.bind(options.batch, read_size(w, x, 0))
    with w.module("flatten", "torch.nn.modules.flatten.Flatten"):
        x = aten.view(w, x, (options.batch, options.image**2))
    with w.module("linear_relu_stack", _SEQUENTIAL):
        for layer in range(options.layers - 1):
            x = aten.linear(w, f"{2 * layer}", x, options.hidden, bias=True)
            with w.module(f"{2 * layer + 1}", "torch.nn.modules.activation.ReLU"):
                x = aten.unary(w, "Relu", "aten.relu.default", x)
        x = aten.linear(w, f"{2 * options.layers - 2}", x, options.classes, bias=True)
    w.output("logits", x)
    return w.model()


ENTRIES = (
    ZooEntry(
        name="mlp",
        summary="Three linear layers with ReLU between them, for images of 28 x 28 pixels.",
        source="NeuralNetwork of the PyTorch quickstart tutorial (784-512-512-10)",
        options=MlpOptions(),
        small={"hidden": 16, "image": 4, "weights": "random"},
        write=write_mlp,
    ),
)
