"""The same model under several sets of rules: kernels, traffic, time, memory, and time to compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from gexplorer.ir.graph import Graph
from gexplorer.passes.switches import PRESETS
from gexplorer.trace.records import Steps

if TYPE_CHECKING:
    from gexplorer.cost.graph import GraphCost
    from gexplorer.memory.stage import Memory
    from gexplorer.options import Options


class Compiled(Protocol):
    """What is built again under other rules."""

    @property
    def options(self) -> Options:
        """What was asked for."""
        ...

    @property
    def steps(self) -> Steps:
        """Every step."""
        ...

    @property
    def graph(self) -> Graph:
        """The graph after the last step."""
        ...

    @property
    def cost(self) -> GraphCost:
        """What every kernel costs."""
        ...

    @property
    def memory(self) -> Memory:
        """The memory's plan."""
        ...

    def replace(self, **changes: object) -> Compiled:
        """The same model with other options."""
        ...


@dataclass(frozen=True, slots=True)
class Build:
    """What came of one set of rules.

    Attributes:
        name: of the set.
        fused: kernels that stand for several operators.
        kernels: kernels that are launched.
        hbm_bytes: bytes to and from HBM, modelled.
        latency_us: device time, modelled.
        eager_us: the same where the host dispatches every kernel.
        pool_bytes: memory for activations.
        compile_ms: time of all steps of the compilation, those taken over from another build too.
        uncosted: kernels whose time nobody can tell; they are in no sum.
        comparable: whether those are the same kernels as in the base, so that the sums are over the same work.
    """

    name: str
    fused: int
    kernels: int
    hbm_bytes: float
    latency_us: float
    eager_us: float
    pool_bytes: int
    compile_ms: float
    uncosted: int
    comparable: bool = True


@dataclass(frozen=True, slots=True)
class Ablation:
    """A model, built again and again.

    Attributes:
        base: as it was asked for.
        sets: named sets of rules.
        without: for each rule that fused something, the model without it; the one that is missed most comes first,
            by time, or by kernels where times cannot be compared.
    """

    base: Build
    sets: tuple[Build, ...]
    without: tuple[Build, ...]


def ablation(compiled: Compiled, *, leave_out: bool = True) -> Ablation:
    """Builds a model with each preset, and without each rule that fused something in turn.

    A build goes on from the first step that its switches touch, so leaving out a rule that runs late costs little.

    Args:
        compiled: the model as it was asked for.
        leave_out: false for the presets alone.
    """
    base = build(compiled.options.preset, compiled)
    presets = [(name, {"preset": name}) for name in PRESETS if name != compiled.options.preset]
    rules = [step.name for step in compiled.steps if step.is_fusion and step.rewrites] if leave_out else []
    without = builds(compiled, [(rule, {"fusion": {rule: False}}) for rule in dict.fromkeys(rules)])
    timed = all(other.comparable for other in without)
    return Ablation(
        base,
        builds(compiled, presets),
        tuple(sorted(without, key=lambda other: (-other.latency_us if timed else -other.kernels, other.name))),
    )


def builds(compiled: Compiled, sets: Sequence[tuple[str, Mapping[str, object]]]) -> tuple[Build, ...]:
    """Builds a model with each of several changes of its options, by name."""
    return tuple(build(name, compiled.replace(**changes), compiled) for name, changes in sets)


def build(name: str, compiled: Compiled, base: Compiled | None = None) -> Build:
    """What came of one compilation, beside another that it is measured by."""
    cost = compiled.cost
    measure = cost if base is None else base.cost
    return Build(
        name=name,
        fused=sum(node.body is not None for node in compiled.graph.nodes.values()),
        kernels=len(cost.rows) + len(cost.uncosted),
        hbm_bytes=cost.hbm_bytes,
        latency_us=cost.latency_us,
        eager_us=cost.eager_us,
        pool_bytes=compiled.memory.pool_bytes,
        compile_ms=1e3 * sum(step.seconds for step in compiled.steps),
        uncosted=len(cost.uncosted),
        comparable={row.node for row in cost.uncosted} == {row.node for row in measure.uncosted},
    )


def ablation_data(found: Ablation) -> dict[str, object]:
    """All builds as rows of plain data."""
    return {
        "base": asdict(found.base),
        "sets": [asdict(row) for row in found.sets],
        "without": [asdict(row) for row in found.without],
    }
