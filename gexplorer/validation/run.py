"""Runs a graph as it stands, with onnxruntime or with the specification's reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gexplorer.errors import ModelError
from gexplorer.execution.casts import isolate_casts
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
    return prepare_model(to_onnx(graph, value_info=False), evaluator)


def prepare_model(model: onnx.ModelProto, evaluator: Evaluator = "onnxruntime", folder: Path | None = None) -> Runner:
    """The same for a model; it is changed, so the caller gives a copy where it needs it again.

    Args:
        model: the model.
        evaluator: as in ``prepare``.
        folder: where the files are that it keeps weights in.
    """
    with _named(evaluator):
        if evaluator == "reference":
            if folder is not None:
                import onnx

                onnx.load_external_data_for_model(model, str(folder))
            from gexplorer.ops.reference import reference_evaluator

            execute = reference_evaluator(model).run
        else:
            import onnxruntime

            settings = onnxruntime.SessionOptions()
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            settings.log_severity_level = 4
            if folder is not None:
                settings.add_session_config_entry(
                    "session.model_external_initializers_file_folder_path", str(folder.resolve())
                )
            isolate_casts(model)
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


def giving(graph: Graph, names: Sequence[str]) -> Graph:
    """The same graph with these values as its results, one each, in this order; to look inside a run."""
    return replace(
        graph, outputs=tuple(names), output_names=tuple([f"{name}#result {i}" for i, name in enumerate(names)])
    )


@contextmanager
def _named(evaluator: Evaluator) -> Generator[None]:
    """An evaluator may raise anything at all; what comes out is one line."""
    try:
        yield
    except Exception as error:
        raise ModelError(f"{evaluator} cannot run the model: {' '.join(str(error).split())[:300]}") from None
