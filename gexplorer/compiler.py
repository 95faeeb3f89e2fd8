"""The compilation: six stages in order, every step kept. The only module that knows them all."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from gexplorer.cost.graph import GraphCost, cost_of
from gexplorer.errors import ModelError, OptionError
from gexplorer.frontends.onnx import SourceModel, read
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import Dim
from gexplorer.ir.verify import verify
from gexplorer.memory.stage import Memory, plan_memory
from gexplorer.memory.steps import memory_steps, order_step
from gexplorer.ops.shapes import Facts, bind_inputs, infer_graph, with_types
from gexplorer.options import Options, from_environment
from gexplorer.passes.base import Context, Limits
from gexplorer.passes.manager import Progress, plan, run_passes
from gexplorer.passes.switches import Plan
from gexplorer.schedule.durations import Durations, durations_of
from gexplorer.schedule.stage import Schedule, schedule
from gexplorer.schedule.steps import schedule_steps
from gexplorer.trace.records import Step, Steps

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from gexplorer.views.why import Miss

    ModelLike = str | Path | onnx.ModelProto | onnx_ir.Model

Tell = Callable[[Progress], None]
# Steps of the parse stage: read, infer_shapes.
PARSE_STEPS = 2


@dataclass(frozen=True)
class Compilation:
    """What came of compiling one model with one set of options.

    Attributes:
        source: the model as read.
        options: what was asked for.
        steps: every step of every stage, by number or name.
        plan: the passes and rules that ran.
        memory: liveness, the pool's plan and its proof.
        cost: what every kernel of the graph costs on the chip: modelled, with the error of its family beside it.
        durations: modelled time of every kernel that is launched, and which have none.
        schedule: streams, events and timeline by those times; proved free of races.
        contents: elements of small integer tensors that shape inference found.
    """

    source: SourceModel
    options: Options
    steps: Steps
    plan: Plan = field(repr=False)
    memory: Memory = field(repr=False)
    cost: GraphCost = field(repr=False)
    durations: Durations = field(repr=False)
    schedule: Schedule = field(repr=False)
    contents: Mapping[str, tuple[Dim, ...]] = field(repr=False)

    def __repr__(self) -> str:
        return f"Compilation({self.source.name!r}, {len(self.steps)} steps, {self.graph!r}, {self.memory!r})"

    @property
    def graph(self) -> Graph:
        """The graph after the last step."""
        return self.steps[-1].after

    def summary(self) -> dict[str, object]:
        """The whole compilation as plain data, schema ``gexplorer.summary/1``."""
        from gexplorer.views.summary import summarise

        return summarise(self)

    def report(self, path: str | Path) -> Path:
        """Writes one self-contained HTML page; returns its path."""
        from gexplorer.render.report import write_report

        return write_report(self, Path(path))

    def replace(self, **changes: object) -> Compilation:
        """The same model compiled with other options; mappings such as ``fusion`` are merged.

        Only what the change touches is done again: steps before the first one that it touches are shared.
        """
        options = self.options.with_changes(changes)
        return self if options == self.options else compile_source(self.source, options, previous=self)

    @property
    def context(self) -> Context:
        """What the passes knew besides the graph."""
        return _context(self.options, self.contents, self.plan)

    def why(self, rule: str | None = None, node: str | None = None, *, every: bool = False) -> list[Miss]:
        """Every near miss of the rules (of one rule, at one node): where, what blocked it, what would cure it.

        Args:
            rule: our name of a rule or pass, or GE's.
            node: a node or value: misses there, or that it blocks.
            every: the far misses too, one for each node with an operator that a rule's matches end in; the rules run
                once more for it.

        Raises:
            OptionError: no such rule, no such node; similar names are suggested.
        """
        from gexplorer.views.lookup import require_name
        from gexplorer.views.why import every_miss, near_misses

        if rule is not None:
            plan({rule: True})  # an unknown name is an error with a suggestion, not an empty list
        if node is not None:
            require_name(self.steps, node)
        if every:
            return every_miss(self.steps, self.plan, self.context, rule, node)
        return near_misses(self.steps, rule, node)


def compile(model: ModelLike, *, tell: Tell | None = None, **options: object) -> Compilation:
    """Compiles a model.

    Args:
        model: path of an ONNX file, name of a zoo model (``qwen2.5-7b:layers=2``), or a model in memory.
        tell: called before each pass with how far the work is.
        **options: fields of ``Options``, such as ``soc``, ``shapes`` and ``fusion``.

    Raises:
        ModelError: the model cannot be read.
        VerifyError: it is not a valid model.
        OptionError: an option cannot be used.
        PassError: a pass failed; ``error.steps`` holds the steps up to there.
    """
    chosen = Options().with_changes({**from_environment(os.environ), **options})
    load_chip(chosen.soc)  # an unknown chip is told before the work
    with paused_gc():
        return compile_source(load(model), chosen, tell=tell)


def load(model: ModelLike) -> SourceModel:
    """Reads a model from wherever it is. A name that is no file may be a zoo model."""
    if isinstance(model, str) and not os.path.lexists(model):
        from gexplorer.frontends import zoo

        if model.partition(":")[0].strip() not in zoo.names():
            raise ModelError(f"{model}: no such file, and no model of the zoo (gexplorer zoo lists those)")
        try:
            name, options = zoo.parse_spec(model)
            return replace(read(zoo.build(name, **options)), name=model)
        except ValueError as error:
            raise OptionError(str(error)) from None
    return read(model)


def compile_source(
    source: SourceModel, options: Options, *, tell: Tell | None = None, previous: Compilation | None = None
) -> Compilation:
    """Compiles a model that has been read.

    Args:
        source: the model.
        options: what is asked for.
        tell: called before each pass.
        previous: a compilation of the same model; what the options leave as it was is taken over from it.
    """
    with paused_gc():
        fast = options.fusion_mode == "fast"
        chosen = plan(options.fusion, options.preset, priorities=options.priorities, fast=fast)
        steps, contents = _reused(previous, options, chosen) if previous is not None else ([], {})
        if not steps:
            steps, contents = _parse(source, options)
        done = len(steps) - PARSE_STEPS
        steps += run_passes(
            steps[-1].after,
            chosen.passes[done:],
            _context(options, contents, chosen),
            first_index=len(steps),
            earlier=steps,
            tell=tell or (lambda progress: None),
        )
        if options.order != "as_written":
            steps.append(order_step(steps[-1].after, options.order, len(steps)))
        verify(steps[-1].after)
        memory = _memory(steps[-1].after, options, previous)
        steps += _kept(previous, "memory", memory, steps) or memory_steps(memory, len(steps))
        cost = _cost(steps[-1].after, options, previous)
        durations = durations_of(memory, cost)
        timetable = _schedule(memory, durations, options, previous)
        steps += _kept(previous, "schedule", timetable, steps) or schedule_steps(timetable, len(steps))
        result = Compilation(source, options, Steps(steps), chosen, memory, cost, durations, timetable, contents)
    if options.verify == "per-step":
        from gexplorer.validation.equality import require_equal_steps

        require_equal_steps(result.steps, options.seeds)
    return result


def _reused(previous: Compilation, options: Options, chosen: Plan) -> tuple[list[Step], Mapping[str, tuple[Dim, ...]]]:
    """The steps of an earlier compilation up to the first that would come out another; none if parsing would."""
    old = previous.options
    if old.shapes != options.shapes or _limits(old) != _limits(options):
        return [], {}
    same = 0
    for before, now in zip(previous.plan.passes, chosen.passes, strict=False):
        off = (previous.plan.matches_off.get(now.name), chosen.matches_off.get(now.name))
        allowed = (old.allowed.get(now.name), options.allowed.get(now.name))
        if before is not now or off[0] != off[1] or allowed[0] != allowed[1]:
            break
        same += 1
    return list(previous.steps[: PARSE_STEPS + same]), previous.contents


def _kept(previous: Compilation | None, stage: str, result: object, steps: Sequence[Step]) -> list[Step]:
    """The steps of a stage whose result was taken over; none where it is new, or would stand at another place."""
    if previous is None or getattr(previous, stage) is not result:
        return []
    kept = [step for step in previous.steps if step.stage == stage]
    return kept if kept[0].index == len(steps) else []


def _context(options: Options, contents: Mapping[str, tuple[Dim, ...]], chosen: Plan) -> Context:
    return Context(_limits(options), contents, chosen.matches_off, options.allowed)


def _memory(graph: Graph, options: Options, previous: Compilation | None) -> Memory:
    """The memory stage; what an earlier compilation found out about the same graph is taken over."""
    wishes = options.wishes()
    if previous is None or previous.memory.graph is not graph:
        return plan_memory(graph, wishes)
    return previous.memory if previous.memory.wishes == wishes else previous.memory.again(wishes)


def _cost(graph: Graph, options: Options, previous: Compilation | None) -> GraphCost:
    if previous is not None and previous.graph is graph and previous.options.soc == options.soc:
        return previous.cost
    return cost_of(graph, load_chip(options.soc))


def _schedule(memory: Memory, durations: Durations, options: Options, previous: Compilation | None) -> Schedule:
    """The schedule stage; the same plan with the same times in the same mode has the same one."""
    if (
        previous is not None
        and previous.memory is memory
        and previous.options.streams == options.streams
        and previous.durations.us == durations.us
    ):
        return previous.schedule
    return schedule(memory, durations.us, options.streams)


def _limits(options: Options) -> Limits:
    return Limits(options.fold_read_bytes, options.fold_growth_bytes)


def _parse(source: SourceModel, options: Options) -> tuple[list[Step], Mapping[str, tuple[Dim, ...]]]:
    start = perf_counter()
    verify(source.graph)
    reading = Step(
        index=0,
        stage="parse",
        name="read",
        ge_name="PreRunBegin",
        before=source.graph,
        after=source.graph,
        seconds=source.seconds + perf_counter() - start,
        summary="Reads the file into a graph; Constant nodes become constants, local functions are inlined.",
    )
    start = perf_counter()
    bound = bind_inputs(source.graph, options.shapes)
    facts = infer_graph(bound)
    typed = with_types(bound, facts)
    inferring = Step(
        index=1,
        stage="parse",
        name="infer_shapes",
        ge_name="InferShapePass",
        before=source.graph,
        after=typed,
        seconds=perf_counter() - start,
        summary="Infers the type of every value from the inputs alone; what the file declares inside is not trusted.",
    )
    return [reading, inferring], _contents(facts)


def _contents(facts: Facts) -> dict[str, tuple[Dim, ...]]:
    """Known elements of small integer tensors, nested graphs included (names are unique over all of them)."""
    found = {name: fact.content for name, fact in facts.items() if fact.content is not None}
    for inner in facts.nested.values():
        found |= _contents(inner)
    return found


@contextmanager
def paused_gc() -> Generator[None]:
    """No cycle collection inside: millions of small immutable objects are made, none of them garbage.

    Measured: building a graph of 100,000 nodes takes 0.8 s without and 3.0 s with the collector. What was made
    is then handed to the oldest generation, or else the collector would look at all of it at once (1 s more).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.unfreeze()  # frozen objects go to the oldest generation
            gc.enable()
