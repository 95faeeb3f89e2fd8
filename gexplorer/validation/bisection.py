"""Finds the pass, and the single rewrite in it, after which a model's numbers are others.

Both are found by halving: the graph before is right, the graph after is wrong, and a graph between is run until the two
are neighbours. That needs no more than the two ends: an error that another rewrite hides again in between leads to one
of the places where right turns into wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gexplorer.errors import ModelError
from gexplorer.ir.graph import Graph
from gexplorer.trace.records import Rewrite, Step
from gexplorer.validation.deviation import Deviation, deviation_of
from gexplorer.validation.inputs import random_inputs, size_tries
from gexplorer.validation.original import UnsteadyError, require_steady
from gexplorer.validation.run import Evaluator, Runner, prepare
from gexplorer.validation.subject import constants_of

if TYPE_CHECKING:
    import numpy as np

    from gexplorer.validation.culprit import Culprit

    Feed = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Bisection:
    """What a search for a wrong rewrite came to.

    Attributes:
        step: the step that is wrong, None where none is.
        number: which of its rewrites is, from 0; None where it is no single one of those that it recorded.
        output: the output that is wrong after it, "" where none is.
        before: how far that output is off before the rewrite.
        after: how far it is off after it; of a clean model, the worst output of the last graph.
        why: what is wrong, as a phrase.
        runs: graphs that were run.
        evaluator: what ran them.
        tolerance: relative error taken for rounding; None for that of each type.
        culprit: the smallest sub-model that shows it, None where nothing is wrong or none shows it.
    """

    step: Step | None
    number: int | None
    output: str
    before: Deviation
    after: Deviation
    why: str
    runs: int
    evaluator: Evaluator
    tolerance: float | None
    culprit: Culprit | None = field(default=None, repr=False)

    @property
    def is_clean(self) -> bool:
        """True when nothing is wrong."""
        return self.step is None

    @property
    def rewrite(self) -> Rewrite | None:
        """The rewrite that is wrong."""
        return self.step.rewrites[self.number] if self.step is not None and self.number is not None else None

    @property
    def sentence(self) -> str:
        """The result, in words."""
        if self.step is None:
            far = f"{self.after.relative:.2g} of the largest value off at most" if self.after.relative else "no bit off"
            return f"nothing is wrong: the compiled graph is {far} ({self.evaluator})"
        before = f"{self.before.relative:.2g} before" if not self.before.mismatch else "right before"
        where = f"step {self.step.index} {self.step.name}"
        rewrite = self.rewrite
        if rewrite is not None:
            told = self.step.reason(rewrite)
            where += f", rewrite {(self.number or 0) + 1} of {len(self.step.rewrites)} at {rewrite.node}: {told}"
        return f"{where}. After it, {self.output or 'the graph'} is wrong: {self.why} ({before})"


def bisect(
    steps: Sequence[Step],
    *,
    tolerance: float | None = None,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    inputs: Feed | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Bisection:
    """Finds the step and the rewrite after which numbers leave the tolerance, and the smallest model that shows it.

    O(log steps + log rewrites) runs of the model to find it, and as many runs of ever smaller parts to cut it out.

    Args:
        steps: of a compilation, the first one holding the graph as read.
        tolerance: greatest relative error of an output that is taken for rounding; None for that of its type.
        seed: of the random inputs.
        sizes: sizes of free dimensions; without them some that the model takes.
        inputs: arrays to use instead of random ones, for the inputs that it names.
        tell: called with what is being tried.

    Raises:
        ModelError: the model as read cannot be run (weights are missing), or draws random numbers.
    """
    absent = [name for name, data in constants_of(steps[0].before) if not data.available]
    if absent:
        raise ModelError(
            f"weights not available: {min(absent)}" + (f" and {len(absent) - 1} more" if absent[1:] else "")
        )
    typed = next((step.after for step in reversed(steps) if step.stage == "parse"), steps[0].before)
    trial = _started(steps[0].before, typed, seed, [sizes] if sizes else size_tries(typed), inputs or {}, tolerance)
    changed = [step for step in steps if step.changed]
    last = trial.judge(changed[-1].after) if changed else Verdict("", Deviation(), "")
    if not last.why:
        return Bisection(None, None, "", last.worst, last.worst, "", trial.runs, trial.evaluator, tolerance)
    graphs = [changed[0].before, *(step.after for step in changed)]

    def step_is_wrong(index: int) -> bool:
        tell(f"after step {changed[index - 1].name}")
        return bool(trial.judge(graphs[index]).why)

    step = changed[first_bad(len(changed), step_is_wrong) - 1]
    before, after, number = step.before, step.after, None
    if step.rewrites and trial.judge(step.graph_after(len(step.rewrites))).why:

        def rewrite_is_wrong(count: int) -> bool:
            tell(f"after rewrite {count} of {len(step.rewrites)} of {step.name}")
            return bool(trial.judge(step.graph_after(count)).why)

        number = first_bad(len(step.rewrites), rewrite_is_wrong) - 1
        before, after = step.graph_after(number), step.graph_after(number + 1)
    wrong, right = trial.judge(after), trial.judge(before)
    from gexplorer.validation.culprit import cut_out

    tell("cutting it out")
    culprit = cut_out(before, after, trial.feed, trial.evaluator, tolerance)
    return Bisection(
        step,
        number,
        wrong.output,
        right.of(wrong.output),
        wrong.worst,
        wrong.why,
        trial.runs,
        trial.evaluator,
        tolerance,
        culprit,
    )


def _started(
    graph: Graph,
    typed: Graph,
    seed: int,
    tries: Sequence[Mapping[str, int]],
    inputs: Feed,
    tolerance: float | None,
) -> Trial:
    """A trial with the first sizes that the model takes; raises the error of the first where it takes none."""
    failure: ModelError | None = None
    for sizes in tries:
        try:
            return start_trial(graph, {**random_inputs(typed, seed, sizes), **inputs}, tolerance)
        except UnsteadyError:
            raise
        except ModelError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def first_wrong_step(steps: Sequence[Step], feed: Feed, tolerance: float | None = None) -> Step | None:
    """The step after which numbers leave the tolerance, None where none does. Raises ModelError as ``bisect``."""
    trial = start_trial(steps[0].before, feed, tolerance)
    changed = [step for step in steps if step.changed]
    if not changed or not trial.judge(changed[-1].after).why:
        return None
    return changed[first_bad(len(changed), lambda index: bool(trial.judge(changed[index - 1].after).why)) - 1]


def first_bad(last: int, is_bad: Callable[[int], bool]) -> int:
    """The place where good turns into bad, by halving: place 0 is good and the last is bad, neither is asked about."""
    good, bad = 0, last
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if is_bad(middle) else (middle, bad)
    return bad


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one graph did.

    Attributes:
        output: the output that is wrong, "" where none is.
        worst: how far the worst output is off.
        why: what is wrong; "" for nothing.
        each: by output.
    """

    output: str
    worst: Deviation
    why: str
    each: Mapping[str, Deviation] = field(default_factory=dict[str, Deviation])

    def of(self, output: str) -> Deviation:
        """How far an output is off."""
        return self.each.get(output, self.worst)


