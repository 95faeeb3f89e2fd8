"""What an explorer shows: a trace, and as much as is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from gexplorer.trace.records import Step, Steps

if TYPE_CHECKING:
    from gexplorer.cost.between import Between
    from gexplorer.cost.graph import GraphCost
    from gexplorer.errors import PassError
    from gexplorer.frontends.onnx import SourceModel
    from gexplorer.kernels.stage import Kernels
    from gexplorer.memory.stage import Memory
    from gexplorer.options import Options
    from gexplorer.passes.base import Context, Pass
    from gexplorer.passes.switches import Plan
    from gexplorer.schedule.stage import Schedule
    from gexplorer.views.explorer.course import Course

# Kernels without a price, as a share of those with one, above which nothing is compared with the graph before passes.
MOST_UNPRICED = 0.1


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a compilation came to no end.

    Attributes:
        name: the pass at fault.
        why: what happened, as a sentence without a full stop.
    """

    name: str
    why: str


@dataclass(frozen=True, eq=False)
class Subject:
    """A trace with what is known about it. Only the steps are always there: a trace may come from elsewhere.

    Attributes:
        name: of the model.
        steps: every step; there may be none.
        source: the model as read.
        options: what was asked for.
        memory: the memory's plan.
        cost: what every kernel costs.
        schedule: streams and timeline.
        unfused: what the graph costs as it was before all passes.
        course: what the graph costs after every step; empty where nobody asked.
        between: what fusing over a value would save.
        kernels: tile programs.
        passes: the passes that the steps are of, by name; empty where the trace is not ours.
        running: names of those that were to run.
        plan: the passes as they ran, and which matches were off; None where nobody knows.
        context: what they knew besides the graph.
        failure: why there is no more than this.
    """

    name: str
    steps: Steps
    source: SourceModel | None = None
    options: Options | None = None
    memory: Memory | None = None
    cost: GraphCost | None = None
    schedule: Schedule | None = None
    unfused: GraphCost | None = None
    course: Course = ()
    between: Between | None = None
    kernels: Kernels | None = None
    passes: Mapping[str, type[Pass]] = field(default_factory=dict[str, "type[Pass]"])
    running: frozenset[str] = frozenset()
    plan: Plan | None = None
    context: Context | None = None
    failure: Failure | None = None


class Compiled(Protocol):
    """A compilation."""

    @property
    def source(self) -> SourceModel:
        """The model as read."""
        ...

    @property
    def options(self) -> Options:
        """What was asked for."""
        ...

    @property
    def steps(self) -> Steps:
        """Every step."""
        ...

    @property
    def plan(self) -> Plan:
        """The passes and rules that ran."""
        ...

    @property
    def context(self) -> Context:
        """What the passes knew besides the graph."""
        ...

    @property
    def between(self) -> Between:
        """What fusing over a value would save."""
        ...

    @property
    def memory(self) -> Memory:
        """The memory's plan."""
        ...

    @property
    def cost(self) -> GraphCost:
        """What every kernel costs."""
        ...

    @property
    def schedule(self) -> Schedule:
        """Streams and timeline."""
        ...


def subject_of(compilation: Compiled, previous: Subject | None = None, *, course: bool = False) -> Subject:
    """A compilation as a subject.

    Args:
        compilation: the compilation.
        previous: another of the same model: what its graphs cost is taken over where they are the same.
        course: whether the cost after every step is wanted, which takes longer than the compilation.
    """
    unfused = _unfused(compilation, previous)
    return Subject(
        name=compilation.source.name,
        steps=compilation.steps,
        source=compilation.source,
        options=compilation.options,
        memory=compilation.memory,
        cost=compilation.cost,
        schedule=compilation.schedule,
        unfused=unfused,
        course=_course(compilation, unfused, previous) if course else (),
        between=compilation.between,
        kernels=getattr(compilation, "kernels", None),
        passes=_passes(),
        running=frozenset(p.name for p in compilation.plan.passes),
        plan=compilation.plan,
        context=compilation.context,
    )


def failed(error: PassError, source: SourceModel | None = None, options: Options | None = None) -> Subject:
    """A compilation that a pass ended, as far as it came."""
    steps = Steps([step for step in error.steps if isinstance(step, Step)])
    name = source.name if source is not None else steps[0].before.name if len(steps) else ""
    ran = frozenset(step.name for step in steps if step.stage == "passes")
    return Subject(
        name, steps, source, options, passes=_passes(), running=ran, failure=Failure(error.pass_name, error.why)
    )


def _course(compilation: Compiled, unfused: GraphCost | None, previous: Subject | None) -> Course:
    from gexplorer.views.explorer.course import course_of, known_costs

    steps, cost = compilation.steps, compilation.cost
    known = known_costs(previous.steps, previous.course, cost) if previous is not None else {}
    if unfused is not None:
        known[id(next(step for step in reversed(steps) if step.stage == "parse").after)] = unfused
    return course_of(steps, cost, known)


def _passes() -> dict[str, type[Pass]]:
    from gexplorer.passes.manager import all_passes

    return {p.name: p for p in all_passes()}


def _unfused(compilation: Compiled, previous: Subject | None) -> GraphCost | None:
    """None where too few kernels have a price for a comparison to mean anything."""
    from gexplorer.cost.graph import cost_of

    parsed = [step for step in compilation.steps if step.stage == "parse"]
    if not parsed or len(compilation.cost.uncosted) > MOST_UNPRICED * len(compilation.cost.rows):
        return None
    graph, chip = parsed[-1].after, compilation.cost.chip
    if previous is not None and previous.unfused is not None and previous.unfused.chip is chip:
        before = [step for step in previous.steps if step.stage == "parse"]
        if before and before[-1].after is graph:
            return previous.unfused
    costs = compilation.cost.costs
    return cost_of(graph, chip, tiling=compilation.cost.tiling, costs=costs if costs.tiler is None else None)
