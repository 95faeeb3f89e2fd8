"""The memory stage: a graph's liveness, a plan for it, and the proof that the plan is sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.display import Charted
from gexplorer.errors import OptionError
from gexplorer.ir.graph import Graph
from gexplorer.memory.bounds import Bounds, bounds_of
from gexplorer.memory.extract import program_of
from gexplorer.memory.findings import Findings
from gexplorer.memory.liveness import Liveness, live
from gexplorer.memory.modes import find_mode
from gexplorer.memory.orders import ordered
from gexplorer.memory.plan import Plan, solve
from gexplorer.memory.planners.base import Declined, Effort
from gexplorer.memory.planners.registry import find_planner
from gexplorer.memory.policy import Policy
from gexplorer.memory.problem import FREE, Problem, make_problem
from gexplorer.memory.program import Kind, Program
from gexplorer.memory.standalone import compare_planners
from gexplorer.memory.verify_sharing import verify_sharing
from gexplorer.memory.wishes import Wishes
from gexplorer.ops.table import lookup
from gexplorer.ops.work import types_of
from gexplorer.trace.laps import Laps

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Memory(Charted):
    """What came of the memory stage.

    Addresses are in one space: the pool from 0, behind it what never shares (weights, inputs and outputs, state).

    Attributes:
        graph: the graph that was planned, in the order that was planned for.
        wishes: what was asked for.
        liveness: every tensor, buffer and lifetime.
        plan: the pool's plan.
        pool_buffers: [p] the buffer that each row of the plan's problem places.
        findings: what the verifier has against the sharing of buffers; empty for a sound plan.
        seconds: CPU time of extract, liveness, plan and verify.
    """

    graph: Graph
    wishes: Wishes
    liveness: Liveness
    plan: Plan
    pool_buffers: NDArray[np.int64]
    findings: Findings
    seconds: Mapping[str, float]

    def __repr__(self) -> str:
        return f"Memory({self.graph.name!r}, mode={self.wishes.mode!r}, {self.plan!r}, is_sound={self.is_sound})"

    @property
    def program(self) -> Program:
        """The columns that it all starts from."""
        return self.liveness.program

    @property
    def pool_bytes(self) -> int:
        """The pool that the tensors share."""
        return self.plan.pool_bytes

    @property
    def is_sound(self) -> bool:
        """True when the verifier found nothing, neither in the pool nor in what shares bytes."""
        return self.plan.is_sound and not self.findings

    @property
    def proved_optimal(self) -> bool:
        """True when no plan of these buffers is smaller; never where tensors without a size are left out."""
        return self.is_sound and self.plan.proved_optimal and not self.program.unsized

    @cached_property
    def bounds(self) -> Bounds:
        """The max live load, what is alive there, and what alignment costs."""
        return bounds_of(self.liveness)

    @cached_property
    def addresses(self) -> NDArray[np.int64]:
        """[b] address of each buffer: the plan's offsets, then what never shares, kind by kind."""
        return _addresses(self.liveness, self.pool_buffers, self.plan)

    def bytes_of(self, *kinds: Kind) -> int:
        """Aligned bytes of all buffers of some kinds."""
        chosen = np.isin(self.liveness.kind, kinds)
        return int(self.liveness.size_bytes[chosen].sum())

    @property
    def weight_bytes(self) -> int:
        """Aligned bytes of weights and constants; no planner may touch them."""
        return self.bytes_of(Kind.WEIGHT, Kind.CONSTANT)

    @property
    def persistent_bytes(self) -> int:
        """Aligned bytes of inputs, outputs and state: they belong to the caller for the whole program."""
        return self.bytes_of(Kind.INPUT, Kind.OUTPUT, Kind.STATE)

    @cached_property
    def safety_price_bytes(self) -> int:
        """How many bytes ``safe`` costs over ``balanced``, on this graph and with these wishes but for the limit."""
        safe, balanced = (self.again(replace(self.wishes, mode=mode, limit_bytes=0)) for mode in ("safe", "balanced"))
        return safe.pool_bytes - balanced.pool_bytes

    def what_if(self, *, order: str | None = None, **changes: object) -> Memory:
        """The same graph planned with other wishes, or in another execution order.

        Args:
            order: as_written, bfs, dfs, rdfs, stable_rdfs or memory_aware.
            **changes: fields of ``Wishes``: never_reuse, pins, apart, mode, ...

        Raises:
            OptionError: a wish cannot be met, or means nothing.
        """
        if not changes.keys() <= Wishes.__dataclass_fields__.keys():
            raise OptionError(f"what_if: the wishes are order, {', '.join(Wishes.__dataclass_fields__)}")
        return self.again(replace(self.wishes, **changes), order)  # pyright: ignore[reportArgumentType]

    def compare(self, names: Sequence[str] = (), effort: Effort | None = None) -> list[Plan | tuple[str, str]]:
        """Lets planners (all that are safe, and the articles' literal one) place the same buffers.

        Returns:
            a plan each, or name and reason where a planner declined.
        """
        return compare_planners(self.plan.problem, names, effort)

    def again(self, wishes: Wishes, order: str | None = None) -> Memory:
        """As ``what_if``, with all wishes at once."""
        if order is not None:
            return plan_memory(ordered(self.graph, order), wishes)
        return plan_memory(self.graph, wishes, program=self.program)


