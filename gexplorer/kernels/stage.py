"""The kernels stage: every node that is launched gets a description, units, a tile and a tile program, or a reason.

Work is done once for each kernel that differs. What costs more and is not always wanted (the whole landscape of tiles,
counting bytes, running) is done when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from traceback import walk_tb
from typing import Literal, TypeVar

from gexplorer.cost.tile import GemmTiles
from gexplorer.cost.work import Gemm
from gexplorer.display import Displayed
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.signature import signature
from gexplorer.kernels.describe import describe
from gexplorer.kernels.described import Described
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.gemm_kernel import GemmKernel
from gexplorer.kernels.generate import choose_tiles, write_programs
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.generator import Chosen, Generator
from gexplorer.kernels.tiling import MODES, Searches, SearchMode
from gexplorer.ops.fallbacks import AICPU_REASON, Fallback, fallbacks
from gexplorer.ops.row import Engine, Outcome, Unit
from gexplorer.ops.table import entry_of, lookup
from gexplorer.ops.traits import is_control_flow, makes_nothing
from gexplorer.ops.work import types_of
from gexplorer.trace.laps import Laps

# Why a node has no program. ``host``, ``aicpu``, ``graph_engine`` and ``control_flow``: no AI Core kernel is wanted.
# ``empty``: none of its results has any elements, so there is nothing to compute.
# ``no_generator``: one is, and nobody has written how. ``does_not_fit``: its buffers are larger than the chip's.
# ``generator_failed``: a generator has an error; the other kernels have their programs all the same.
Lack = Literal[
    "host", "aicpu", "graph_engine", "control_flow", "empty", "no_generator", "does_not_fit", "generator_failed"
]
EXPECTED: frozenset[Lack] = frozenset(("host", "aicpu", "graph_engine", "control_flow", "empty"))
# Of these, what falls back: the chip's AI Cores have no kernel for it.
FALLEN: frozenset[Lack] = frozenset(("host", "aicpu"))

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a node has no tile program.

    Attributes:
        code: what kind of reason it is.
        operator: the operator at fault, by its type.
        reason: as a sentence without a full stop.
    """

    code: Lack
    operator: str
    reason: str


@dataclass(frozen=True, eq=False)
class DistinctKernel(Displayed):
    """A kernel, and all nodes that have it.

    Attributes:
        op: the nodes' operator.
        unit: who does most of the work, as the operator table says.
        nodes: their names, in execution order.
        programs: its programs, one after the other in one launch; empty where there are none.
        missing: why there are none; None where there are.
        operators: name, operator and unit of each operator of the first node's body, in execution order.
    """

    op: str
    unit: str
    nodes: tuple[str, ...]
    programs: tuple[Generated, ...]
    missing: Missing | None
    operators: tuple[tuple[str, str, str], ...]

    def __repr__(self) -> str:
        more = f" and {self.count - 1:,} more" if self.count > 1 else ""
        return f"DistinctKernel({self.op!r} of {self.nodes[0]!r}{more}, {self.unit}, {len(self.programs)} programs)"

    @property
    def count(self) -> int:
        """How many nodes have it."""
        return len(self.nodes)

    @property
    def evaluations(self) -> int:
        """Tiles whose cost was computed for it."""
        return sum(program.evaluations for program in self.programs)

    @property
    def text(self) -> str:
        """What it computes; "" where that is not known."""
        return "; ".join(program.text for program in self.programs)


@dataclass(slots=True)
class Known:
    """What has been found out about kernels on one chip, by signature.

    Attributes:
        searches: the tile searches.
        described: what each kernel computes.
        chosen: its tiles.
        programs: its programs, bound to the first node that had it.
    """

    searches: Searches
    described: dict[Hashable, tuple[Described, ...] | Missing] = field(
        default_factory=dict[Hashable, "tuple[Described, ...] | Missing"]
    )
    chosen: dict[Hashable, tuple[Chosen[object], ...] | Missing] = field(
        default_factory=dict[Hashable, "tuple[Chosen[object], ...] | Missing"]
    )
    programs: dict[Hashable, tuple[Generated, ...] | Missing] = field(
        default_factory=dict[Hashable, "tuple[Generated, ...] | Missing"]
    )

    def describe(self, key: Hashable, graph: Graph, node: Node) -> None:
        """What a node computes."""
        if key not in self.described:
            self.described[key] = _attempt(node.op, lambda: _described(graph, node))

    def choose(self, key: Hashable, op: str) -> None:
        """Its tiles."""
        described = self.described[key]
        if key in self.chosen:
            return
        if isinstance(described, Missing):
            self.chosen[key] = described
            return
        found = _attempt(op, lambda: choose_tiles(described, op, self.searches))
        self.chosen[key] = _too_large(found) if isinstance(found, Refusal) else found

    def write(self, key: Hashable, op: str) -> None:
        """Its programs."""
        described, chosen = self.described[key], self.chosen[key]
        if key in self.programs:
            return
        if isinstance(described, Missing):
            self.programs[key] = described
            return
        if isinstance(chosen, Missing):
            self.programs[key] = chosen
            return
        found = _attempt(op, lambda: write_programs(described, chosen, op, self.searches.chip))
        self.programs[key] = _too_large(found) if isinstance(found, Refusal) else found


