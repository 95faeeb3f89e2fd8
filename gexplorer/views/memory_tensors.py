"""Every tensor of a planned program: how long it lives, where it lies, with whom it shares its bytes and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.errors import OptionError
from gexplorer.memory.program import BEFORE, Sharing
from gexplorer.ops.table import lookup
from gexplorer.trace.records import Message
from gexplorer.views.scope import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.memory.stage import Memory

# Why a tensor lies in the bytes of another.
SHARING_MESSAGES: Mapping[str, Message] = MappingProxyType(
    {
        "view": Message("the same bytes as {host} under another shape"),
        "in_place": Message("{operator} writes it over {host}, which nobody needs any more"),
        "concat": Message("written straight to where {host} has it, so that {operator} has nothing to copy"),
        "split": Message("read straight from where {host} has it, so that {operator} has nothing to copy"),
    }
)


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One tensor.

    Attributes:
        name: its name.
        kind: weight, constant, input, output, state, intermediate or workspace.
        size_bytes: as stored, before any alignment; None where unknown.
        first_write: the point that writes it, None for what is there from the start.
        last_read: the last point that needs it, loops taken in; None where nobody reads it.
        producer: the operator that writes it, "" for what is there from the start.
        readers: the operators that read it, in order.
        buffer: number of the buffer that it lies in, None for a tensor without a size.
        address: where it begins in the address space (the pool, then what never shares); None without a size.
        shares_with: the tensor in whose bytes it lies, "" where it has its own.
        sharing: view, in_place, concat or split; "" where it has its own bytes.
        why: the reason as a sentence.
        unsized: why it has no size, "" where it has one.
    """

    name: str
    kind: str
    size_bytes: int | None
    first_write: int | None
    last_read: int | None
    producer: str
    readers: tuple[str, ...]
    buffer: int | None
    address: int | None
    shares_with: str
    sharing: str
    why: str
    unsized: str


@dataclass(frozen=True, slots=True)
class Occupant:
    """A buffer that uses some of the same bytes of the pool at another time.

    Attributes:
        name: the tensor that gave the buffer its name.
        first: first point at which it is alive.
        last: last point at which it is.
        shared_bytes: how many bytes it has in common.
    """

    name: str
    first: int
    last: int
    shared_bytes: int


def tensor_rows(memory: Memory) -> list[TensorRow]:
    """Every tensor, in the order of the program."""
    return [_row(memory, index) for index in range(len(memory.program.tensors))]


def tensor_row(memory: Memory, name: str) -> TensorRow:
    """One tensor. Raises OptionError with the nearest name where there is none of this."""
    return _row(memory, _index(memory, name))


def occupants(memory: Memory, name: str) -> tuple[list[Occupant], list[Occupant]]:
    """Who had the bytes of a tensor's buffer before, and who gets them after; the nearest in time first.

    Both are empty for a tensor that is not in the pool.
    """
    liveness, plan = memory.liveness, memory.plan
    buffer = int(liveness.buffer[_index(memory, name)])
    (rows,) = np.nonzero(memory.pool_buffers == buffer)
    if not len(rows):
        return [], []
    row = int(rows[0])
    low, size = plan.placement.offsets, plan.problem.size_bytes
    shared = np.minimum(low + size, low[row] + size[row]) - np.maximum(low, low[row])
    shared[row] = 0
    before = np.flatnonzero((shared > 0) & (plan.problem.upper <= plan.problem.lower[row]))
    after = np.flatnonzero((shared > 0) & (plan.problem.lower >= plan.problem.upper[row]))
    before = before[np.argsort(-plan.problem.upper[before], kind="stable")]
    after = after[np.argsort(plan.problem.lower[after], kind="stable")]

    def told(chosen: NDArray[np.intp]) -> list[Occupant]:
        return [
            Occupant(
                memory.program.tensors[int(liveness.owner[other])],
                int(liveness.first[other]),
                int(liveness.last[other]),
                int(shared[one]),
            )
            for one, other in zip(chosen.tolist(), memory.pool_buffers[chosen].tolist(), strict=True)
        ]

    return told(before), told(after)


def names_of_tensors_and_operators(memory: Memory) -> frozenset[str]:
    """What may be named when something is wished of tensors: they, their operators, and operator types."""
    nodes = [node for scope in Scope(memory.graph).nested() for node in scope.graph.nodes.values()]
    said = {name for node in nodes for name in (node.name, node.op, lookup(node).cann, *node.origin) if name}
    return frozenset(said.union(memory.program.tensors))


def _index(memory: Memory, name: str) -> int:
    tensors = memory.program.tensors
    try:
        return tensors.index(name)
    except ValueError:
        from difflib import get_close_matches

        near = get_close_matches(name, tensors, 1)
        raise OptionError(f"no tensor {name!r}" + (f"; did you mean {near[0]}?" if near else "")) from None


def _row(memory: Memory, index: int) -> TensorRow:
    life = memory.liveness.tensor(index)
    host, sharing, why = _sharing(memory, index)
    placed = life.buffer >= 0
    return TensorRow(
        name=life.name,
        kind=life.kind.name.lower(),
        size_bytes=life.size_bytes,
        first_write=None if life.first_write == BEFORE else life.first_write,
        last_read=life.last_read if life.readers else None,
        producer=life.producer,
        readers=tuple(dict.fromkeys(life.readers)),
        buffer=life.buffer if placed else None,
        address=int(memory.addresses[life.buffer]) + life.offset_bytes if placed else None,
        shares_with=host,
        sharing=sharing,
        why=why,
        unsized="" if placed else memory.program.unsized.get(life.name, "its size is not known"),
    )


def _sharing(memory: Memory, index: int) -> tuple[str, str, str]:
    """The tensor whose bytes are used, how, and why as a sentence; all "" where it has its own."""
    row = int(memory.liveness.shared[index])
    if row < 0:
        return "", "", ""
    program = memory.program
    may = program.may_share
    host = program.tensors[int(may.host[row])]
    sharing = Sharing(int(may.sharing[row])).name.lower()
    operator = program.operators[int(may.point[row])]
    return host, sharing, SHARING_MESSAGES[sharing].reason.format(host=host, operator=operator)
