"""The memory stage as steps of the trace: liveness, assignment, check."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from gexplorer.ir.graph import Graph
from gexplorer.memory.findings import MESSAGES, Finding
from gexplorer.memory.orders import ordered
from gexplorer.memory.stage import Memory
from gexplorer.trace.records import Reject, Step


def order_step(graph: Graph, order: str, index: int) -> Step:
    """Puts the graph into another execution order; the last step of the passes, as GE does it."""
    start = perf_counter()
    after = ordered(graph, order)
    return Step(
        index=index,
        stage="passes",
        name="topological_sorting",
        ge_name="TopologicalSorting",
        before=graph,
        after=after,
        seconds=perf_counter() - start,
        summary=f"Fixes the execution order: {order}.",
    )


def memory_steps(memory: Memory, first_index: int) -> list[Step]:
    """Three steps that leave the graph as it is; what the verifier found is what the last one rejects."""
    seconds = memory.seconds
    parts = (
        (
            "liveness",
            None,
            seconds["extract"] + seconds["liveness"],
            "Says from which operator to which each tensor lives, and which tensors are the same bytes.",
        ),
        (
            "memory_assignment",
            "AssignMemory",
            seconds["plan"],
            f"Gives every buffer of the pool an offset: {memory.plan.planner}.",
        ),
        (
            "memory_check",
            "CheckOffset",
            seconds["verify"],
            "Checks the plan with code that shares nothing with the planner.",
        ),
    )
    return checked_steps(memory.graph, "memory", parts, (*memory.plan.findings, *memory.findings), first_index)


def checked_steps(
    graph: Graph,
    stage: str,
    parts: Sequence[tuple[str, str | None, float, str]],
    findings: Sequence[Finding],
    first_index: int,
) -> list[Step]:
    """Steps that leave the graph as it is; what the verifier found is what the last one rejects.

    Args:
        graph: the graph.
        stage: the stage that they belong to.
        parts: name, GE's name, seconds and summary of each.
        findings: what the verifier found.
        first_index: place of the first in the trace.
    """
    last = len(parts) - 1
    return [
        Step(
            index=first_index + number,
            stage=stage,
            name=name,
            ge_name=ge_name,
            before=graph,
            after=graph,
            seconds=seconds,
            rejects=tuple(map(_reject, findings)) if number == last else (),
            messages=MESSAGES,
            summary=summary,
        )
        for number, (name, ge_name, seconds, summary) in enumerate(parts)
    ]


def _reject(finding: Finding) -> Reject:
    shown = finding.shown()
    second = shown.get("second")
    return Reject(str(shown.get("first", "")), finding.code, shown, None if second is None else str(second))
