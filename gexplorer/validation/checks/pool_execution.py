"""The program computes the same bits in its pool as with memory of its own for every tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gexplorer.errors import ModelError
from gexplorer.execution.machine import POISON
from gexplorer.ir.dtypes import DType
from gexplorer.units import bytes_text, plural_text
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
from gexplorer.validation.deviation import deviation_of, limit_after
from gexplorer.validation.effort import Budget, load_seconds, run_seconds
from gexplorer.validation.original import KernelError, explains, sensitivity
from gexplorer.validation.record import Note, Outcome
from gexplorer.validation.subject import Subject

if TYPE_CHECKING:
    from gexplorer.execution.program import Instruction, Program
    from gexplorer.ir.graph import Graph
    from gexplorer.validation.pool import Clobbered, PoolTrial

# To load one kernel into onnxruntime by itself. Measured on 2 shared x86-64 cores with onnxruntime 1.32.
KERNEL_SECONDS = 1.5e-3


class PoolExecution(ModelRun):
    """Runs the program with every tensor at its place in one pool, dead bytes poisoned, against private buffers.

    With several streams it also runs as they are launched, and for each in an order in which it is ahead of all others.
    """

    name = "pool_execution"
    order = 60
    is_numerical = True

    def run_model(self, subject: Subject, budget: Budget) -> Outcome:
        """As many runs as the budget asks for; results must be equal bit by bit."""
        return _executed(subject, budget)


def _executed(subject: Subject, budget: Budget) -> Outcome:
    candidates = size_candidates(subject)
    runs = (
        2
        + _has_booleans(subject.compiled)
        + (subject.schedule.streams + 1 if subject.schedule is not None and subject.schedule.streams > 1 else 0)
    )
    kernels = len({id(node.body) if node.body is not None else (node.op, node.attributes) for node in subject.compiled})
    loading = kernels * KERNEL_SECONDS
    require_time(load_seconds(subject.compiled) + loading, budget, is_least=True)
    if budget.is_limited:
        require_time(run_seconds(subject.compiled, candidates[0], runs) + loading, budget)
    from gexplorer.execution.lower import lower
    from gexplorer.validation.pool import PoolTrial

    trial = PoolTrial(lower(subject.memory))
    failure = ""
    for sizes in candidates:
        if failure and run_seconds(subject.compiled, sizes, runs) > budget.left_seconds:
            continue
        try:
            return _at_sizes(trial, subject, sizes, budget)
        except KernelError as error:  # these sizes are not for this model
            failure = failure or str(error)
        except ModelError as error:
            return Outcome("failed", (Note("pool_does_not_run", {"why": str(error)}),))
    return Outcome("skipped", (Note("pool_cannot_run", {"why": failure}),))


def _at_sizes(trial: PoolTrial, subject: Subject, first: Mapping[str, int], budget: Budget) -> Outcome:
    """Runs with sizes that work, and others that a full validation wants. Raises KernelError where none works."""
    notes: list[Note] = []
    done = 0
    for sizes in size_choices(subject, first, budget):
        for seed in seeds_of(budget):
            feed = inputs_of(subject, seed, sizes)
            try:
                found, count = _once(trial, subject, feed)
            except KernelError as error:
                if not done:
                    raise
                notes.append(Note("size_left_out", {"sizes": sizes_text(sizes), "why": str(error)}))
                break
            if found is not None:
                return Outcome("failed", tuple(_told(found)))
            wrong = _unlike_original(trial, subject, seed, sizes, feed)
            if wrong is not None:
                return Outcome("failed", (wrong,))
            done += count
    shown = {
        "instructions": plural_text(len(trial.program.instructions), "instruction"),
        "pool": bytes_text(trial.pool_bytes),
        "runs": plural_text(done, "run"),
    }
    return Outcome("passed", (Note("pool_equal", shown), *_outside(subject, trial.program), *notes))


def _once(trial: PoolTrial, subject: Subject, feed: Mapping[str, Any]) -> tuple[Clobbered | None, int]:
    """The first difference in any order of one set of inputs, and how many runs in the pool there were."""
    count = 0
    for order, pattern in _ways(trial.program, subject):
        count += 1
        found = trial.compare(feed, order, pattern)
        if found is not None:
            unsteady = trial.unsteady(feed)
            if unsteady:
                raise LeftOutError(Note("not_steady", {}, unsteady))
            return found, count
    return None, count


def _unlike_original(
    trial: PoolTrial, subject: Subject, seed: int, sizes: Mapping[str, int], feed: Mapping[str, Any]
) -> Note | None:
    """What the program gives that the original does not: the kernels themselves would be wrong.

    Every kernel rounds what it gives; a whole graph in onnxruntime need not, as it computes most of float16 in float32.
    """
    wanted = subject.known.results(seed, sizes)
    if wanted is None:
        return None
    actual = trial.results(feed)
    for place, (name, given) in enumerate(zip(subject.read.output_names, wanted, strict=True)):
        value = _in_type_of(given, actual[name])
        limit = limit_after(value, len(trial.program.instructions))
        found = deviation_of(value, actual[name], limit)
        if not found.fault:
            continue
        runner = subject.known.runner
        moved = sensitivity(runner, feed, wanted)[place] if runner is not None and not found.mismatch else 0.0
        if not explains(moved, found):
            return Note("program_differs", {"fault": found.fault, "limit": f"{found.limit:.2g}"}, name)
    return None


def _in_type_of(value: Any, other: Any) -> Any:
    """A value in another's element type where it is the same bits: numpy has no float8, and onnxruntime gives bytes."""
    kinds = [getattr(getattr(one, "dtype", None), "kind", "") for one in (value, other)]
    if kinds[0] == "u" and kinds[1] != "u" and kinds[1] and value.dtype.itemsize == other.dtype.itemsize:
        return value.view(other.dtype)
    return value


def _ways(program: Program, subject: Subject) -> Iterator[tuple[tuple[Instruction, ...] | None, int]]:
    """Orders, None for the plan's own, and what the poison is."""
    yield None, POISON
    if _has_booleans(subject.compiled):
        yield None, 0  # the other is true, and so hides that a true was lost
    schedule = subject.schedule
    if schedule is not None and schedule.streams > 1:
        from gexplorer.validation.launch_orders import launch_orders

        for order in launch_orders(program, schedule):
            yield order, POISON


def _has_booleans(graph: Graph) -> bool:
    """Whether an operator gives a boolean."""
    return any(
        value.producer and value.tensor is not None and value.tensor.dtype is DType.BOOL
        for value in graph.values.values()
    )


def _told(found: Clobbered) -> Iterator[Note]:
    if found.output:
        yield Note("pool_differs", {"bytes": f"{found.wrong_bytes:,}"}, found.output)
    if found.tensor:
        culprit = f": {found.writer} wrote {found.culprit} over it" if found.culprit else ": it was dead by the plan"
        reader = found.instruction or "the caller"
        yield Note("clobbered", {"tensor": found.tensor, "culprit": culprit}, reader)
    elif found.instruction:
        yield Note("first_kernel", {}, found.instruction)


def _outside(subject: Subject, program: Program) -> Iterator[Note]:
    """What lies outside the pool, with the reason."""
    outside = [name for name in program.outside if name in subject.memory.program.unsized]
    if outside:
        why = subject.memory.program.unsized[outside[0]]
        shown = {"tensors": plural_text(len(outside), "tensor"), "tensor": outside[0], "why": why}
        yield Note("held_aside", shown, outside[0])
