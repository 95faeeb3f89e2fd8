"""Runs the model after every step and compares it with the model as read: shape, dtype and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError, VerifyError
from gexplorer.ir.graph import Graph
from gexplorer.trace.records import Step
from gexplorer.validation.deviation import difference
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.original import UnsteadyError, require_steady
from gexplorer.validation.run import Evaluator, prepare

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Comparison", "compare_steps", "difference", "require_equal_steps"]


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


def _first_runs(graph: Graph, feeds: Sequence[Mapping[str, np.ndarray]]) -> tuple[Evaluator, list[list[object]]]:
    """The results of the model as read, in the first evaluator that takes it; it must give the same twice."""
    failures: list[str] = []
    evaluators: tuple[Evaluator, ...] = ("onnxruntime", "reference")
    for evaluator in evaluators:
        try:
            runner = prepare(graph, evaluator)
            results = [runner(feed) for feed in feeds]
            require_steady(graph, runner, feeds[0], results[0])
        except UnsteadyError:
            raise
        except ModelError as error:
            failures.append(str(error))
            continue
        return evaluator, results
    raise ModelError("; ".join(failures))
