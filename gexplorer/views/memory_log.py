"""The memory plan as the real GE logs it: a line for the whole, and one for each tensor with its place and life.

The form is that of GE's ``[IMAS]`` lines (graph compiler log, level INFO), which Huawei's ``imas`` tool reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.ir.graph import Node
from gexplorer.memory.program import BEFORE, Kind
from gexplorer.ops.table import lookup
from gexplorer.views.scope import Scope

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory

# GE's number for device memory (RT_MEMORY_HBM), and for a life that does not end with the program.
HBM = 2
FOREVER = 4294967295
# GE's names of the orders that it knows (--topo_sorting_mode).
_TOPO_MODES = {"bfs": "BFS", "dfs": "DFS", "rdfs": "RDFS", "stable_rdfs": "StableRDFS"}
_OUTSIDE = (Kind.INPUT, Kind.OUTPUT, Kind.STATE)


def memory_log(memory: Memory, order: str = "as_written") -> Iterator[str]:
    """The messages, the whole last, as GE logs it after the assignment.

    Args:
        memory: the plan.
        order: the execution order that was asked for.
    """
    graph = memory.graph.name
    nodes = {name: node for scope in Scope(memory.graph).nested() for name, node in scope.graph.nodes.items()}
    for index in np.flatnonzero(memory.liveness.buffer >= 0).tolist():
        if memory.liveness.kind[memory.liveness.buffer[index]] not in (Kind.WEIGHT, Kind.CONSTANT):
            yield _tensor(memory, graph, nodes, index)
    problem, program = memory.plan.problem, memory.program
    streams = 1 if program.streams is None else len(np.unique(program.streams))
    yield (
        f"[IMAS]AfterAssignMemory : {graph} memoffset[{memory.pool_bytes}], memtype[{HBM}],"
        f" theory_min[{problem.bound_bytes}], zero_copy[{memory.bytes_of(*_OUTSIDE)}],"
        f" total_size[{problem.unplanned_bytes}], no_reuse[{_never_reused_bytes(memory)}], streams[{streams}],"
        f" topo_mode[{_TOPO_MODES.get(order, order)}], mop[], io_reuse[0:0], alloc_mode[], smp[0]"
    )


def _tensor(memory: Memory, graph: str, nodes: dict[str, Node], index: int) -> str:
    liveness, program = memory.liveness, memory.program
    life = liveness.tensor(index)
    point, buffer = int(program.writer[index]), life.buffer
    name = program.tensors[index] if point == BEFORE else program.operators[point]
    node = nodes.get(name)
    op = "Data" if point == BEFORE else (lookup(node).cann or node.op if node is not None else "")
    if life.kind is Kind.WORKSPACE:
        place = "workspace[0]"
    else:
        place = f"output[{node.outputs.index(life.name) if node is not None and life.name in node.outputs else 0}]"
    outside = liveness.kind[buffer] in _OUTSIDE
    raw = life.size_bytes or 0
    first, last = int(liveness.first[buffer]), FOREVER if outside else int(liveness.last[buffer])
    stream = 0 if program.streams is None or point == BEFORE else int(program.streams[point])
    shares = int(life.sharing is not None)
    address = int(memory.addresses[buffer]) + life.offset_bytes
    return (
        f"[IMAS]Set {graph} name[{name}] optype[{op}] {place} offset to [{address}]"
        f" streamid[{stream}] memtype[{HBM}] size[{liveness.size_bytes[buffer]}]"
        f" realsize[{_padded(memory, raw)}] noalignsize[{raw}] life time begin[{first}] life time end[{last}]"
        f" child[0:{int(not outside)}:{int(life.offset_bytes > 0)}:{int(outside)}:1] isref[{shares}] batch[],"
        f" block_type[{life.kind.name.lower()}]"
    )


def _padded(memory: Memory, size_bytes: int) -> int:
    return int(memory.liveness.policy.padded_bytes(np.array([size_bytes], dtype=np.int64))[0])


def _never_reused_bytes(memory: Memory) -> int:
    """Bytes of the pool whose owners asked that nobody else gets them."""
    wanted, tensors = memory.liveness.policy.never_reuse, memory.program.tensors
    pool = memory.pool_buffers
    owners, sizes = memory.liveness.owner[pool].tolist(), memory.liveness.size_bytes[pool].tolist()
    reuse = memory.wishes.reuse
    return sum(size for owner, size in zip(owners, sizes, strict=True) if not reuse or tensors[owner] in wanted)
