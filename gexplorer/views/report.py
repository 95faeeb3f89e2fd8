"""All that a report says about a compilation, as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Literal

from gexplorer.ir.graph import Graph
from gexplorer.ops.fallbacks import fallbacks
from gexplorer.options import Options
from gexplorer.passes.manager import all_passes
from gexplorer.trace.records import STAGES, Step, Steps
from gexplorer.views.describe import type_text
from gexplorer.views.explorer.accuracy import error_of
from gexplorer.views.groups import StepGroups, step_groups
from gexplorer.views.memory_report import MemoryReport, memory_report
from gexplorer.views.operators import OperatorRow, Part, operator_rows, parts, unit_counts
from gexplorer.views.scope import Scope
from gexplorer.views.summary import Compiled, kernels

if TYPE_CHECKING:
    from gexplorer.errors import PassError
    from gexplorer.frontends.onnx import SourceModel
    from gexplorer.memory.stage import Memory

# Buffers that are drawn one by one on paper; the explorer draws all.
MOST_DRAWN = 100


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that the compilation changed.

    Attributes:
        label: what it is.
        before: in the model as read.
        after: after the last step.
        unit: how to print it.
        note: what it means, in a few words.
        trend: its course over the steps, where known.
    """

    label: str
    before: int
    after: int
    unit: Literal["count", "bytes"] = "count"
    note: str = ""
    trend: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of the model."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model as read.

    Attributes:
        name: file name or zoo name.
        sha256: of the file.
        nodes: nodes in the file, Constant nodes included.
        weight_bytes: bytes of all constants.
        missing: data files that the model names but that do not exist.
        inputs: with their types.
        outputs: with their types.
        opsets: version of each operator domain.
    """

    name: str
    sha256: str
    nodes: int
    weight_bytes: int
    missing: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    opsets: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage; ``steps`` is 0 where it is not built yet."""

    name: str
    seconds: float
    steps: int


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step with its records in groups.

    Attributes:
        index: place in the trace.
        stage: the stage that it belongs to.
        name: of the pass or action.
        ge_name: what the real GE calls it; "" where it has no such thing.
        summary: what it does.
        seconds: wall-clock time.
        nodes_before: nodes before.
        nodes_after: nodes after.
        rewrites: how many.
        rejects: how many near misses.
        changed: whether it gave another graph.
        groups: the records.
    """

    index: int
    stage: str
    name: str
    ge_name: str
    summary: str
    seconds: float
    nodes_before: int
    nodes_after: int
    rewrites: int
    rejects: int
    changed: bool
    groups: StepGroups

    @property
    def quiet(self) -> bool:
        """True when it did nothing and missed nothing."""
        return not self.changed and not self.rewrites and not self.rejects


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report.

    Attributes:
        version: of gexplorer; "" where it is not installed.
        soc: the chip.
        options: every option that is not at its default, as text.
        model: the model as read.
        figures: the headline.
        fallbacks: nodes that run on the host, those of nested graphs with the nodes that they lie in.
        verified: whether every step was run and compared with the model as read.
        seconds: time of all steps.
        stages: always all of them.
        steps: every step.
        off: passes that did not run.
        operators: before and after.
        units: nodes a unit has after.
        parts: of the outermost graph.
        memory: who lies where; None where no memory was planned.
        command: repeats the report on the command line.
        python: repeats it in Python.
        failure: why the compilation came to no end; "" where it did.
        latency_us: modelled time of the whole; None where nothing was costed.
        hbm_bytes: modelled bytes to and from HBM.
        error: relative error of the time, of kernels with published measurements; None where there are none.
    """

    version: str
    soc: str
    options: tuple[tuple[str, str], ...]
    model: ModelFacts
    figures: tuple[Figure, ...]
    fallbacks: tuple[str, ...]
    verified: bool
    seconds: float
    stages: tuple[StageRow, ...]
    steps: tuple[StepReport, ...]
    off: tuple[str, ...]
    operators: tuple[OperatorRow, ...]
    units: tuple[tuple[str, int], ...]
    parts: tuple[Part, ...]
    memory: MemoryReport | None
    command: str
    python: str
    failure: str = ""
    latency_us: float | None = None
    hbm_bytes: float | None = None
    error: float | None = None


def report_data(compilation: Compiled, *, with_memory: bool = True) -> Report:
    """Everything that the report says in words.

    Args:
        compilation: what it is about.
        with_memory: whether the plan is looked at closely; all planners are run for it.
    """
    steps, options = compilation.steps, compilation.options
    before, after = _as_read(steps), steps[-1].after
    operators = operator_rows(before, after)
    memory = compilation.memory
    return Report(
        version=version_text(),
        soc=options.soc,
        options=tuple((name, _text(value)) for name, value in changed_options(options).items()),
        model=_model(compilation.source, before),
        figures=(*_figures(steps, before, after, compilation.schedule.kernels.launches), *_pool(memory)),
        fallbacks=tuple(one.place for one in fallbacks(after) if one.on_host),
        verified=options.verify == "per-step",
        seconds=sum(step.seconds for step in steps),
        stages=tuple(_stage(name, steps) for name in STAGES),
        steps=tuple(step_report(step) for step in steps),
        off=_not_run(options),
        operators=tuple(operators),
        units=tuple(unit_counts(operators)),
        parts=tuple(parts(after)),
        memory=memory_report(memory, MOST_DRAWN) if with_memory else None,
        command=command_line(compilation.source.name, options),
        python=python_line(compilation.source.name, options),
        latency_us=compilation.schedule.makespan_us if compilation.cost.rows else None,
        hbm_bytes=compilation.cost.hbm_bytes if compilation.cost.rows else None,
        error=error_of(compilation.cost),
    )