def plan_memory(graph: Graph, wishes: Wishes, *, program: Program | None = None) -> Memory:
    """Plans the memory of a graph in its execution order.

    Args:
        graph: the graph after all passes.
        wishes: what is asked for.
        program: its columns, where they are known already.

    Raises:
        OptionError: a wish names what is not there, the planner cannot do what is wished, or the pool is larger than
            the limit: then the message names the shortfall and what is alive at the peak.
    """
    mode = find_mode(wishes.mode)
    planner = find_planner(mode.planner if wishes.reuse else "none")
    effort = mode.effort if wishes.search_nodes is None else Effort(wishes.search_nodes)
    clock = Laps()
    if program is None:
        program = program_of(graph)
    clock.lap("extract")
    liveness = live(program, _policy(graph, wishes, cautious=mode.cautious))
    problem, pool_buffers = _problem(liveness, wishes)
    clock.lap("liveness")
    try:
        plan = solve(problem, planner, effort)
    except Declined as error:
        raise OptionError(f"memory: {error}") from None
    clock.lap("plan")
    findings = verify_sharing(
        program,
        liveness.buffer,
        liveness.offset_bytes,
        _addresses(liveness, pool_buffers, plan),
        liveness.size_bytes,
    )
    clock.lap("verify")
    memory = Memory(graph, wishes, liveness, plan, pool_buffers, findings, MappingProxyType(clock.seconds))
    if 0 < wishes.limit_bytes < memory.pool_bytes:
        raise OptionError(_too_large(memory))
    return memory


def _addresses(liveness: Liveness, pool_buffers: NDArray[np.int64], plan: Plan) -> NDArray[np.int64]:
    addresses = np.full(len(liveness.size_bytes), -1, dtype=np.int64)
    addresses[pool_buffers] = plan.placement.offsets
    rest = np.setdiff1d(np.arange(len(addresses)), pool_buffers)
    rest = rest[np.argsort(liveness.kind[rest], kind="stable")]
    block = liveness.policy.alignment_bytes
    start = -(-plan.pool_bytes // block) * block
    sizes = liveness.size_bytes[rest]
    addresses[rest] = start + np.cumsum(sizes) - sizes
    addresses.flags.writeable = False
    return addresses


def _policy(graph: Graph, wishes: Wishes, *, cautious: bool) -> Policy:
    policy = Policy() if wishes.alignment == "ge" else Policy.unaligned()
    if cautious:
        policy = replace(policy, in_place=False, closed=True, across_streams=False)
    if not wishes.reuse:
        policy = replace(policy, in_place=False)
    return replace(policy, never_reuse=_tensors_named(graph, wishes.never_reuse)) if wishes.never_reuse else policy


def _tensors_named(graph: Graph, names: Sequence[str]) -> frozenset[str]:
    """Tensors of these names, and all that operators of these names or types (ours or CANN's) write."""
    wanted = frozenset(names)
    found: set[str] = set()
    graphs = [graph]
    for one in graphs:  # grows while it is walked
        for node in one.nodes.values():
            cann = lookup(node, *types_of(one, node)).cann  # which often goes by the rank of what it reads
            if not wanted.isdisjoint((node.name, node.op, cann, *node.origin)):
                found.update(filter(None, node.outputs))
            graphs += node.graphs
    return frozenset(found | wanted)


def _problem(liveness: Liveness, wishes: Wishes) -> tuple[Problem, NDArray[np.int64]]:
    """What is to be placed, with the wishes about single tensors in it."""
    problem, pool_buffers = liveness.problem()
    if not wishes.pins and not wishes.apart:
        return problem, pool_buffers
    row_of_buffer = {buffer: row for row, buffer in enumerate(pool_buffers.tolist())}
    index_of = {name: index for index, name in enumerate(liveness.program.tensors)}

    def row(tensor: str) -> tuple[int, int]:
        index = index_of.get(tensor)
        if index is None:
            near = get_close_matches(tensor, index_of, 1)
            raise OptionError(f"no tensor {tensor!r}" + (f"; did you mean {near[0]}?" if near else ""))
        found = row_of_buffer.get(int(liveness.buffer[index]))
        if found is None:
            buffer = int(liveness.buffer[index])
            why = f"it is of kind {Kind(int(liveness.kind[buffer])).name.lower()}" if buffer >= 0 else "it has no size"
            raise OptionError(f"{tensor} is not in the pool: {why}")
        return found, int(liveness.offset_bytes[index])

    pinned = np.full(len(problem), FREE, dtype=np.int64)
    for tensor, offset in wishes.pins.items():
        where, inside = row(tensor)
        if offset < inside:
            raise OptionError(f"{tensor} lies {inside} bytes inside its buffer, so it cannot be at {offset}")
        if pinned[where] not in (FREE, offset - inside):
            raise OptionError(f"{tensor} shares its buffer with another tensor that is pinned elsewhere")
        pinned[where] = offset - inside
    pairs = [(row(a)[0], row(b)[0]) for a, b in wishes.apart]
    for (a, b), (first, second) in zip(wishes.apart, pairs, strict=True):
        if a == b:
            raise OptionError(f"apart: {a} cannot be kept apart from itself")
        if first == second:
            raise OptionError(f"{a} and {b} are the same bytes (one is a view of the other, or written in its place)")
    constrained = make_problem(
        problem.lower,
        problem.upper,
        problem.size_bytes,
        problem.names,
        alignment_bytes=problem.alignment_bytes,
        pinned=pinned,
        apart=np.array(pairs, dtype=np.int64).reshape(-1, 2),
    )
    return constrained, pool_buffers


def _too_large(memory: Memory) -> str:
    limit, pool = memory.wishes.limit_bytes, memory.pool_bytes
    largest = sorted(memory.bounds.alive, key=lambda entry: -entry.size_bytes)[:3]
    shown = ", ".join(f"{entry.tensor} {entry.size_bytes:,}" for entry in largest)
    return (
        f"mem_workspace_size: the pool needs {pool:,} bytes, {pool - limit:,} more than the {limit:,} allowed;"
        f" {len(memory.bounds.alive)} tensors are alive at the peak ({memory.bounds.operator}), the largest: {shown}"
    )
