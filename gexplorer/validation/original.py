"""Runs the original model: the file as it is where there is one, in the first evaluator that takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gexplorer.errors import ModelError
from gexplorer.ir.graph import Graph
from gexplorer.ops.traits import is_deterministic
from gexplorer.validation.deviation import Deviation, deviation_of, difference
from gexplorer.validation.run import Evaluator, Runner, prepare, prepare_model
from gexplorer.validation.subject import Subject

if TYPE_CHECKING:
    import numpy as np

    Feed = Mapping[str, np.ndarray]

# Inputs are changed by so many units in the last place, as a handful of roundings on the way would, so often.
_NUDGE_ULPS, _NUDGES = 16, 4
# A deviation of up to so many times what that moves the original by may be rounding.
_SENSITIVE = 4
NAMES: Mapping[Evaluator, str] = {"onnxruntime": "onnxruntime", "reference": "onnx's reference evaluator"}


@dataclass(frozen=True)
class OriginalRun:
    """The original, running.

    Attributes:
        runner: gives its results.
        evaluator: what runs it.
        what: what runs, for people: the model file, the model in memory, or the model as read.
        refused: what did not run before it was tried, and why.
    """

    runner: Runner
    evaluator: Evaluator
    what: str
    refused: tuple[str, ...]


class UnsteadyError(ModelError):
    """The model draws random numbers."""


class KernelError(ModelError):
    """A kernel of a program cannot be run, whatever memory it gets."""


class Original:
    """The original in all forms and evaluators that may run it; each is loaded once.

    Args:
        subject: what is validated.
        allowed: evaluators to try, in order.
    """

    def __init__(self, subject: Subject, allowed: Sequence[Evaluator]) -> None:
        self._subject = subject
        self._ways: list[tuple[Evaluator, str, Callable[[], Runner]]] = [
            (evaluator, what, cache(prepare_it))
            for evaluator in allowed
            for what, prepare_it in _forms(subject, evaluator)
        ]

    def run(self, feed: Feed) -> tuple[OriginalRun, list[Any]]:
        """What runs it first, and its results.

        Args:
            feed: arrays by input name.

        Raises:
            UnsteadyError: two runs of it differ.
            ModelError: nothing runs it; the message says why.
        """
        refused: list[str] = []
        for evaluator, what, prepare_it in self._ways:
            try:
                runner = prepare_it()
                results = runner(feed)
            except ModelError as error:
                refused.append(str(error))
                continue
            require_steady(self._subject.read, runner, feed, results)
            return OriginalRun(runner, evaluator, what, tuple(refused)), results
        raise ModelError("; ".join(dict.fromkeys(refused)))


def require_steady(graph: Graph, runner: Runner, feed: Feed, results: Sequence[object]) -> None:
    """Raises UnsteadyError unless a model gives the same again.

    Small random outputs may well be the same twice: the more doubt, the more runs.
    """
    repeats = 1 if all(map(is_deterministic, graph.nodes.values())) else 7
    for _ in range(repeats):
        if any(difference(a, b)[2] for a, b in zip(results, runner(feed), strict=True)):
            raise UnsteadyError("the model draws random numbers: two runs of it differ")


def sensitivity(runner: Runner, feed: Feed, results: Sequence[object]) -> list[float]:
    """How far each result moves, relative to its largest value, when inputs change in their last bits.

    What moves so far by that alone cannot be computed more exactly by anyone: a sum in another order moves it as well.
    0 for all where no input is a float. A few runs, with changes up and down at random.
    """
    import numpy as np

    moved = [0.0] * len(results)
    for seed in range(_NUDGES):
        generator = np.random.default_rng(seed)
        near = dict(feed)
        for name, array in feed.items():
            if array.dtype.kind == "f":
                ulps = 1 if array.dtype.itemsize < 4 else _NUDGE_ULPS  # of half precision one is a lot already
                signs = generator.choice((-ulps, ulps), array.shape).astype(array.dtype)
                near[name] = array + signs * np.spacing(array)
        for i, (a, b) in enumerate(zip(results, runner(near), strict=True)):
            found = deviation_of(a, b)
            if not found.mismatch:
                moved[i] = max(moved[i], found.relative)
    return moved


def explains(moved: float, found: Deviation) -> bool:
    """Whether rounding explains a deviation.

    It does where inputs changed in their last bits alone move the result by more than the limit, and the deviation is
    no more than a few times that.
    """
    return not found.mismatch and found.limit < moved and found.relative <= _SENSITIVE * moved


def _forms(subject: Subject, evaluator: Evaluator) -> Iterator[tuple[str, Callable[[], Runner]]]:
    if subject.original is not None:
        what = "the model file" if isinstance(subject.original, Path) else "the model in memory"
        yield what, lambda: _prepare_file(subject, evaluator)
    yield "the model as read", lambda: prepare(subject.read, evaluator)


def _prepare_file(subject: Subject, evaluator: Evaluator) -> Runner:
    import onnx

    source = subject.original
    assert source is not None
    if isinstance(source, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(source)
        return prepare_model(copy, evaluator)
    try:
        model = onnx.load(str(source), load_external_data=False)
    except Exception as error:  # whatever the file's form, what went wrong is one line
        raise ModelError(f"{source.name}: cannot be read again: {' '.join(str(error).split())[:200]}") from None
    return prepare_model(model, evaluator, source.parent)