def failed_data(error: PassError, source: SourceModel, options: Options) -> Report:
    """What the report of a compilation that a pass ended shows: the steps before it."""
    steps = Steps([step for step in error.steps if isinstance(step, Step)])
    before = _as_read(steps) if len(steps) else source.graph
    after = steps[-1].after if len(steps) else source.graph
    operators = operator_rows(before, after)
    return Report(
        version=version_text(),
        soc=options.soc,
        options=tuple((name, _text(value)) for name, value in changed_options(options).items()),
        model=_model(source, before),
        figures=_figures(steps, before, after),
        fallbacks=tuple(one.place for one in fallbacks(after) if one.on_host),
        verified=False,
        seconds=sum(step.seconds for step in steps),
        stages=tuple(_stage(name, steps) for name in STAGES),
        steps=tuple(step_report(step) for step in steps),
        off=_not_run(options),
        operators=tuple(operators),
        units=tuple(unit_counts(operators)),
        parts=tuple(parts(after)),
        memory=None,
        command=command_line(source.name, options),
        python=python_line(source.name, options),
        failure=str(error),
    )


def changed_options(options: Options) -> dict[str, object]:
    """The options that are not at their defaults."""
    defaults = Options()
    values = ((f.name, getattr(options, f.name)) for f in fields(options))
    return {name: value for name, value in values if value != getattr(defaults, name)}


def command_line(model: str, options: Options) -> str:
    """The command that makes the same report (but for what only Python can ask for), quoted for a POSIX shell."""
    words = ["gexplorer", "report", model]
    for name, value in changed_options(options).items():
        match name:
            case "soc":
                words += ["--soc", options.soc]
            case "shapes":
                for tensor, shape in options.shapes.items():
                    words += ["--shape", f"{tensor}:{','.join(map(str, shape))}"]
            case "fusion":
                for rule, on in options.fusion.items():
                    words += ["--on" if on else "--off", rule]
            case "memory":
                words += ["--memory", options.memory]
            case "pins" | "apart":
                pass  # the command line has them as questions only: gexplorer planners --pin, --apart
            case _:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                words += ["--set", f"{name}={text}"]
    return shlex.join(words if not model.startswith("-") else ["gexplorer", "report", *words[3:], "--", model])


def python_line(model: str, options: Options) -> str:
    """The Python that makes the same report."""
    changed = {name: dict(v) if isinstance(v, Mapping) else v for name, v in changed_options(options).items()}
    arguments = ", ".join([repr(model), *(f"{name}={value!r}" for name, value in changed.items())])
    return f'import gexplorer as gx\n\nc = gx.compile({arguments})\nc.report("report.html")'


def _as_read(steps: Steps) -> Graph:
    """The model before any pass, with the types that parsing found."""
    parsed = [step for step in steps if step.stage == "parse"]
    return parsed[-1].after if parsed else steps[0].before


def _figures(steps: Steps, before: Graph, after: Graph, launches: int | None = None) -> tuple[Figure, ...]:
    course = (steps[0].nodes_before if len(steps) else before.nodes_deep, *(step.nodes_after for step in steps))
    planned = len(kernels(after)) if launches is None else launches
    return (
        Figure("Nodes", course[0], course[-1], trend=course, note="operators, nested graphs included"),
        Figure("Kernels", len(kernels(before)), planned, note="launches; a view launches none"),
        Figure("Constants", _constant_bytes(before), _constant_bytes(after), "bytes", "weights and folded values"),
    )


def _pool(memory: Memory) -> tuple[Figure, ...]:
    unplanned = memory.plan.problem.unplanned_bytes
    return (Figure("Memory pool", unplanned, memory.pool_bytes, "bytes", "shared by intermediate results"),)


def _constant_bytes(graph: Graph) -> int:
    values = (value for scope in Scope(graph).nested() for value in scope.graph.values.values())
    return sum(value.constant.nbytes for value in values if value.constant is not None)


def _model(source: SourceModel, graph: Graph) -> ModelFacts:
    return ModelFacts(
        name=source.name,
        sha256=source.sha256,
        nodes=source.nodes,
        weight_bytes=source.weight_bytes,
        missing=source.missing,
        inputs=_tensors(graph, graph.inputs, graph.inputs),
        outputs=_tensors(graph, graph.outputs, graph.output_names),
        opsets=tuple((domain or "ai.onnx", number) for domain, number in sorted(source.graph.opsets.items())),
    )


def _tensors(graph: Graph, values: Sequence[str], names: Sequence[str]) -> tuple[Tensor, ...]:
    found = ((graph.values.get(value), name) for value, name in zip(values, names, strict=True))
    return tuple(Tensor(name, type_text(value.type or value.declared) if value else "") for value, name in found)


def _stage(name: str, steps: Steps) -> StageRow:
    own = [step for step in steps if step.stage == name]
    return StageRow(name, sum(step.seconds for step in own), len(own))


def step_report(step: Step) -> StepReport:
    """A step with its records in groups."""
    return StepReport(
        index=step.index,
        stage=step.stage,
        name=step.name,
        ge_name=step.ge_name or "",
        summary=step.summary,
        seconds=step.seconds,
        nodes_before=step.nodes_before,
        nodes_after=step.nodes_after,
        rewrites=len(step.rewrites),
        rejects=len(step.rejects),
        changed=step.changed,
        groups=step_groups(step),
    )


def _not_run(options: Options) -> tuple[str, ...]:
    chosen = {p.name for p in options.plan().passes}
    return tuple(p.name for p in all_passes() if p.name not in chosen)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def version_text() -> str:
    """The installed version of gexplorer; "" where it is not installed."""
    try:
        return version("gexplorer")
    except PackageNotFoundError:
        return ""
