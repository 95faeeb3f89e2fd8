"""Runs a graph as it stands, with onnxruntime or with the specification's reference implementation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from gexplorer.errors import ModelError
from gexplorer.ir.graph import Graph
from gexplorer.ir.to_onnx import to_onnx

if TYPE_CHECKING:
    import numpy as np

Evaluator = Literal["onnxruntime", "reference"]


def run(graph: Graph, inputs: Mapping[str, np.ndarray], evaluator: Evaluator = "onnxruntime") -> list[np.ndarray]:
    """The results of a graph, in order.

    Args:
        graph: an outermost graph.
        inputs: arrays by input name.
        evaluator: onnxruntime with all of its own optimisation off, or onnx's reference.

    Raises:
        ModelError: the evaluator cannot load or run it.
    """
    model = to_onnx(graph, value_info=False)
    try:
        if evaluator == "reference":
            from onnx.reference import ReferenceEvaluator

            return list(ReferenceEvaluator(model).run(None, dict(inputs)))
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        return list(session.run(None, dict(inputs)))
    except Exception as error:
        raise ModelError(f"{evaluator} cannot run the model: {' '.join(str(error).split())[:300]}") from None
