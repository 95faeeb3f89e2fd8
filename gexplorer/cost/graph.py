"""The cost of a whole compiled graph: every kernel in execution order, totals, and what could not be costed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gexplorer.cost.accuracy import published_p90
from gexplorer.cost.host import host_cost
from gexplorer.cost.kernel import KernelCost
from gexplorer.cost.kernel_work import Family, HostWork, KernelWork, NoKernel, Uncosted
from gexplorer.cost.l2 import account, compulsory_bytes, sources_of, storages_of
from gexplorer.cost.staged import Costs, Tile, Tiler, Tiling, shares_of
from gexplorer.cost.work import Gemm
from gexplorer.cost.work_of_node import copy_of_node
from gexplorer.display import Charted
from gexplorer.hardware.spec import Chip
from gexplorer.ir.graph import Graph
from gexplorer.ops.table import lookup
from gexplorer.ops.work import types_of


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel of a graph.

    Attributes:
        node: its name.
        op: its operator.
        engine: GE's engine.
        unit: who does the work: cube, vector, mte, scalar, host.
        family: what kind of kernel it is; ``host`` for a round trip to the host.
        work: what it has to do.
        tiles: tile_m, tile_n, tile_k of each of its products, in order.
        cost: time, pipes and bytes; arrays of shape [1].
        resident_bytes: bytes of inputs and outputs that L2 held, so that HBM did not move them.
    """

    node: str
    op: str
    engine: str
    unit: str
    family: Family
    work: KernelWork | HostWork
    tiles: tuple[Tile, ...]
    cost: KernelCost
    resident_bytes: float

    @property
    def total_us(self) -> float:
        """Time from launch to end."""
        return float(self.cost.total_us[0])

    @property
    def hbm_bytes(self) -> float:
        """Bytes to and from HBM."""
        return float(self.cost.hbm_bytes[0])

    @property
    def bound(self) -> str:
        """The pipe that works longest, ``launch``, or ``host``."""
        return "host" if self.family == "host" else self.cost.bound[0]

    @property
    def flops(self) -> int:
        """Operations; 0 where they are not known."""
        return (self.work.flops or 0) if isinstance(self.work, KernelWork) else 0

    @property
    def note(self) -> str:
        """What was assumed; "" where nothing was."""
        if isinstance(self.work, HostWork):
            return f"runs on the host: {self.work.reason}; the rate of the link is illustrative"
        return self.work.note


@dataclass(frozen=True, slots=True)
class UncostedRow:
    """A kernel whose cost nobody can tell, and why."""

    node: str
    op: str
    reason: str


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over some kernels.

    Attributes:
        name: of the group.
        kernels: how many.
        total_us: device time, launches included.
        launch_us: launches alone.
        hbm_bytes: bytes to and from HBM.
        flops: operations.
    """

    name: str
    kernels: int
    total_us: float
    launch_us: float
    hbm_bytes: float
    flops: int


@dataclass(frozen=True)
class GraphCost(Charted):
    """What a graph costs on a chip, its kernels one after the other on one stream.

    Attributes:
        chip: the chip.
        tiling: how tiles were looked for.
        rows: kernels in execution order.
        uncosted: kernels that are in no total.
        compulsory_bytes: what any implementation of the graph moves to and from HBM.
        distinct: kernels that differ, so that were really costed.
        spared: nodes that would be kernels, if the memory plan had not their inputs and outputs in the same place.
        costs: what equal works cost elsewhere.
    """

    chip: Chip
    tiling: Tiling
    rows: tuple[KernelRow, ...]
    uncosted: tuple[UncostedRow, ...]
    compulsory_bytes: float
    distinct: int
    spared: frozenset[str]
    costs: Costs = field(repr=False, compare=False)

    def __repr__(self) -> str:
        sums = f"latency_us={self.latency_us:.6g}, hbm_bytes={self.hbm_bytes:.6g}"
        return (
            f"GraphCost({self.chip.name!r}, {len(self.rows):,} kernels, {sums}, {len(self.uncosted):,} without a price)"
        )

    @cached_property
    def latency_us(self) -> float:
        """Device time: the sum over all kernels."""
        return sum(row.total_us for row in self.rows)

    @cached_property
    def launch_us(self) -> float:
        """Time that launches are of it."""
        return sum(row.cost.launch_us for row in self.rows)

    @cached_property
    def hbm_bytes(self) -> float:
        """Bytes to and from HBM."""
        return sum(row.hbm_bytes for row in self.rows)

    @cached_property
    def l2_bytes(self) -> float:
        """Bytes between L2 and the cores."""
        return sum(float(row.cost.l2_bytes[0]) for row in self.rows)

    @cached_property
    def l1_bytes(self) -> float:
        """Bytes into L1, of all cores."""
        return sum(float(row.cost.l1_bytes[0]) for row in self.rows)

    @cached_property
    def ub_bytes(self) -> float:
        """Bytes into UB and out of it, of all cores."""
        return sum(float(row.cost.ub_bytes[0]) for row in self.rows)

    @cached_property
    def flops(self) -> int:
        """Operations."""
        return sum(row.flops for row in self.rows)

    @property
    def dispatch_us(self) -> float:
        """Time in which the host dispatches the kernels one by one (eager mode)."""
        return len(self.rows) * self.chip.launch.dispatch_us

    @property
    def eager_us(self) -> float:
        """A step in eager mode: the device waits for the host, or the host for the device."""
        return max(self.latency_us, self.dispatch_us)

    @property
    def graph_us(self) -> float:
        """A step of the compiled graph, launched as a whole."""
        return self.latency_us

    def by_op(self) -> tuple[Total, ...]:
        """Sums by operator, the dearest first."""
        return self._by(lambda row: row.op)

    def p90(self, family: str) -> float | None:
        """Error that nine of ten published points of a family stay within, see ``accuracy.published_p90``."""
        return published_p90(family, self.chip)

    def by_family(self) -> tuple[Total, ...]:
        """Sums by family, the dearest first."""
        return self._by(lambda row: row.family)

    def by_engine(self) -> tuple[Total, ...]:
        """Sums by GE's engine, the dearest first."""
        return self._by(lambda row: row.engine)

    def _by(self, key: Callable[[KernelRow], str]) -> tuple[Total, ...]:
        groups: dict[str, list[KernelRow]] = {}
        for row in self.rows:
            groups.setdefault(key(row), []).append(row)
        totals = [
            Total(
                name,
                len(rows),
                sum(row.total_us for row in rows),
                sum(row.cost.launch_us for row in rows),
                sum(row.hbm_bytes for row in rows),
                sum(row.flops for row in rows),
            )
            for name, rows in groups.items()
        ]
        return tuple(sorted(totals, key=lambda total: (-total.total_us, total.name)))


