"""Runs the model after every step and compares it with the model as read: shape, dtype and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError, VerifyError
from gexplorer.ir.graph import Graph
from gexplorer.ops.traits import is_deterministic
from gexplorer.trace.records import Step
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.run import Evaluator, prepare

if TYPE_CHECKING:
    import numpy as np

# Greatest error that is taken for rounding, relative to the largest magnitude of the output.
# A few units in the last place of each type: reordered sums of a whole network stay below these.
RELATIVE_TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 5e-2}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output after one step beside the model as read.

    Attributes:
        step: name of the step.
        index: its number.
        output: name of the output.
        seed: of the random inputs.
        max_abs_error: greatest absolute difference.
        relative_error: the same, relative to the largest finite magnitude of the output.
        fault: what is wrong, "" when the outputs agree.
    """

    step: str
    index: int
    output: str
    seed: int
    max_abs_error: float
    relative_error: float
    fault: str


def compare_steps(
    steps: Sequence[Step],
    seeds: Sequence[int] = (0,),
    *,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, np.ndarray] | None = None,
) -> list[Comparison]:
    """Compares every step that changed the graph with the graph of the first step.

    Args:
        steps: of one compilation, the first one holding the graph as read.
        seeds: one run each, at least one.
        sizes: sizes of symbolic dimensions.
        inputs: arrays to use instead of random ones for the inputs that it names.

    Raises:
        ModelError: the model cannot be run: weights are missing, random inputs do not fit it, or it draws random
            numbers, so that two runs differ.
    """
    original = steps[0].before
    typed = next((step.after for step in reversed(steps) if step.stage == "parse"), original)
    feeds = [{**random_inputs(typed, seed, sizes), **(inputs or {})} for seed in seeds]
    evaluator, expected = _first_runs(original, feeds)
    found: list[Comparison] = []
    for step in _distinct(steps, original):
        runner = prepare(step.after, evaluator)
        for seed, feed, wanted in zip(seeds, feeds, expected, strict=True):
            for name, a, b in zip(original.output_names, wanted, runner(feed), strict=True):
                error, relative, fault = difference(a, b)
                found.append(Comparison(step.name, step.index, name, seed, error, relative, fault))
    return found


def _distinct(steps: Sequence[Step], original: Graph) -> Iterator[Step]:
    """The steps whose graph no earlier step gave."""
    seen = {id(original)}
    for step in steps:
        if id(step.after) not in seen:
            seen.add(id(step.after))
            yield step


def require_equal_steps(steps: Sequence[Step], seeds: Sequence[int]) -> None:
    """Raises VerifyError naming the first step after which an output is another."""
    for found in compare_steps(steps, seeds):
        if found.fault:
            raise VerifyError(found.step, f"output {found.output} is another after this step: {found.fault}")


def difference(expected: object, actual: object) -> tuple[float, float, str]:
    """Absolute and relative error of one output, and what is wrong with it ("" for nothing)."""
    import numpy as np

    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return 0.0, 0.0, f"{len(actual)} elements in a sequence of {len(expected)}"
        worst = [difference(a, b) for a, b in zip(expected, actual, strict=True)]
        return max(worst, key=lambda item: (bool(item[2]), item[0]), default=(0.0, 0.0, ""))
    if expected is None or actual is None:
        return 0.0, 0.0, "" if expected is actual else "an optional value is absent on one side"
    a, b = np.asarray(expected), np.asarray(actual)
    if a.shape != b.shape:
        return 0.0, 0.0, f"shape {b.shape}, not {a.shape}"
    if a.dtype != b.dtype:
        return 0.0, 0.0, f"dtype {b.dtype}, not {a.dtype}"
    tolerance = RELATIVE_TOLERANCE.get(a.dtype.name)
    if tolerance is None and a.dtype.kind != "c":
        return 0.0, 0.0, "" if np.array_equal(a, b) else "elements differ"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("nan"), float("nan"), "NaN in other places"
    finite = np.isfinite(a)
    if not np.array_equal(np.where(finite, 0, a), np.where(finite, 0, b), equal_nan=True):
        return float("inf"), float("inf"), "infinities in other places"
    if not finite.any():
        return 0.0, 0.0, ""
    error = float(np.abs(a[finite] - b[finite]).max())
    scale = float(np.abs(a[finite]).max())
    relative = error / scale if scale else (0.0 if error == 0 else float("inf"))
    limit = tolerance if tolerance is not None else 1e-5
    return (
        error,
        relative,
        "" if relative <= limit else f"relative error {relative:.2g} (absolute {error:.2g})",
    )


def _first_runs(graph: Graph, feeds: Sequence[Mapping[str, np.ndarray]]) -> tuple[Evaluator, list[list[object]]]:
    """The results of the model as read, in the first evaluator that takes it; it must give the same twice."""
    failures: list[str] = []
    evaluators: tuple[Evaluator, ...] = ("onnxruntime", "reference")
    for evaluator in evaluators:
        try:
            runner = prepare(graph, evaluator)
            results = [runner(feed) for feed in feeds]
            # small random outputs may well be the same twice: the more doubt, the more runs
            repeats = 2 if all(map(is_deterministic, graph.nodes.values())) else 8
            again = [runner(feeds[0]) for _ in range(repeats - 1)]
        except ModelError as error:
            failures.append(str(error))
            continue
        if any(difference(a, b)[2] for other in again for a, b in zip(results[0], other, strict=True)):
            raise ModelError("the model draws random numbers: two runs of it differ")
        return evaluator, results
    raise ModelError("; ".join(failures))
