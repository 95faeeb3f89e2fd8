"""What is launched: the kernels of a graph, in execution order, with the points of the memory program that they take.

A view launches nothing, and neither does a Concat or Split that the memory plan spares. A control-flow node is one
kernel with all that its bodies hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import Type
from gexplorer.memory.program import BEFORE, Kind, Program, Sharing
from gexplorer.ops.row import Engine, Unit
from gexplorer.ops.table import Lowering, lookup
from gexplorer.ops.traits import is_view, makes_nothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.liveness import Liveness

    Ints = NDArray[np.int64]

NOTHING = -1  # the kernel of a point that launches nothing


@dataclass(frozen=True, eq=False)
class Kernels:
    """The kernels of a graph. Arrays are int64 and read-only.

    Attributes:
        nodes: [k] the node of each kernel, in execution order.
        lowerings: [k] CANN operator, engine and unit.
        first: [k] the first point of the memory program that a kernel takes.
        last: [k] the last one; another than the first for control flow only.
        at_point: [points] the kernel that a point is part of, ``NOTHING`` where nothing is launched.
        unsized: [k] whether it is a view of a size that nobody knows: it launches nothing, but the memory stage cannot
            prove that it lies in its source, so that it keeps its place in the order.
        launched: [k] whether it launches something. Those views do not; nor does what GE itself knows the result of
            (the Shape of a tensor whose size only the run tells), nor what has no element to compute.
    """

    nodes: tuple[Node, ...]
    lowerings: tuple[Lowering, ...]
    first: Ints
    last: Ints
    at_point: Ints
    unsized: NDArray[np.bool_]
    launched: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """[k] the node names."""
        return tuple([node.name for node in self.nodes])

    @property
    def launches(self) -> int:
        """How many launch something; the others only keep their place in the order."""
        return int(self.launched.sum())

    @property
    def cores(self) -> list[Unit]:
        """[k] who does the work."""
        return [lowering.unit for lowering in self.lowerings]

    @property
    def engines(self) -> list[Engine]:
        """[k] GE's engine."""
        return [lowering.engine for lowering in self.lowerings]


def kernels_of(graph: Graph, liveness: Liveness) -> Kernels:
    """The kernels of a graph whose memory is planned. O(nodes + tensors).

    Args:
        graph: the graph that the liveness was made from.
        liveness: says which views, Concats and Splits are spared.
    """
    program = liveness.program
    spared = _spared(liveness)
    unsized_at = np.zeros(len(program), dtype=np.bool_)
    unsized_at[program.writer[(program.writer > BEFORE) & (program.size_bytes < 0)]] = True
    nested = frozenset(graph.nested)
    at_point = np.full(len(program), NOTHING, dtype=np.int64)
    nodes: list[Node] = []
    first: list[int] = []
    last: list[int] = []
    point = 0
    for node in graph.order:
        length = _points(node) if node.name in nested else 1
        if length > 1 or not spared[point]:
            at_point[point : point + length] = len(nodes)
            nodes.append(node)
            first.append(point)
            last.append(point + length - 1)
        point += length
    assert point == len(program), "the program was made from another graph"
    columns = (np.array(first, dtype=np.int64), np.array(last, dtype=np.int64), at_point)
    unsized = unsized_at[columns[0]]
    unsized[unsized] = [is_view(nodes[k]) for k in np.flatnonzero(unsized).tolist()]
    lowerings = _lowerings(graph, nodes)
    launched = ~unsized & np.array([_launches(graph, *both) for both in zip(nodes, lowerings, strict=True)], dtype=bool)
    for column in (*columns, unsized, launched):
        column.flags.writeable = False
    return Kernels(tuple(nodes), lowerings, *columns, unsized, launched)


def computes(node: Node, outputs: Iterable[Type | None]) -> bool:
    """Whether a node launches a kernel, as far as it shows before memory is planned.

    A view does not, nor what GE itself knows the result of, nor what has no element to compute.

    Args:
        node: the node.
        outputs: the types of its outputs, without those that are left out.
    """
    return not is_view(node) and not _known_to_ge(node, lookup(node)) and not makes_nothing(outputs)


def _launches(graph: Graph, node: Node, lowering: Lowering) -> bool:
    known = _known_to_ge(node, lowering) and not is_view(node)
    return not known and not makes_nothing(graph.values[name].type for name in node.outputs if name)


def _known_to_ge(node: Node, lowering: Lowering) -> bool:
    return node.body is None and lowering.engine is Engine.GE_LOCAL


def aliases_of(program: Program, shared: Ints) -> NDArray[np.bool_]:
    """[n] tensors that are mere names for bytes of another: views, and the parts of Splits that are spared."""
    sharing = program.may_share.sharing
    found = np.zeros(len(shared), dtype=np.bool_)
    guests = np.flatnonzero(shared >= 0)
    found[guests] = np.isin(sharing[shared[guests]], (Sharing.VIEW, Sharing.SPLIT))
    return found


def roots_of(liveness: Liveness) -> Ints:
    """[n] the tensor that was written where a tensor's bytes are: itself, or what it is a name for."""
    program, shared = liveness.program, liveness.shared
    root = np.arange(len(shared), dtype=np.int64)
    names = np.flatnonzero(aliases_of(program, shared))
    root[names] = program.may_share.host[shared[names]]
    while not np.array_equal(root, further := root[root]):
        root = further
    return root


def _spared(liveness: Liveness) -> NDArray[np.bool_]:
    """[points] where nothing is launched: all results are names for bytes that are there already."""
    program, shared = liveness.program, liveness.shared
    made = program.writer > BEFORE
    named = _marked(len(program), program.writer[made])
    writes = _marked(len(program), program.writer[made & ~aliases_of(program, shared)])
    names = named & ~writes
    return names | _wholes(liveness, ~names)


def _wholes(liveness: Liveness, acts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[points] Concats of which every part lies where it must, and that make something that somebody wants.

    A Concat that nobody reads is launched, as if it were no matter where its parts lie: the memory plan keeps them
    until it, so that it must have a place in the order.
    """
    program, share, root = liveness.program, liveness.program.may_share, roots_of(liveness)
    concat = share.sharing == Sharing.CONCAT
    used = _marked(len(share), liveness.shared[liveness.shared >= 0])
    found = _marked(len(program), share.point[concat])
    found[share.point[concat & ~used]] = False
    read = program.read_tensor[(acts & ~found)[program.read_point]]
    wanted = _marked(len(root), root[np.concatenate((read, share.guest[concat & used]))])
    wanted[root[program.kind < Kind.INTERMEDIATE]] = True
    found[share.point[concat & ~wanted[share.host]]] = False
    return found


def _marked(length: int, places: Ints) -> NDArray[np.bool_]:
    marked = np.zeros(length, dtype=np.bool_)
    marked[places] = True
    return marked


def _points(node: Node) -> int:
    """Points of a node with nested graphs: where it begins, those of its graphs, where it ends."""
    return 2 + sum(_points_in(graph) for graph in node.graphs)


def _points_in(graph: Graph) -> int:
    nested = frozenset(graph.nested)
    return len(graph) - len(nested) + sum(_points(graph.nodes[name]) for name in nested)


def _lowerings(graph: Graph, nodes: Sequence[Node]) -> tuple[Lowering, ...]:
    type_of: dict[str, Type | None] = {name: value.type for name, value in graph.values.items()}
    type_of[""] = None  # an optional input or output that is absent
    return tuple(
        [lookup(node, [type_of[i] for i in node.inputs], [type_of[o] for o in node.outputs]) for node in nodes]
    )
