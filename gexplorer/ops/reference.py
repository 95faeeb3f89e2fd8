"""onnx's reference evaluator, with its own mistakes mended.

Import this module late: it loads onnx's evaluator. The three operators were found by comparing what the evaluator
gives with onnxruntime and with the specification (``tests/unit/ops/test_reference.py`` does it again).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_dequantize_linear import DequantizeLinear_23

if TYPE_CHECKING:
    import onnx

# The first opset in which each operator has the inputs that the class below reads.
_SLICE_BY_INPUTS = 10
_DEQUANTIZE_LINEAR = 10
# The evaluator has DequantizeLinear from this version on only.
_THEIR_DEQUANTIZE_LINEAR = 19


class GatherElements(OpRun):
    """One element for every index; the evaluator wants data and indices of the same size beside the axis."""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int | None = None) -> tuple[np.ndarray]:
        axis = axis or 0
        rest = tuple(slice(0, size) for size in indices.shape)
        along = axis % data.ndim
        reached = data[(*rest[:along], slice(None), *rest[along + 1 :])]
        return (np.take_along_axis(reached, indices.astype(np.int64), axis),)


class Slice(OpRun):
    """Positions that lie outside are moved to the border first, which Python's own slices do otherwise backwards."""

    def _run(
        self,
        data: np.ndarray,
        starts: np.ndarray,
        ends: np.ndarray,
        axes: np.ndarray | None = None,
        steps: np.ndarray | None = None,
    ) -> tuple[np.ndarray]:
        along = range(len(starts)) if axes is None else axes.tolist()
        by = [1] * len(starts) if steps is None else steps.tolist()
        kept = [slice(None)] * data.ndim
        for axis, start, end, step in zip(along, starts.tolist(), ends.tolist(), by, strict=True):
            kept[axis] = _within(data.shape[axis], start, end, step)
        return (data[tuple(kept)],)


class DequantizeLinear(DequantizeLinear_23):
    """Versions 10 to 18 compute the same as 23 with its defaults, which takes more element types."""


def _within(size: int, start: int, end: int, step: int) -> slice:
    """The slice that the specification means, for an axis of this size."""
    start, end = (position + size if position < 0 else position for position in (start, end))
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    first, last = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return slice(first, last, step) if last >= 0 else slice(first, None, step)


def reference_evaluator(model: onnx.ModelProto) -> Any:
    """Onnx's evaluator for a model.

    Args:
        model: with its weights.

    Returns:
        A ``ReferenceEvaluator``. It may write to the arrays that it is given.

    Raises:
        Exception: of any type, where it has no such operator.
    """
    version = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 0)
    mended: list[type[OpRun]] = [GatherElements]
    if version >= _SLICE_BY_INPUTS:
        mended.append(Slice)
    if _DEQUANTIZE_LINEAR <= version < _THEIR_DEQUANTIZE_LINEAR:
        mended.append(DequantizeLinear)
    return ReferenceEvaluator(model, new_ops=mended)
