"""The compiled graph computes what the original computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gexplorer.errors import ModelError
from gexplorer.units import plural_text
from gexplorer.validation.bisection import first_wrong_step
from gexplorer.validation.checker import ModelRun
from gexplorer.validation.comparing import (
    LeftOutError,
    inputs_of,
    require_time,
    seeds_of,
    size_candidates,
    size_choices,
    sizes_text,
)
from gexplorer.validation.deviation import Deviation, deviation_of
from gexplorer.validation.effort import REFERENCE_FACTOR, Budget, load_seconds, run_seconds
from gexplorer.validation.original import NAMES, Original, OriginalRun, UnsteadyError, explains, sensitivity
from gexplorer.validation.record import Note, Outcome, OutputError
from gexplorer.validation.run import Evaluator, Runner, prepare
from gexplorer.validation.subject import Subject

if TYPE_CHECKING:
    import numpy as np

# Outputs that are named before the rest is only counted.
TOLD = 3


class DryRun(ModelRun):
    """Runs the original model and the compiled graph on the same seeded inputs and compares every output."""

    name = "dry_run"
    order = 40
    is_numerical = True

    def run_model(self, subject: Subject, budget: Budget) -> Outcome:
        """As many runs as the budget asks for; what only one of the two can run is a fault or a fallback, and said."""
        return _compared(subject, budget)


def _compared(subject: Subject, budget: Budget) -> Outcome:
    try:
        first = _first_run(subject, budget)
    except UnsteadyError:
        return Outcome("skipped", (Note("draws_random_numbers"),))
    except ModelError as error:
        return Outcome("skipped", (Note("does_not_run", {"why": str(error)}),))
    subject.known.sizes.update(first.sizes)
    original, feed = first.original, first.feed
    subject.known.runner = original.runner
    try:
        compiled, evaluator, fallback = _compiled(subject, original, feed, first.allowed)
    except ModelError as error:
        return Outcome("failed", (Note("compiled_does_not_run", {"why": str(error)}), *_first_step(subject, feed)))
    found: list[tuple[OutputError, Deviation]] = []
    notes: list[Note] = []
    for sizes in size_choices(subject, first.sizes, budget):
        for seed in seeds_of(budget):
            is_first = (sizes, seed) == (first.sizes, first.seed)
            try:
                given = feed if is_first else inputs_of(subject, seed, sizes)
                expected = first.results if is_first else original.runner(given)
            except (ModelError, LeftOutError) as error:
                notes.append(Note("size_left_out", {"sizes": sizes_text(sizes), "why": str(error)}))
                break
            try:
                subject.known.keep(seed, sizes, expected)
                found += _errors(subject, seed, sizes, expected, compiled(given))
            except ModelError as error:
                return Outcome("failed", (Note("compiled_does_not_run", {"why": str(error)}),))
    return _judged(subject, found, [*fallback, *notes], original, evaluator)


@dataclass(frozen=True)
class _First:
    """A first run of the original that worked."""

    original: OriginalRun
    seed: int
    sizes: dict[str, int]
    feed: Mapping[str, np.ndarray]
    results: list[Any]
    allowed: tuple[Evaluator, ...]


def _first_run(subject: Subject, budget: Budget) -> _First:
    """Runs the original with the first sizes that it takes.

    Raises:
        LeftOutError: there is no time for it, or no inputs can be made.
        UnsteadyError: it draws random numbers.
        ModelError: it does not run; of several sizes, the reason of the first.
    """
    seed = seeds_of(budget)[0]
    candidates = size_candidates(subject)
    # Operations of symbolic sizes take long to count, loading alone is told at once.
    require_time(load_seconds(subject.typed) + load_seconds(subject.compiled), budget, is_least=True)
    needed = _estimate(subject, candidates[0]) if budget.is_limited else 0.0
    require_time(needed, budget)
    # The reference implementation is slow: it is tried only where it fits, and only with the first sizes.
    slow = needed * REFERENCE_FACTOR <= budget.left_seconds
    allowed: tuple[Evaluator, ...] = ("onnxruntime", "reference") if slow else ("onnxruntime",)
    originals = Original(subject, ("onnxruntime",))
    failure: ModelError | None = None
    for sizes in candidates:
        if failure is not None and _estimate(subject, sizes) > budget.left_seconds:
            continue
        feed = inputs_of(subject, seed, sizes)
        try:
            original, results = originals.run(feed)
        except UnsteadyError:
            raise
        except ModelError as error:
            failure = failure or error
            continue
        return _First(original, seed, sizes, feed, results, allowed)
    assert failure is not None
    if not slow:
        raise failure
    feed = inputs_of(subject, seed, candidates[0])
    original, results = Original(subject, ("reference",)).run(feed)
    original = replace(original, refused=(str(failure), *original.refused))
    return _First(original, seed, candidates[0], feed, results, allowed)


def _estimate(subject: Subject, sizes: Mapping[str, int]) -> float:
    """Seconds for both: the original runs twice, to see that it gives the same again."""
    return run_seconds(subject.typed, sizes, 2) + run_seconds(subject.compiled, sizes)


def _compiled(
    subject: Subject, original: OriginalRun, feed: Mapping[str, np.ndarray], allowed: Sequence[Evaluator]
) -> tuple[Runner, Evaluator, list[Note]]:
    """The compiled graph in what runs the original, or in the other; and what is to be said of that."""
    notes: list[Note] = []
    if original.refused:
        notes.append(Note("fallback", {"evaluator": NAMES[original.evaluator], "why": original.refused[0]}))
    failures: list[str] = []
    for evaluator in sorted(allowed, key=lambda one: one != original.evaluator):
        try:
            runner = prepare(subject.compiled, evaluator)
            runner(feed)
        except ModelError as error:
            failures.append(str(error))
            continue
        if failures:
            notes.append(Note("fallback", {"evaluator": NAMES[evaluator], "why": failures[0]}))
        return runner, evaluator, notes
    raise ModelError("; ".join(failures))


def _errors(
    subject: Subject, seed: int, sizes: Mapping[str, int], expected: Sequence[Any], actual: Sequence[Any]
) -> Iterator[tuple[OutputError, Deviation]]:
    for name, a, b in zip(subject.read.output_names, expected, actual, strict=True):
        found = deviation_of(a, b)
        yield (
            OutputError(name, seed, sizes, found.absolute, found.relative, found.cosine, found.fault),
            found,
        )


def _judged(
    subject: Subject,
    found: Sequence[tuple[OutputError, Deviation]],
    notes: Sequence[Note],
    original: OriginalRun,
    evaluator: Evaluator,
) -> Outcome:
    errors = tuple([error for error, _ in found])
    wrong = [(error, deviation) for error, deviation in found if error.fault]
    if wrong and (explained := _ill_conditioned(subject, wrong, original)):
        subject.known.forget_results()
        subject.known.doubtful.update(error.output for error, _ in explained)
        told = [_ill_note(error, moved) for error, moved in explained[:TOLD]]
        return Outcome("skipped", (*told, *notes), errors)
    if wrong:
        subject.known.forget_results()
        told = [_differs(error, deviation) for error, deviation in wrong[:TOLD]]
        if len(wrong) > TOLD:
            told.append(Note("more_outputs_differ", {"count": f"{len(wrong) - TOLD:,}"}))
        first = wrong[0][0]
        feed = inputs_of(subject, first.seed, first.sizes)
        return Outcome("failed", (*told, *_first_step(subject, feed), *notes), errors)
    if not any(deviation.finite for _, deviation in found):
        return Outcome("skipped", (Note("no_finite_number"), *notes), errors)
    return Outcome("passed", (_equal(subject, found, original, evaluator), *notes), errors)


def _equal(
    subject: Subject, found: Sequence[tuple[OutputError, Deviation]], original: OriginalRun, evaluator: Evaluator
) -> Note:
    worst = max((error for error, _ in found), key=lambda error: error.relative)
    runs = len({(error.seed, tuple(error.sizes.items())) for error, _ in found})
    told = (
        f"at most {worst.absolute:.2g} off, {worst.relative:.2g} of the largest value ({worst.output}), "
        f"cosine error {max(error.cosine for error, _ in found):.1g}"
        if worst.relative
        else "no element differs"
        if not any(error.absolute for error, _ in found)
        else f"at most {worst.absolute:.2g} off"
    )
    shown = {
        "outputs": plural_text(len(subject.read.output_names), "output"),
        "runs": plural_text(runs, "run"),
        "error": told,
        "original": original.what,
        "evaluator": NAMES[evaluator],
    }
    return Note("equal", shown)


def _ill_conditioned(
    subject: Subject, wrong: Sequence[tuple[OutputError, Deviation]], original: OriginalRun
) -> list[tuple[OutputError, float]]:
    """The wrong outputs with how far the original itself moves by rounding, if that explains each; else none."""
    place = {name: i for i, name in enumerate(subject.read.output_names)}
    found: list[tuple[OutputError, float]] = []
    for error, deviation in wrong:
        feed = inputs_of(subject, error.seed, error.sizes)
        results = subject.known.results(error.seed, error.sizes)
        if results is None:
            return []
        moved = sensitivity(original.runner, feed, results)[place[error.output]]
        if not explains(moved, deviation):
            return []
        found.append((error, moved))
    return found


def _ill_note(error: OutputError, moved: float) -> Note:
    return Note("ill_conditioned", {"fault": error.fault, "moved": f"{moved:.2g}"}, error.output)


def _differs(error: OutputError, deviation: Deviation) -> Note:
    shown = {
        "fault": error.fault,
        "limit": f"{deviation.limit:.2g}",
        "cosine": f"{error.cosine:.2g}",
        "seed": error.seed,
        "sizes": f", {sizes_text(error.sizes)}" if error.sizes else "",
    }
    return Note("output_differs", shown, error.output)


def _first_step(subject: Subject, feed: Mapping[str, np.ndarray]) -> list[Note]:
    """The first step that is wrong, where it can be told."""
    try:
        step = first_wrong_step(subject.steps, feed)
    except ModelError:
        return []
    return [Note("first_step", {"index": step.index}, step.name)] if step is not None else []