def cost_of(
    graph: Graph,
    chip: Chip,
    *,
    tiling: Tiling = "library",
    costs: Costs | None = None,
    tiles: Tiler | None = None,
    launched: Collection[str] | None = None,
) -> GraphCost:
    """What a compiled graph costs.

    Args:
        graph: the graph, in the order in which it runs.
        chip: the chip.
        tiling: ``library`` and ``fast`` give each product a library's tile, ``exhaustive`` the best that fits.
        costs: costs of the same chip that are known already, such as those of another step.
        tiles: gives products the tiles that the kernels stage has searched (``Kernels.tile_of``); not with ``costs``.
        launched: the nodes that launch a kernel in a memory plan of the graph (``schedule.kernel_names``); without it
            every node that is no view does.

    Raises:
        OptionError: there is no such tiling.
    """
    known = costs if costs is not None else Costs(chip, tiling, tiles)
    works: list[tuple[str, KernelWork | HostWork]] = []
    uncosted: list[UncostedRow] = []
    spared: list[str] = []
    planned = None if launched is None else frozenset(launched)
    for node in graph.order:
        work = known.works.of(graph, node)
        if planned is not None and node.name not in planned:
            if not isinstance(work, NoKernel):
                spared.append(node.name)
            continue
        if planned is not None and isinstance(work, NoKernel):
            work = copy_of_node(graph, node)
        if isinstance(work, Uncosted):
            uncosted.append(UncostedRow(node.name, node.op, work.reason))
        elif not isinstance(work, NoKernel):
            works.append((node.name, work))
    source = sources_of(graph)
    in_place = frozenset(spared)
    storage = storages_of(graph, source, in_place)
    unknown = {row.node for row in uncosted}
    running = {name for name, _ in works} | unknown
    kernels = [node for node in graph.order if node.name in running]
    resident = account(graph, kernels, source, chip.l2_usable * chip.capacity.l2_bytes, unknown, storage).spared
    least = compulsory_bytes(graph, kernels, source, unknown, storage)
    rows = [_row(graph, name, work, resident, known) for name, work in works]
    distinct = len({row.work for row in rows})
    return GraphCost(chip, known.tiling, tuple(rows), tuple(uncosted), least, distinct, in_place, known)


def _row(
    graph: Graph, name: str, work: KernelWork | HostWork, resident: Mapping[str, float], costs: Costs
) -> KernelRow:
    node = graph.nodes[name]
    found = lookup(node, *types_of(graph, node))
    engine = str(found.engine)
    if isinstance(work, HostWork):
        return KernelRow(name, node.op, engine, "host", "host", work, (), host_cost(work, costs.chip), 0.0)
    spared = min(resident[name], work.border_bytes)
    cost = costs.kernel(work, spared)
    shares = shares_of(work.stages)
    tiles = tuple(
        tile for stage in work.stages if isinstance(stage.main, Gemm) and (tile := costs.body(stage, shares).tile)
    )
    return KernelRow(name, node.op, engine, str(found.unit), work.family, work, tiles, cost, spared)
