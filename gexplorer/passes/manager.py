"""Finds the passes, runs them in order, times them and keeps every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from time import perf_counter

import gexplorer.passes
from gexplorer.discovery import classes_of
from gexplorer.errors import GexplorerError, PassError
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Graph, Graphs
from gexplorer.ir.verify import verify_changes
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.passes.switches import Plan, is_rule, make_plan
from gexplorer.progress import Progress, Tell
from gexplorer.trace.records import Place, Reject, Rewrite, Step

_registered: dict[str, type[Pass]] = {}


def register(pass_class: type[Pass]) -> type[Pass]:
    """Adds a pass that is not a file of this package (from a notebook); also usable as a decorator."""
    _registered[pass_class.name] = pass_class
    return pass_class


def all_passes() -> tuple[type[Pass], ...]:
    """Every known pass in running order: this package's files, installed entry points, registered ones."""
    found = {p.name: p for p in _discovered()} | _registered
    return tuple(sorted(found.values(), key=lambda p: (p.order, p.name)))


def plan(
    switches: Mapping[str, bool],
    preset: str = "ge",
    *,
    priorities: Mapping[str, int] | None = None,
    fast: bool = False,
) -> Plan:
    """What runs when some passes, rules or single matches are switched on or off, see ``switches.make_plan``."""
    return make_plan(all_passes(), preset, switches, priorities=priorities, fast=fast)


def run_passes(
    graph: Graph,
    passes: Sequence[type[Pass]],
    context: Context,
    *,
    first_index: int = 0,
    earlier: Sequence[Step] = (),
    tell: Tell = lambda progress: None,
    known: Mapping[type[Pass], Step] | None = None,
) -> list[Step]:
    """Runs passes over a graph and all graphs nested in it.

    Args:
        graph: what they begin with.
        passes: in running order.
        context: what they know besides the graph.
        first_index: number of the first step.
        earlier: the steps before, for the error.
        tell: called before each pass.
        known: steps of an earlier run of passes that knew the same; one that ran on the very graph is taken over.

    Raises:
        PassError: a pass failed or left an invalid graph; ``error.steps`` holds the steps up to there.
    """
    steps: list[Step] = []
    for number, pass_class in enumerate(passes):
        tell(Progress(pass_class.name, number, len(passes)))
        step = (known or {}).get(pass_class)
        if step is not None and step.before is graph:
            steps.append(step if step.index == first_index + number else replace(step, index=first_index + number))
            graph = step.after
            continue
        start = perf_counter()
        try:
            after, rewrites, rejects, tried = _run_one(pass_class(), graph, context)
        except Exception as error:
            names = tuple(step.name for step in (*earlier, *steps))
            why = str(error) if isinstance(error, GexplorerError) else f"{type(error).__name__}: {error}"
            raise PassError(pass_class.name, names, " ".join(why.split()), (*earlier, *steps)) from error
        step = Step(
            index=first_index + number,
            stage="passes",
            name=pass_class.name,
            ge_name=pass_class.ge_name,
            before=graph,
            after=after,
            seconds=perf_counter() - start,
            rewrites=tuple(rewrites),
            rejects=tuple(rejects),
            messages=pass_class.messages,
            summary=pass_class.summary(),
            is_fusion=is_rule(pass_class),
            tried=tried,
        )
        steps.append(step)
        graph = after
    return steps


def _run_one(work: Pass, graph: Graph, context: Context) -> tuple[Graph, list[Rewrite], list[Reject], int]:
    draft = Draft(graph)
    rewrites, rejects = _run_on(work, draft, context, ())
    after = draft.finish()
    if after is not graph:
        verify_changes(after, draft.changes)
    return after, rewrites, rejects, draft.tried


def _run_on(work: Pass, draft: Draft, context: Context, path: tuple[Place, ...]) -> tuple[list[Rewrite], list[Reject]]:
    log = Log(draft, path, context.judge if is_rule(type(work)) else None)
    if work.outer_first:
        work.run(draft, log, context)
    rewrites, rejects = _run_within(work, draft, context, path)
    if work.outer_first:
        return log.rewrites + rewrites, log.rejects + rejects
    work.run(draft, log, context)
    return rewrites + log.rewrites, rejects + log.rejects


def _run_within(
    work: Pass, draft: Draft, context: Context, path: tuple[Place, ...]
) -> tuple[list[Rewrite], list[Reject]]:
    """Runs a pass on the graphs nested in one."""
    rewrites: list[Rewrite] = []
    rejects: list[Reject] = []
    for node in draft.nested_nodes():
        attributes = node.attributes
        for key in sorted(attributes):
            held = attributes[key]
            graphs = [held] if isinstance(held, Graph) else list(held) if isinstance(held, Graphs) else []
            edited: list[Graph] = []
            for index, graph in enumerate(graphs):
                place = Place(node.name, key, index if isinstance(held, Graphs) else -1)
                inner = Draft(graph, draft)
                more = _run_on(work, inner, context, (*path, place))
                rewrites += more[0]
                rejects += more[1]
                edited.append(inner.finish())
                draft.tried += inner.tried
            if any(new is not old for new, old in zip(edited, graphs, strict=True)):
                attributes = attributes.set(key, Graphs(edited) if isinstance(held, Graphs) else edited[0])
        if attributes is not node.attributes:
            draft.put_node(replace(node, attributes=attributes))
    return rewrites, rejects


@cache
def _discovered() -> tuple[type[Pass], ...]:
    return classes_of(gexplorer.passes, Pass, group="gexplorer.passes")
