"""From a planned graph to a program that runs: one instruction an operator, tensors in the plan's buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.execution.kernels import KernelTable
from gexplorer.execution.program import (
    NO_BUFFER,
    PLACES,
    Buffers,
    Instruction,
    Place,
    Program,
    Tensor,
)
from gexplorer.execution.symbolic import live_by_symbols, needs_shapes
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType
from gexplorer.memory.contents import contents_of
from gexplorer.memory.liveness import Liveness
from gexplorer.memory.program import Kind
from gexplorer.memory.stage import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Layout:
    """Tensors in buffers, buffers at addresses.

    Attributes:
        liveness: which tensor lies in which buffer.
        addresses: [b] of each buffer, those outside the pool behind it.
        pool_bytes: the pool; 0 where the inputs of a run decide.
        is_fixed: whether the addresses hold for every run.
    """

    liveness: Liveness
    addresses: Ints
    pool_bytes: int
    is_fixed: bool


def lower(memory: Memory) -> Program:
    """The program of a planned graph.

    Every operator becomes an instruction, control flow with all that is nested in it a single one. Where the plan lets
    all results of an operator lie in bytes that are there already (views, a Concat or Split that is spared), nothing
    runs; a view that the plan did not place so, such as a result that is a view of an input, is a copy and runs.

    A graph with sizes that only the inputs of a run give gets buffers and lives, but no addresses: the pool is planned
    when a run comes. Wishes about places (``pins``, ``apart``) hold for fixed sizes only.

    Args:
        memory: the memory stage's result; its plan need not be sound.
    """
    graph = memory.graph
    layout = _layout(memory)
    index = {name: number for number, name in enumerate(layout.liveness.program.tensors)}
    tensors = {name: _tensor(graph, name, layout.liveness, index[name]) for name in _values(graph, index)}
    table = KernelTable(graph)
    return Program(
        name=graph.name,
        inputs=graph.inputs,
        defaults=dict(graph.defaults),
        outputs=tuple(zip(graph.output_names, graph.outputs, strict=True)),
        tensors=tensors,
        instructions=_instructions(graph, layout, index, table),
        kernels=table.kernels,
        buffers=_buffers(layout),
        pool_bytes=layout.pool_bytes,
        is_fixed=layout.is_fixed,
        alignment_bytes=layout.liveness.policy.alignment_bytes,
        padding_bytes=layout.liveness.policy.tensor_padding_bytes,
        gap_points=2 if layout.liveness.policy.closed else 1,
        planner="fast" if memory.wishes.reuse else "none",
        constants={value.name: value.constant for value in graph.constants if value.constant is not None},
    )


def _layout(memory: Memory) -> _Layout:
    if not needs_shapes(memory.graph):
        return _Layout(memory.liveness, memory.addresses, memory.pool_bytes, is_fixed=True)
    liveness = live_by_symbols(memory.graph, memory.liveness.policy)
    apart = np.cumsum(liveness.size_bytes) - liveness.size_bytes
    return _Layout(liveness, apart, 0, is_fixed=False)


def _values(graph: Graph, index: dict[str, int]) -> list[str]:
    """The graph's own values that the plan knows, in the plan's order."""
    return sorted((name for name in graph.values if name in index), key=index.__getitem__)


def _tensor(graph: Graph, name: str, liveness: Liveness, number: int) -> Tensor:
    value = graph.values[name]
    type_ = value.type
    if value.constant is not None:
        type_ = TensorType(value.constant.dtype, value.constant.shape)
    dtype, shape = (type_.dtype, type_.shape) if isinstance(type_, TensorType) else (None, None)
    buffer = int(liveness.buffer[number])
    if buffer < 0:
        own = PLACES[Kind(int(liveness.program.kind[number]))]
        return Tensor(name, dtype, shape, own if own is Place.CONSTANT else Place.OUTSIDE)
    place = PLACES[Kind(int(liveness.kind[buffer]))]
    return Tensor(name, dtype, shape, place, buffer, int(liveness.offset_bytes[number]))


def _instructions(graph: Graph, layout: _Layout, index: dict[str, int], table: KernelTable) -> tuple[Instruction, ...]:
    liveness = layout.liveness
    idle = _idle(layout)
    found: list[Instruction] = []
    point = 0
    for node in graph.order:
        last = point + _points(node, graph) - 1
        workspace = index.get(f"{node.name}:workspace")
        found.append(
            Instruction(
                name=node.name,
                op=node.op,
                kernel=table.number(node),
                is_spared=last == point and bool(idle[point]),
                inputs=tuple(dict.fromkeys(node.uses)),
                outputs=tuple(filter(None, node.outputs)),
                first_point=point,
                last_point=last,
                workspace=NO_BUFFER if workspace is None else int(liveness.buffer[workspace]),
            )
        )
        point = last + 1
    assert point == len(liveness.program)
    return tuple(found)


def _idle(layout: _Layout) -> NDArray[np.bool_]:
    """[points] operators whose results all lie in bytes that hold them already."""
    liveness = layout.liveness
    placed = liveness.buffer >= 0
    base = np.where(placed, layout.addresses[liveness.buffer] if len(layout.addresses) else 0, 0)
    contents = contents_of(liveness.program, base + liveness.offset_bytes, placed)
    empty = np.zeros(len(liveness.program), bool)  # what has no elements is written by nobody, but has a shape
    writers = liveness.program.writer[(liveness.program.size_bytes == 0) & (liveness.program.writer >= 0)]
    empty[writers] = True
    return contents.idle & ~empty


def _points(node: Node, graph: Graph) -> int:
    """Points that an operator takes: one, or those of its nested graphs between a first and a last."""
    if node.name not in graph.nested:
        return 1
    return 2 + sum(_points(inner, nested) for nested in node.graphs for inner in nested.order)


def _buffers(layout: _Layout) -> Buffers:
    liveness = layout.liveness
    in_pool = liveness.kind >= Kind.INTERMEDIATE
    offsets = np.where(in_pool & layout.is_fixed, layout.addresses, -1)
    sizes = liveness.size_bytes if layout.is_fixed else np.zeros_like(liveness.size_bytes)
    for column in (offsets, sizes):
        column.flags.writeable = False
    names = tuple([str(liveness.program.tensors[owner]) for owner in liveness.owner.tolist()])
    return Buffers(names, liveness.kind, liveness.first, liveness.last, sizes, offsets)
