"""The optimisers, each behind one call: path of a model in, optimised model out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Optimise = Callable[[Path], object]


@dataclass(frozen=True)
class Tool:
    """An optimiser.

    Attributes:
        package: the PyPI package whose version counts.
        start: imports it and gives the call to measure: it reads a model from its file and optimises it.
        needs_data: it does not start when the weight file is missing.
    """

    package: str
    start: Callable[[], Optimise]
    needs_data: bool = False


def _gexplorer() -> Optimise:
    """Reading and all general passes, every step kept: what the other simplifiers do."""
    return _passes("unconfigured")


def _gexplorer_fused() -> Optimise:
    """The same and all fusion rules, near misses kept."""
    return _passes("ge")


def _gexplorer_whole() -> Optimise:
    """All six stages: memory planned and verified, kernels written, costed, scheduled and validated too."""
    import gexplorer

    return lambda path: gexplorer.compile(path).graph


def _passes(preset: str) -> Optimise:
    from gexplorer.compiler import optimise_source, options_from
    from gexplorer.frontends.load import load

    return lambda path: optimise_source(load(path), options_from({"preset": preset}))[0][-1].after


def _onnxruntime() -> Optimise:
    """Making a session with everything on; on one thread, so that waiting threads do not count as work.

    Weights are not packed for its kernels: that is work for running, not for optimising, and needs all bytes.
    """
    import onnxruntime

    def optimise(path: Path) -> object:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        saved = None
        if path.parent.name != "sparse":  # or else it would write all the zeros out
            saved = Path.cwd() / "saved.onnx"
            options.optimized_model_filepath = str(saved)
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return saved

    return optimise


def _onnxsim() -> Optimise:
    import onnx
    import onnxsim

    return lambda path: onnxsim.simplify(onnx.load(path))[0]


def _onnxslim() -> Optimise:
    import onnxslim

    return lambda path: onnxslim.slim(str(path))


def _onnxscript() -> Optimise:
    import onnx_ir
    import onnxscript.optimizer

    def optimise(path: Path) -> object:
        model = onnx_ir.load(path)
        onnxscript.optimizer.optimize(model)
        return model

    return optimise


def _onnxoptimizer() -> Optimise:
    import onnx
    import onnxoptimizer

    return lambda path: onnxoptimizer.optimize(onnx.load(path, load_external_data=False))


TOOLS = {
    "gexplorer": Tool("gexplorer", _gexplorer),
    "gexplorer + fusion": Tool("gexplorer", _gexplorer_fused),
    "gexplorer, all stages": Tool("gexplorer", _gexplorer_whole),
    "onnxruntime": Tool("onnxruntime", _onnxruntime, needs_data=True),
    "onnxsim": Tool("onnxsim", _onnxsim, needs_data=True),
    "onnxslim": Tool("onnxslim", _onnxslim, needs_data=True),
    "onnxscript": Tool("onnxscript", _onnxscript, needs_data=True),
    "onnxoptimizer": Tool("onnxoptimizer", _onnxoptimizer),
}


def count(result: object) -> int | None:
    """Nodes of what an optimiser gave, Constant nodes apart; None where it gave nothing to count."""
    import onnx

    from benchmarks import models

    if isinstance(result, Path):
        result = onnx.load(result, load_external_data=False)
    if isinstance(result, onnx.ModelProto):
        return models.count(result)
    graph = getattr(result, "graph", result)  # of an onnx_ir.Model, or gexplorer's own
    if graph is None:
        return None
    return sum(getattr(node, "op_type", "") != "Constant" for node in graph)
