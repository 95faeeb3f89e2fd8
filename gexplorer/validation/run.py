"""Runs a graph as it stands, with onnxruntime or with the specification's reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, MutableSequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from gexplorer.errors import ModelError
from gexplorer.ir.graph import Graph
from gexplorer.ir.to_onnx import to_onnx

if TYPE_CHECKING:
    import numpy as np
    import onnx

Evaluator = Literal["onnxruntime", "reference"]
Runner = Callable[[Mapping[str, "np.ndarray"]], list[Any]]


def prepare(graph: Graph, evaluator: Evaluator = "onnxruntime") -> Runner:
    """A function from arrays by input name to the results in order: arrays, lists for sequences, None if absent.

    Args:
        graph: an outermost graph.
        evaluator: onnxruntime with all of its own optimisation off, or onnx's reference.

    Raises:
        ModelError: the evaluator cannot load it; the function raises it where the evaluator cannot run it.
    """
    model = to_onnx(graph, value_info=False)
    with _named(evaluator):
        if evaluator == "reference":
            from onnx.reference import ReferenceEvaluator

            execute = ReferenceEvaluator(model).run
        else:
            import onnxruntime

            settings = onnxruntime.SessionOptions()
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            settings.log_severity_level = 4
            _isolate_casts(model)
            data = model.SerializeToString()
            execute = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"]).run

    def runner(inputs: Mapping[str, np.ndarray]) -> list[Any]:
        import numpy as np

        with _named(evaluator), np.errstate(all="ignore"):
            return list(execute(None, dict(inputs)))

    return runner


def run(graph: Graph, inputs: Mapping[str, np.ndarray], evaluator: Evaluator = "onnxruntime") -> list[Any]:
    """The results of a graph for one set of inputs, see ``prepare``."""
    return prepare(graph, evaluator)(inputs)


def _isolate_casts(model: onnx.ModelProto) -> None:
    """Puts an Identity before and behind every cast, which changes no value.

    With all optimisation off, onnxruntime still merges casts that follow each other (its own around operators that it
    has in float32 only included): a rounding to float16 between goes, and so does a value that a nested graph captures.
    """
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        _isolate_casts_among(nodes)


def _isolate_casts_among(nodes: MutableSequence[onnx.NodeProto]) -> None:
    from onnx import helper

    isolated: list[onnx.NodeProto] = []
    for node in nodes:
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                _isolate_casts_among(graph.node)
        if node.op_type not in ("Cast", "CastLike") or node.domain or not node.output:
            isolated.append(node)
            continue
        source, result = node.input[0], node.output[0]
        node.input[0], node.output[0] = f"{result}/before cast", f"{result}/behind cast"
        isolated.append(helper.make_node("Identity", [source], [node.input[0]]))
        isolated.append(node)
        isolated.append(helper.make_node("Identity", [node.output[0]], [result]))
    if len(isolated) > len(nodes):
        copies = [type(node).FromString(node.SerializeToString()) for node in isolated]
        del nodes[:]
        nodes.extend(copies)


@contextmanager
def _named(evaluator: Evaluator) -> Generator[None]:
    """An evaluator may raise anything at all; what comes out is one line."""
    try:
        yield
    except Exception as error:
        raise ModelError(f"{evaluator} cannot run the model: {' '.join(str(error).split())[:300]}") from None
