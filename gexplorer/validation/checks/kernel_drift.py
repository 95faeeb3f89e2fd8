"""Every kernel gives what the original gives at that place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gexplorer.errors import ModelError
from gexplorer.ir.graph import Node
from gexplorer.ops.work import nbytes
from gexplorer.units import bytes_text, plural_text
from gexplorer.validation.checker import ModelRun
from gexplorer.validation.comparing import (
    inputs_of,
    seeds_of,
    size_candidates,
)
from gexplorer.validation.deviation import Deviation, deviation_of
from gexplorer.validation.effort import Budget
from gexplorer.validation.record import Note, Outcome
from gexplorer.validation.run import giving, prepare
from gexplorer.validation.subject import Subject

# Values between kernels are kept for both sides; more than this is left out.
MOST_BYTES = 1 << 30


class KernelDrift(ModelRun):
    """Compares what every kernel gives with the original's value of the same name, and names the first that drifts.

    A pass may give an old name to a new value, as long as the results stay. So what differs only inside is told, and
    held against nobody.
    """

    name = "kernel_drift"
    order = 50

    def run_model(self, subject: Subject, budget: Budget) -> Outcome:
        """One run of each side; a full validation only."""
        return Outcome("skipped", (Note("only_full"),)) if budget.is_limited else _drift(subject, budget)


@dataclass(frozen=True, slots=True)
class _Value:
    node: Node
    name: str
    deviation: Deviation


def _drift(subject: Subject, budget: Budget) -> Outcome:
    read, compiled = subject.read, subject.compiled
    shared = [
        (node, name)
        for node in compiled.order
        for name in node.outputs
        if name in read.values and name not in compiled.outputs
    ]
    kept = [nbytes(compiled.values[name].type) for _, name in shared]
    total = sum(size for size in kept if isinstance(size, int))
    if 2 * total > MOST_BYTES:
        sizes = {"size": bytes_text(2 * total), "limit": bytes_text(MOST_BYTES)}
        return Outcome("skipped", (Note("too_large", sizes),))
    names = [name for _, name in shared]
    if not shared and all(compiled.producer(name) is None for name in compiled.outputs):
        return Outcome("skipped", (Note("no_kernel"),))
    feed = inputs_of(subject, seeds_of(budget)[0], size_candidates(subject)[0])
    try:
        wanted = prepare(giving(read, [*names, *read.outputs]))(feed)
        actual = prepare(giving(compiled, [*names, *compiled.outputs]))(feed)
    except ModelError as error:
        return Outcome("skipped", (Note("does_not_run", {"why": str(error)}),))
    deviations = [deviation_of(a, b) for a, b in zip(wanted, actual, strict=True)]
    inner = [_Value(node, name, found) for (node, name), found in zip(shared, deviations, strict=False)]
    ends = zip(compiled.outputs, deviations[len(shared) :], strict=True)
    results = [_Value(node, name, found) for name, found in ends if (node := compiled.producer(name)) is not None]
    named = dict(zip(compiled.outputs, compiled.output_names, strict=True))
    return _judged(inner, results, any(named[value.name] in subject.known.doubtful for value in results))


def _judged(values: Sequence[_Value], results: Sequence[_Value], doubtful: bool) -> Outcome:
    failed = next((value for value in results if value.deviation.fault), None)
    wrong = next((value for value in values if value.deviation.fault), failed)
    if wrong is None:
        values = [*values, *results]
        worst = max(values, key=lambda value: value.deviation.relative)
        off = worst.deviation.relative
        told = f"at most {off:.2g} of the largest value off ({worst.node.name})" if off else "bit by bit"
        kernels = plural_text(len({value.node.name for value in values}), "kernel")
        return Outcome("passed", (Note("kernels_agree", {"kernels": kernels, "error": told}),))
    shown = {"op": wrong.node.op, "value": wrong.name, "fault": wrong.deviation.fault}
    if failed is not None:
        return Outcome("skipped" if doubtful else "failed", (Note("kernel_differs", shown, wrong.node.name),))
    return Outcome("passed", (Note("inner_value_differs", shown, wrong.node.name),))
