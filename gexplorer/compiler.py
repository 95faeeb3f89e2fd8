"""The compilation: six stages in order, every step kept. The only module that knows them all."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gexplorer.cost.between import Between, between_kernels
from gexplorer.cost.graph import GraphCost, cost_of
from gexplorer.display import Displayed
from gexplorer.errors import PassError
from gexplorer.frontends.load import load
from gexplorer.frontends.onnx import SourceModel
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import Dim
from gexplorer.ir.verify import verify
from gexplorer.kernels.stage import Kernels, generate_kernels
from gexplorer.kernels.steps import kernel_steps
from gexplorer.memory.stage import Memory, plan_memory
from gexplorer.memory.steps import memory_steps, order_step
from gexplorer.ops.shapes import bind_inputs, infer_graph, with_types
from gexplorer.ops.shapes.inference import known_contents
from gexplorer.options import Options, from_environment
from gexplorer.passes.base import Context, Limits, Pass
from gexplorer.passes.fusion.price import Price
from gexplorer.passes.manager import plan, run_passes
from gexplorer.passes.switches import Plan, is_rule
from gexplorer.progress import Progress, Tell, watched
from gexplorer.schedule.durations import Durations, durations_of
from gexplorer.schedule.stage import Schedule, kernel_names, schedule
from gexplorer.schedule.steps import schedule_steps
from gexplorer.trace.records import Step, Steps
from gexplorer.validation.record import Validation
from gexplorer.validation.stage import validate
from gexplorer.validation.steps import validation_steps

if TYPE_CHECKING:
    from gexplorer.execution.program import Program
    from gexplorer.frontends.load import ModelLike
    from gexplorer.jupyter.explorer import Explorer, PanelWidget
    from gexplorer.offline.constants import Weights
    from gexplorer.render.variants import Wanted
    from gexplorer.views.why import Misses

# Steps of the parse stage: read, infer_shapes.
PARSE_STEPS = 2
# The stages after the passes, as ``tell`` names them.
LATER = ("memory", "kernels", "schedule", "validation")


@dataclass(frozen=True)
class Compilation(Displayed):
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
        kernels: how each kernel is tiled and what it does, tile by tile.
        validation: what was checked, and whether the result computes what the model says.
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
    kernels: Kernels = field(repr=False)
    validation: Validation = field(repr=False)
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

    def report(self, path: str | Path, *, variants: Wanted = "fitting", tell: Tell | None = None) -> Path:
        """Writes the explorer as one HTML file that needs nothing else, not even a network.

        Args:
            path: of the file.
            variants: which switches work in it: ``fitting`` for as many as add 1 MB at most, ``none``, ``rules`` for
                all memory modes and rules, or a number of rules.
            tell: called with how far the work is.

        Returns:
            The path.
        """
        from gexplorer.render.report import write_report

        with watched(tell, "writing the report") as told:
            return write_report(self, Path(path), variants=variants, tell=told)

    @cached_property
    def program(self) -> Program:
        """The program that runs: kernels in order, tensors where the memory plan wants them."""
        from gexplorer.execution.lower import lower

        return lower(self.memory)

    def save(self, path: str | Path, *, weights: Weights = "inline") -> Path:
        """Writes the offline model, which ``load_om`` runs; whole or not at all.

        Args:
            path: the file, ``.om`` by custom.
            weights: ``reference`` names weights that lie in a file of their own instead of copying them.

        Raises:
            OptionError: the memory plan is not sound, or the file cannot be written.
            ModelError: a constant cannot be read.
        """
        from gexplorer.offline.manifest import About
        from gexplorer.offline.save import save
        from gexplorer.offline.tiles import tiles_text
        from gexplorer.validation.inputs import index_rows

        source, typed = self.source, self.steps[PARSE_STEPS - 1].after
        rows = {name: found for name in typed.inputs if (found := index_rows(typed, name)) is not None}
        about = About(
            source.name, source.sha256, dict(source.graph.opsets), self.options.soc, self.options.as_dict(), rows
        )
        with watched(what="writing the offline model"):
            tiles = tiles_text(self.kernels)
            save(Path(path), self.program, about, self.memory, self.schedule, tiles=tiles, weights=weights)
        return Path(path)

    def explore(self, **traits: Any) -> Explorer:
        """The live explorer, for a notebook: everything linked, everything to be toggled.

        Args:
            **traits: ``theme`` (auto, light, dark), ``height`` in px, ``selection``.
        """
        from gexplorer.jupyter.explorer import Explorer

        return Explorer(self, **traits)

    def widget(self, panel: str, **traits: Any) -> PanelWidget:
        """One panel of the explorer by itself: graph, memory, schedule, traffic, roofline, tiling, time, rules, log."""
        from gexplorer.jupyter.explorer import PanelWidget

        return PanelWidget(self, panel, **traits)

    def replace(self, **changes: object) -> Compilation:
        """The same model compiled with other options; mappings such as ``fusion`` are merged.

        Only what the change touches is done again: steps before the first one that it touches are shared.
        """
        options = self.options.with_changes(changes)
        if options.same_as(self.options):
            return self
        with watched() as told:
            return compile_source(self.source, options, previous=self, tell=told)

    @property
    def between(self) -> Between:
        """The values between the kernels: what each costs HBM, and what fusing over it would save."""
        return self._between

    @cached_property
    def _between(self) -> Between:
        return between_kernels(self.graph, self.cost)

    @property
    def context(self) -> Context:
        """What the passes knew besides the graph."""
        return _context(self.options, self.contents, self.plan)

    def why(self, rule: str | None = None, node: str | None = None, *, every: bool = False) -> Misses:
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
        from gexplorer.views.why import Misses, every_miss, near_misses

        if rule is not None:
            plan({rule: True})  # an unknown name is an error with a suggestion, not an empty list
        if node is not None:
            require_name(self.steps, node)
        if every:
            return Misses(every_miss(self.steps, self.plan, self.context, rule, node, between=self.between))
        return Misses(near_misses(self.steps, rule, node, between=self.between))


def compile(model: ModelLike, *, tell: Tell | None = None, **options: object) -> Compilation:
    """Compiles a model.

    Args:
        model: path of an ONNX file, name of a zoo model (``qwen2.5-7b:layers=2``), or a model in memory: of onnx or
            onnx_ir; of torch where it knows its inputs (an exported program, a traced module; else ``from_torch``).
        tell: called before each pass with how far the work is; a notebook shows a bar where this is left out.
        **options: fields of ``Options``, such as ``soc``, ``shapes`` and ``fusion``.

    Raises:
        ModelError: the model cannot be read.
        VerifyError: it is not a valid model.
        OptionError: an option cannot be used.
        PassError: a pass failed; ``error.steps`` holds the steps up to there.
    """
    chosen = options_from(options)
    with paused_gc(), watched(tell) as told:
        return compile_source(load(model), chosen, tell=told)


def options_from(wanted: Mapping[str, object]) -> Options:
    """What is wanted, over what the environment says. Raises OptionError, also for a chip that is not known."""
    chosen = Options().with_changes({**from_environment(os.environ), **wanted})
    load_chip(chosen.soc)
    return chosen


def compile_source(
    source: SourceModel, options: Options, *, tell: Tell | None = None, previous: Compilation | None = None
) -> Compilation:
    """Compiles a model that has been read.

    Args:
        source: the model.
        options: what is asked for.
        tell: called before each pass, and before each later stage.
        previous: a compilation of the same model; what the options leave as it was is taken over from it.
    """
    with paused_gc():
        steps, chosen, context = optimise_source(source, options, tell=tell, previous=previous)
        say = _counted(tell, len(chosen.passes) + len(LATER))
        if options.order != "as_written":
            steps.append(_order(steps[-1].after, options, len(steps), previous))
        if previous is None or previous.memory.graph is not steps[-1].after:  # that one has been verified
            verify(steps[-1].after)
        say("memory")
        memory = _memory(steps[-1].after, options, previous)
        steps += _kept(previous, "memory", memory, steps) or memory_steps(memory, len(steps))
        say("kernels")
        kernels = _kernels(memory, options, previous)  # before the schedule: its times depend on the tiles
        cost = _cost(memory, options, previous, context, kernels)
        durations = durations_of(memory, cost)
        say("schedule")
        timetable = _schedule(memory, durations, options, previous)
        steps += _kept(previous, "schedule", timetable, steps) or schedule_steps(timetable, len(steps))
        steps += _kept(previous, "kernels", kernels, steps) or kernel_steps(kernels, len(steps))
        say("validation")
        checks = _validation(source, steps, memory, timetable, options, previous)
        steps += _kept(previous, "validation", checks, steps) or validation_steps(checks, memory.graph, len(steps))
        made = (memory, cost, durations, timetable, kernels, checks)
        result = Compilation(source, options, Steps(steps), chosen, *made, context.contents)
    if options.verify == "per-step":
        from gexplorer.validation.equality import require_equal_steps

        require_equal_steps(result.steps, options.seeds)
    return result


def optimise_source(
    source: SourceModel, options: Options, *, tell: Tell | None = None, previous: Compilation | None = None
) -> tuple[list[Step], Plan, Context]:
    """The first two stages alone: parse and passes.

    Args:
        source: the model.
        options: what is asked for.
        tell: called before each pass.
        previous: a compilation of the same model; what the options leave as it was is taken over from it.

    Returns:
        The steps, the passes that ran, and what they knew.
    """
    with paused_gc():
        chosen = options.plan()
        known: Mapping[type[Pass], Step] = {}
        if previous is not None and _is_parsed_alike(previous.options, options):
            steps, contents = list(previous.steps[:PARSE_STEPS]), previous.contents
            known = _known(previous, options, chosen)
        else:
            steps, contents = _parse(source, options)
        say = _counted(tell, len(chosen.passes) + len(LATER))
        context = _context(options, contents, chosen)
        try:
            steps += run_passes(
                steps[-1].after,
                chosen.passes,
                context,
                first_index=len(steps),
                earlier=steps,
                tell=lambda progress: say(progress.name, progress.done),
                known=known,
            )
        except PassError as error:
            error.subject = source, options
            error.add_note('What came before it can be looked at: error.report("failed.html") writes it as a page.')
            raise
        if chosen.matches_off:
            from gexplorer.views.lookup import require_matches

            was = ((), {}) if previous is None else (previous.steps, previous.plan.matches_off)
            require_matches(chosen.matches_off, steps, *was)
    return steps, chosen, context


def _counted(tell: Tell | None, total: int) -> Callable[..., None]:
    """Tells what is begun, by name, and how much of all is done: by its number, or as one of the later stages."""

    def say(name: str, done: int | None = None) -> None:
        if tell is not None:
            tell(Progress(name, total - len(LATER) + LATER.index(name) if done is None else done, total))

    return say


def _is_parsed_alike(old: Options, new: Options) -> bool:
    return old.shapes == new.shapes and _limits(old) == _limits(new)


def _known(previous: Compilation, options: Options, chosen: Plan) -> Mapping[type[Pass], Step]:
    """The steps of an earlier compilation whose passes would do the same again if they were given the same graph."""
    old = previous.options
    priced_alike = old.fuse_when == options.fuse_when and (options.fuse_when == "always" or old.soc == options.soc)
    steps = dict(zip(previous.plan.passes, previous.steps[PARSE_STEPS:], strict=False))
    return {
        one: step
        for one, step in steps.items()
        if previous.plan.matches_off.get(one.name) == chosen.matches_off.get(one.name)
        and old.allowed.get(one.name) == options.allowed.get(one.name)
        and (priced_alike or not is_rule(one))
    }


def _kept(previous: Compilation | None, stage: str, result: object, steps: Sequence[Step]) -> list[Step]:
    """The steps of a stage whose result was taken over, as they come next; none where it is new."""
    if previous is None or getattr(previous, stage) is not result:
        return []
    kept = [step for step in previous.steps if step.stage == stage]
    same = kept and kept[0].index == len(steps)
    return kept if same else [replace(step, index=at) for at, step in enumerate(kept, len(steps))]


def _context(options: Options, contents: Mapping[str, tuple[Dim, ...]], chosen: Plan) -> Context:
    price = Price(load_chip(options.soc)) if options.fuse_when == "if_profitable" else None
    return Context(_limits(options), contents, chosen.matches_off, options.allowed, price)


def _order(graph: Graph, options: Options, index: int, previous: Compilation | None) -> Step:
    """The step that fixes the execution order; the same order of the same graph is the same graph again."""
    if previous is not None and previous.options.order == options.order:
        step = previous.steps[PARSE_STEPS + len(previous.plan.passes)]  # behind the passes
        if step.before is graph:
            return step if step.index == index else replace(step, index=index)
    return order_step(graph, options.order, index)


def _memory(graph: Graph, options: Options, previous: Compilation | None) -> Memory:
    """The memory stage; what an earlier compilation found out about the same graph is taken over."""
    wishes = options.wishes()
    if previous is None or previous.memory.graph is not graph:
        return plan_memory(graph, wishes)
    return previous.memory if previous.memory.wishes == wishes else previous.memory.again(wishes)


def _kernels(memory: Memory, options: Options, previous: Compilation | None) -> Kernels:
    """The kernels stage; the kernels of the same launches on the same chip by the same search are the same."""
    chip, mode, names = load_chip(options.soc), options.tiling_mode, kernel_names(memory)
    known = previous.kernels if previous is not None else None
    if known is not None and known.is_for(memory.graph, names, chip, mode):
        return known
    return generate_kernels(memory.graph, chip, mode, names=names, previous=known)


def _cost(
    memory: Memory, options: Options, previous: Compilation | None, context: Context, kernels: Kernels
) -> GraphCost:
    """What the kernels that the memory plan leaves cost with a library's tiles, or with those that were searched."""
    if previous is not None and previous.kernels is kernels:
        return previous.cost
    chip, names = load_chip(options.soc), kernel_names(memory)
    if options.tiling_mode != "library":
        return cost_of(memory.graph, chip, tiling=options.tiling_mode, tiles=kernels.tile_of, launched=names)
    known = context.judge.costs if isinstance(context.judge, Price) else None
    if known is None and previous is not None and previous.cost.chip == chip and previous.cost.costs.tiler is None:
        known = previous.cost.costs.continued()
    return cost_of(memory.graph, chip, costs=known, launched=names)


def _validation(
    source: SourceModel,
    steps: Sequence[Step],
    memory: Memory,
    timetable: Schedule,
    options: Options,
    previous: Compilation | None,
) -> Validation:
    """The validation stage; what was checked of the same plan and schedule need not be checked again."""
    if (
        previous is not None
        and previous.validation.level == options.validate
        and previous.memory is memory
        and previous.schedule is timetable
    ):
        return previous.validation
    return validate(steps, memory, timetable, level=options.validate, original=source.original)


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
    return [reading, inferring], known_contents(facts)


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