class Trial:
    """Runs graphs on the same inputs and compares their results with those of the first."""

    def __init__(self, feed: Feed, evaluator: Evaluator, wanted: Sequence[Any], tolerance: float | None) -> None:
        self.evaluator: Evaluator = evaluator
        self.runs = 0
        self.feed = feed
        self._wanted, self._tolerance = wanted, tolerance
        self._known: dict[int, tuple[Graph, Verdict]] = {}

    def judge(self, graph: Graph) -> Verdict:
        """What is wrong with a graph; one that no longer runs is wrong too."""
        known = self._known.get(id(graph))
        if known is None:
            known = self._known[id(graph)] = (graph, self._judge(graph))  # the graph is kept, or its id is given anew
        return known[1]

    def _judge(self, graph: Graph) -> Verdict:
        self.runs += 1
        try:
            results = prepare(graph, self.evaluator)(self.feed)
        except ModelError as error:
            return Verdict("", Deviation(mismatch="it does not run"), f"it does not run: {error}")
        each = {
            name: deviation_of(a, b, self._tolerance)
            for name, a, b in zip(graph.output_names, self._wanted, results, strict=True)
        }
        output = max(each, key=lambda name: each[name].badness)
        worst = each[output]
        return Verdict(output if worst.fault else "", worst, worst.fault, each)


def start_trial(graph: Graph, feed: Feed, tolerance: float | None) -> Trial:
    """The first graph's results, from the first evaluator that runs it. Raises ModelError where none does."""
    failures: list[str] = []
    evaluators: tuple[Evaluator, ...] = ("onnxruntime", "reference")
    for evaluator in evaluators:
        try:
            runner: Runner = prepare(graph, evaluator)
            wanted = runner(feed)
            require_steady(graph, runner, feed, wanted)
        except UnsteadyError:
            raise
        except ModelError as error:
            failures.append(str(error))
            continue
        return Trial(feed, evaluator, wanted, tolerance)
    raise ModelError("; ".join(failures))
