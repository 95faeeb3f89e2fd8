"""Row 2: what is read, and that it becomes one graph, whatever it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import onnx

from gexplorer.articles.row import Row, says
from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_
from gexplorer.errors import GexplorerError
from gexplorer.frontends.torch import from_torch, require_torch
from gexplorer.ir.verify import verify

_SHAPE = (2, 16)
_ONNX = """<ir_version: 10, opset_import: ["": 20]>
layers (float[2, 16] x, float[16, 16] w, float[16] b, float[16, 16] v, float[16] c) => (float[2, 16] y) {
  p = Gemm <transB = 1> (x, w, b)
  r = Relu(p)
  y = Gemm <transB = 1> (r, v, c)
}"""
_CIRCLE = """<ir_version: 10, opset_import: ["": 20]>
circle (float[2] x) => (float[2] y) {
  a = Add(x, y)
  y = Relu(a)
}"""
# A GraphDef of TensorFlow with one node, {name: "x", op: "Placeholder"}, as protobuf writes it.
_GRAPH_DEF = b"\n\x10\n\x01x\x12\x0bPlaceholder"


class Frontends(Row):
    """A linear layer, a ReLU and a linear layer, from each frontend that the articles name; and a graph in a circle."""

    row = 2
    title = "Frontends: ONNX, TorchScript, FX, TensorFlow become one graph, which is checked"
    article = says(read="ONNX, TorchScript, TensorFlow (A1); PyTorch's FX graph (A3)", becomes="CANN IR", then="check")
    note = (
        "Torch's own exporters make ONNX of its graphs, where PyTorch is installed; nothing of torch is interpreted. "
        "TensorFlow's own files are not read: tf2onnx makes ONNX of them. In the first the weights are inputs "
        "here, which changes no kernel. The check is of the graph's invariants: one definition of each value before "
        "its uses, no circle, types that agree."
    )

    def compute(self) -> Mapping[str, object]:
        """What each becomes, which are not read and why, and what the check says of a graph that is none."""
        found = {name: _read(make) for name, make in _FRONTENDS.items()}
        return {
            "read": [{"from": name, **row} for name, row in found.items() if not isinstance(row, str)],
            "not_read": {name: why for name, why in found.items() if isinstance(why, str)},
            "a_circle": _read(lambda: _of_onnx(_CIRCLE)),
        }


def _read(make: Callable[[], Compilation]) -> dict[str, object] | str:
    """What is read and what comes of it, or why it is not read."""
    try:
        built = make()
        read = built.steps["infer_shapes"].after
        verify(read)
    except GexplorerError as error:
        return str(error).rpartition("graph.pb: ")[2]
    return {"operators": [node.op for node in read], "kernels": [node.op for node in built.graph], "checked": True}


def _of_onnx(text: str) -> Compilation:
    return compile_(onnx.parser.parse_model(text), validate="off", tell=None)


def _of_torch(trace: Callable[[Any, Any], Any]) -> Compilation:
    torch = require_torch()
    net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16)).eval()
    return compile_(from_torch(trace(torch, net), [_SHAPE]), validate="off", tell=None)


def _tensorflow() -> Compilation:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.pb"
        path.write_bytes(_GRAPH_DEF)
        return compile_(path, validate="off", tell=None)


_FRONTENDS: Mapping[str, Callable[[], Compilation]] = MappingProxyType(
    {
        "ONNX": lambda: _of_onnx(_ONNX),
        "TorchScript": lambda: _of_torch(lambda torch, net: torch.jit.trace(net, torch.zeros(_SHAPE))),
        "FX graph": lambda: _of_torch(lambda torch, net: torch.fx.symbolic_trace(net)),
        "TensorFlow": _tensorflow,
    }
)
