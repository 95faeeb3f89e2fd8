"""Runs kernels: each in a session of onnxruntime, made when it is first needed, or in onnx's reference evaluator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gexplorer.errors import ModelError, reason_of
from gexplorer.execution.casts import isolate_casts
from gexplorer.execution.program import Kernel
from gexplorer.ir.dtypes import DType

if TYPE_CHECKING:
    import onnx
    import onnxruntime

Evaluator = Literal["onnxruntime", "reference"]
Run = Callable[[Sequence[Any]], list[Any]]


class Sessions:
    """The kernels of one program, ready to run.

    onnxruntime runs each on one thread with all its optimisation off, so equal inputs give equal bits. A kernel that
    it cannot load (it has no implementation for an operator or an element type) runs in the reference evaluator.

    Args:
        kernels: the program's kernels.
        evaluator: ``reference`` runs all of them in the reference evaluator.
    """

    def __init__(self, kernels: Sequence[Kernel], evaluator: Evaluator = "onnxruntime") -> None:
        self._kernels = kernels
        self._evaluator = evaluator
        self._runs: dict[int, Run] = {}
        self.by_reference: set[int] = set()  # the kernels that onnxruntime did not take, as far as they have run

    def run(self, kernel: int, inputs: Sequence[Any]) -> list[Any]:
        """The results of a kernel in the order of its outputs.

        Args:
            kernel: its number.
            inputs: arrays, lists for sequences, None for optional values that are absent.

        Raises:
            ModelError: no evaluator can load the kernel, or it cannot run on these inputs.
        """
        run = self._runs.get(kernel)
        if run is None:
            run = self._runs[kernel] = self._load(kernel, inputs)
        try:
            with np.errstate(all="ignore"):
                return run(inputs)
        except MemoryError:
            raise
        except Exception as error:  # an evaluator may raise anything at all
            raise ModelError(f"{self._kernels[kernel].op} cannot run: {reason_of(error)}") from None

    def _load(self, number: int, inputs: Sequence[Any]) -> Run:
        kernel = self._kernels[number]
        model = _parsed(kernel)
        if len(model.graph.input) != len(inputs):
            raise ModelError(f"kernel {kernel.op} has {len(model.graph.input)} inputs, and {len(inputs)} are given")
        _type_inputs(model, inputs)
        failures: list[str] = []
        if self._evaluator == "onnxruntime":
            try:
                return _in_onnxruntime(model)
            except MemoryError:
                raise
            except Exception as error:
                failures.append(f"onnxruntime: {reason_of(error)}")
        try:
            run = _in_reference(model)
        except MemoryError:
            raise
        except Exception as error:
            failures.append(f"reference evaluator: {reason_of(error)}")
            raise ModelError(f"{kernel.op} cannot be loaded: {'; '.join(failures)}") from None
        self.by_reference.add(number)
        return run


def _parsed(kernel: Kernel) -> onnx.ModelProto:
    """The kernel's model; one that speaks of other files is refused, as weights come with the program or not at all."""
    import onnx
    from google.protobuf.message import DecodeError
    from onnx.external_data_helper import (  # the private name is the only walk over all tensors of a model
        _get_all_tensors,  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]
        uses_external_data,
    )

    try:
        model = onnx.ModelProto.FromString(kernel.model)
    except DecodeError:
        raise ModelError(f"kernel {kernel.op}: it is no ONNX model") from None
    tensors: list[onnx.TensorProto] = list(_get_all_tensors(model))
    for function in model.functions:
        tensors += [attribute.t for node in function.node for attribute in node.attribute if attribute.HasField("t")]
    if any(map(uses_external_data, tensors)):
        raise ModelError(f"kernel {kernel.op}: weights not available")
    return model


def _type_inputs(model: onnx.ModelProto, inputs: Sequence[Any]) -> None:
    """Writes down element types that only the values of a run tell."""
    from onnx import helper

    for info, value in zip(model.graph.input, inputs, strict=True):
        if not info.type.WhichOneof("value") and isinstance(value, np.ndarray):
            info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)


def _in_onnxruntime(model: onnx.ModelProto) -> Run:
    import onnx
    import onnxruntime

    isolated = onnx.ModelProto()
    isolated.CopyFrom(model)
    isolate_casts(isolated)
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.inter_op_num_threads = 1
    settings.enable_cpu_mem_arena = False  # one arena a kernel would hold on to what all others could use
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(isolated.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    names = [info.name for info in model.graph.input]
    foreign = [_foreign(info) for info in model.graph.input]
    results = [str(result.type) for result in session.get_outputs()]
    if any(0 < DType(element).bits < 8 for element in foreign) or any(map(_is_packed_result, results)):
        raise ModelError("it packs such elements as numpy does not")
    if any(foreign) or any(map(_is_foreign_result, results)):
        return lambda inputs: _run_by_address(session, names, foreign, inputs)
    return lambda inputs: list(session.run(None, dict(zip(names, inputs, strict=True))))


def _in_reference(model: onnx.ModelProto) -> Run:
    from gexplorer.ops.reference import reference_evaluator

    evaluator = reference_evaluator(model)
    names = [info.name for info in model.graph.input]

    def run(inputs: Sequence[Any]) -> list[Any]:
        # the evaluator may write to what it is given
        given = [value.copy() if isinstance(value, np.ndarray) else value for value in inputs]
        return list(evaluator.run(None, dict(zip(names, given, strict=True))))

    return run


# -- element types that numpy has no name for: onnxruntime takes and gives their bytes ----------------------------


def _foreign(info: onnx.ValueInfoProto) -> int:
    """The number of an element type that numpy itself has not; 0 for others."""
    element = info.type.tensor_type.elem_type
    return element if element and _is_foreign(DType(element)) else 0


def _is_foreign_result(type_: str) -> bool:
    return any(name in type_ for name in ("bfloat16", "float8"))


def _is_packed_result(type_: str) -> bool:
    return any(name in type_ for name in ("int4)", "float4", "int2)", "float6"))


def _is_foreign(dtype: DType) -> bool:
    return dtype is DType.BFLOAT16 or "FLOAT8" in dtype.name or 0 < dtype.bits < 8


def _run_by_address(
    session: onnxruntime.InferenceSession, names: Sequence[str], foreign: Sequence[int], inputs: Sequence[Any]
) -> list[Any]:
    import onnxruntime

    make = onnxruntime.OrtValue
    given: dict[str, onnxruntime.OrtValue] = {}
    for name, element, value in zip(names, foreign, inputs, strict=True):
        array = np.ascontiguousarray(value)
        if element:
            width = {1: np.uint8, 2: np.uint16}[array.dtype.itemsize]
            given[name] = make.ortvalue_from_numpy_with_onnx_type(array.view(width), element)
        else:
            given[name] = make.ortvalue_from_numpy(array)
    return [_array_of(value) for value in session.run_with_ort_values(None, given)]


def _array_of(value: onnxruntime.OrtValue) -> Any:
    element = DType(value.element_type()) if value.is_tensor() else DType.UNDEFINED
    if not _is_foreign(element):
        return value.numpy()
    shape = tuple(value.shape())
    raw = ctypes.string_at(value.data_ptr(), element.nbytes(int(np.prod(shape, dtype=np.int64))))
    return np.frombuffer(raw, element.numpy()).reshape(shape)