@dataclass(frozen=True, eq=False)
class Kernels(Displayed):
    """What came of the kernels stage.

    Attributes:
        graph: the graph.
        chip: the chip.
        mode: how tiles were looked for.
        distinct: the kernels that differ, in the order in which they are first run.
        seconds: CPU time of describing, assigning units, searching tiles, and writing programs.
        known: what later compilations take over.
    """

    graph: Graph
    chip: Chip
    mode: SearchMode
    distinct: tuple[DistinctKernel, ...]
    seconds: Mapping[str, float]
    known: Known = field(repr=False)

    def is_for(self, graph: Graph, names: Sequence[str], chip: Chip, mode: str) -> bool:
        """True where these are the kernels of some nodes of a graph on a chip by a search."""
        same = self.graph is graph and self.chip == chip and self.mode == mode
        return same and len(self) == len(names) and all(name in self._by_node for name in names)

    def __len__(self) -> int:
        return sum(kernel.count for kernel in self.distinct)

    def __repr__(self) -> str:
        designs = f"{len(self.distinct)} designs, {self.generated} with programs"
        return f"Kernels({len(self)} on {self.chip.name}, {designs})"

    def __getitem__(self, node: str) -> DistinctKernel:
        """The kernel of a node. Raises OptionError where it launches none."""
        found = self._by_node.get(node)
        if found is None:
            raise OptionError(f"{node!r} is no node that launches a kernel{self._hint(node)}")
        return found

    def _hint(self, name: str) -> str:
        try:
            return f"; it went into {self.node_with(name)!r}"
        except OptionError:
            return ""

    def node_with(self, name: str) -> str:
        """The node that launches a kernel and is of that name, came of it, or has an operator of that name.

        Raises:
            OptionError: there is none.
        """
        if name in self._by_node:
            return name
        for node in self._by_node:
            own = self.graph.nodes[node]
            if name in own.origin or (own.body is not None and name in own.body.nodes):
                return node
        raise OptionError(f"{name!r} is neither a node that launches a kernel nor an operator of one")

    @property
    def generated(self) -> int:
        """Nodes with a tile program."""
        return sum(kernel.count for kernel in self.distinct if kernel.missing is None)

    @property
    def evaluations(self) -> int:
        """Tiles whose cost was computed."""
        return sum(kernel.evaluations for kernel in self.distinct)

    @property
    def lacking(self) -> tuple[DistinctKernel, ...]:
        """Kernels without a program that should have one."""
        return tuple(k for k in self.distinct if k.missing is not None and k.missing.code not in EXPECTED)

    @cached_property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """The graph's nodes that run on the host or on the AI CPU, those of nested graphs too, in execution order."""
        return fallbacks(self.graph)

    def programs_of(self, node: str) -> tuple[Generated, ...]:
        """The programs of a node, whose buffers are bound to that node's values; empty where it has none."""
        return _bound(self.graph, node, self[node].programs)

    def tile_of(self, work: Gemm, chip: Chip) -> GemmTiles | None:
        """The tile of a product, for the cost model (``cost_of(tiles=...)``).

        What the search has found for the first kernel around such a product; where none is (products that one kernel
        computes as one, or that share L0C with others), the product alone is searched.

        Args:
            work: the product.
            chip: the chip, or what a kernel of several products leaves of it.

        Returns:
            None in mode ``library``, and where no tile with double buffers fits, which is all that is costed.
        """
        if self.mode == "library":
            return None
        key = _size(work)
        kernel = self._products.get(key) if chip == self.chip else None
        tile = self.known.searches.find(kernel or GemmKernel(work), chip=chip).double_tile
        return None if tile is None else GemmTiles.of(tile.m, tile.n, tile.k, tile.order)

    @cached_property
    def _by_node(self) -> dict[str, DistinctKernel]:
        return {node: kernel for kernel in self.distinct for node in kernel.nodes}

    @cached_property
    def _products(self) -> dict[Hashable, GemmKernel]:
        found: dict[Hashable, GemmKernel] = {}
        for kernel in self.distinct:
            for program in kernel.programs:
                if isinstance(program.described.kernel, GemmKernel):
                    found.setdefault(_size(program.described.kernel.work), program.described.kernel)
        return found


