"""The test cases that ship with the onnx package, in one form: model, inputs, expected outputs, tolerances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator


@dataclass(frozen=True)
class Case:
    """One test of the package: every data set holds inputs and expected outputs, in order."""

    name: str
    model: onnx.ModelProto
    data_sets: Sequence[tuple[Sequence[object], Sequence[object]]]
    rtol: float
    atol: float


@cache
def node_cases() -> dict[str, Case]:
    """The 1,884 node tests (onnx 1.23), generated in memory; not all are distinct in name."""
    from onnx.backend.test.case.node import collect_testcases

    cases: dict[str, Case] = {}
    for case in collect_testcases(None):
        if case.model is None or case.data_sets is None:
            continue
        data = [([_array(a) for a in ins], [_array(a) for a in outs]) for ins, outs in case.data_sets]
        cases[case.name] = Case(case.name, case.model, data, case.rtol, case.atol)
    return cases


def folder_cases(kind: str) -> Iterator[Case]:
    """Tests that ship as folders: ``simple``, ``pytorch-converted``, ``pytorch-operator``."""
    for test in load_model_tests(kind=kind):
        folder = Path(test.model_dir)
        model = onnx.load(folder / "model.onnx")
        data = [_read_data_set(model, path) for path in sorted(folder.glob("test_data_set_*"))]
        yield Case(test.name, model, data, test.rtol, test.atol)


def light_models() -> list[Path]:
    """The nine whole architectures whose weights are ConstantOfShape nodes."""
    return sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("light_*.onnx"))


def run_reference(model: onnx.ModelProto, inputs: Sequence[object]) -> list[object]:
    with np.errstate(all="ignore"):
        return list(ReferenceEvaluator(model).run(None, _feeds(model, inputs)))


def run_onnxruntime(model: onnx.ModelProto, inputs: Sequence[object]) -> list[object]:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return list(session.run(None, _feeds(model, inputs)))


EVALUATORS: dict[str, Callable[[onnx.ModelProto, Sequence[object]], list[object]]] = {
    "onnxruntime": run_onnxruntime,
    "reference": run_reference,
}


def fault(case: Case, model: onnx.ModelProto, evaluator: str) -> str:
    """What is wrong with a model's outputs on the data of a case, "" where they are as expected."""
    for inputs, expected in case.data_sets:
        try:
            actual = EVALUATORS[evaluator](model, inputs)
        except Exception as error:  # an evaluator may raise anything at all
            return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if len(actual) != len(expected):
            return f"{len(actual)} outputs, {len(expected)} expected"
        for a, e in zip(actual, expected, strict=True):
            found = _difference(a, e, case.rtol, case.atol)
            if found:
                return found
    return ""


def _difference(actual: object, expected: object, rtol: float, atol: float) -> str:
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return "another sequence"
        return next((f for a, e in zip(actual, expected, strict=True) if (f := _difference(a, e, rtol, atol))), "")
    if isinstance(actual, list) and len(actual) == 1 and isinstance(expected, np.ndarray):
        actual = actual[
            0
        ]  # the package writes the one element of an optional sequence (test_if_opt) without the sequence
    if expected is None or actual is None:
        return "" if expected is actual else "an optional value is absent on one side"
    a, e = np.asarray(actual), np.asarray(expected)
    if a.shape != e.shape:
        return f"shape {a.shape}, {e.shape} expected"
    if e.dtype.kind in "OUS":
        same = [_as_text(x) for x in a.reshape(-1)] == [_as_text(x) for x in e.reshape(-1)]
        return "" if same else "other strings"
    if a.dtype != e.dtype:
        return f"dtype {a.dtype}, {e.dtype} expected"
    if a.dtype.kind not in "fciub":
        a, e = a.astype(np.float32), e.astype(np.float32)
    return "" if np.allclose(a, e, rtol=rtol, atol=atol, equal_nan=True) else "other numbers"


def _as_text(item: object) -> str:
    return item.decode() if isinstance(item, bytes) else str(item)


def _feeds(model: onnx.ModelProto, inputs: Sequence[object]) -> dict[str, object]:
    initialised = {tensor.name for tensor in model.graph.initializer}
    names = [info.name for info in model.graph.input if info.name not in initialised]
    return dict(zip(names, inputs, strict=False))


def _array(item: object) -> object:
    if isinstance(item, onnx.TensorProto):
        return numpy_helper.to_array(item)
    if isinstance(item, onnx.SequenceProto):
        return numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return numpy_helper.to_optional(item)
    if isinstance(item, list):
        return [_array(x) for x in item]
    return item if item is None or isinstance(item, np.ndarray) else np.asarray(item)


def _read_data_set(model: onnx.ModelProto, folder: Path) -> tuple[list[object], list[object]]:
    def read(prefix: str, infos: Sequence[onnx.ValueInfoProto]) -> list[object]:
        found: list[object] = []
        for index, info in enumerate(infos):
            path = folder / f"{prefix}_{index}.pb"
            if not path.exists():
                break
            message = onnx.SequenceProto() if info.type.HasField("sequence_type") else onnx.TensorProto()
            message.ParseFromString(path.read_bytes())
            found.append(_array(message))
        return found

    return read("input", model.graph.input), read("output", model.graph.output)