def generate_kernels(
    graph: Graph,
    chip: Chip,
    mode: SearchMode = "library",
    *,
    names: Iterable[str] | None = None,
    previous: Kernels | None = None,
) -> Kernels:
    """The kernels of a graph. O(nodes), and a search for each kernel that differs.

    Args:
        graph: the graph after the passes, with types.
        chip: the chip.
        mode: ``library`` takes a library's tiles, ``fast`` and ``exhaustive`` search for better ones.
        names: the nodes that launch a kernel, in execution order (``schedule.kernel_names``); all if left out.
        previous: the kernels of another graph, or of the same; what was found out on the same chip in the same mode is
            taken over.

    Raises:
        OptionError: there is no such mode.
    """
    if mode not in MODES:
        raise OptionError(f"tiling mode {mode!r}: one of {', '.join(MODES)} is wanted")
    same = previous is not None and previous.mode == mode and previous.chip == chip
    known = previous.known if same and previous is not None else Known(Searches(chip, mode))
    clock = Laps()
    groups: dict[Hashable, list[str]] = {}
    for node in graph.order if names is None else [graph.nodes[name] for name in names]:
        groups.setdefault(signature(graph, node), []).append(node.name)
    ops = {key: graph.nodes[group[0]].op for key, group in groups.items()}
    for key, group in groups.items():
        known.describe(key, graph, graph.nodes[group[0]])
    clock.lap("describe")
    for key, op in ops.items():
        known.choose(key, op)
    clock.lap("tiling_search")
    for key, op in ops.items():
        known.write(key, op)
    clock.lap("generate")
    distinct = tuple([_distinct(graph, group, known.programs[key]) for key, group in groups.items()])
    clock.lap("assign_units")
    return Kernels(graph, chip, mode, distinct, clock.seconds, known)


def _attempt(op: str, work: Callable[[], T]) -> T | Missing:
    """What a generator gives, or the error that it has: one kernel's generator must not end a compilation."""
    try:
        return work()
    except Exception as error:  # whatever it is: it is told as the kernel's reason, and tests look for it
        frames = [(frame, line) for frame, line in walk_tb(error.__traceback__)]
        asked = [own.name for frame, _ in frames if isinstance(own := frame.f_locals.get("self"), Generator)]
        frame, line = frames[-1]
        at = f"{type(error).__name__} at {Path(frame.f_code.co_filename).name}:{line}"
        what = f"{at}: {error}" if str(error) else at
        return Missing("generator_failed", op, f"generator {asked[0]}: {what}" if asked else what)


def _described(graph: Graph, node: Node) -> tuple[Described, ...] | Missing:
    found = lookup(node, *types_of(graph, node))
    if found.outcome is Outcome.FALLBACK:
        return Missing("host", node.op, found.reason)
    if is_control_flow(node):
        return Missing("control_flow", node.op, "the graphs inside it are kernels of their own")
    if found.unit is Unit.AICPU:
        return Missing("aicpu", node.op, AICPU_REASON)
    if node.body is None and found.engine is Engine.GE_LOCAL:
        return Missing("graph_engine", node.op, "GE itself does it, without a kernel")
    if makes_nothing(graph.tensor(name) for name in node.outputs if name):
        return Missing("empty", node.op, "its result has no elements, so there is nothing to compute")
    described = describe(graph, node)
    return Missing("no_generator", described.node, described.reason) if isinstance(described, Refusal) else described


def _too_large(refusal: Refusal) -> Missing:
    return Missing("does_not_fit", refusal.node, refusal.reason)


def _distinct(graph: Graph, names: list[str], made: tuple[Generated, ...] | Missing) -> DistinctKernel:
    node = graph.nodes[names[0]]
    unit = str(lookup(node, *types_of(graph, node)).unit)
    inner = (node,) if node.body is None else node.body.order
    if isinstance(made, Missing):
        operators = tuple((one.name, one.op, _table_unit(one)) for one in inner)
        return DistinctKernel(node.op, unit, tuple(names), (), made, operators)
    programs = _attempt(node.op, lambda: _bound(graph, node.name, made))
    if isinstance(programs, Missing):
        return _distinct(graph, names, programs)
    units = {name: unit for program in programs for name, unit in program.units}
    operators = tuple((one.name, one.op, units.get(one.name, "none")) for one in inner)
    return DistinctKernel(node.op, unit, tuple(names), programs, None, operators)


def _bound(graph: Graph, node: str, programs: tuple[Generated, ...]) -> tuple[Generated, ...]:
    """Programs whose buffers hold a node's own values: those that were made for it, or copies."""
    if not programs:
        return ()
    described = describe(graph, graph.nodes[node])
    assert not isinstance(described, Refusal)  # it has the signature of one that could be read
    return tuple(program.bound_to(own) for own, program in zip(described, programs, strict=True))


def _table_unit(node: Node) -> str:
    entry = entry_of(node)
    return "unknown" if entry is None else str(entry.family.unit)


def _size(work: Gemm) -> Hashable:
    return work.batch, work.m, work.n, work.k, work.dtype
