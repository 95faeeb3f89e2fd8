"""Sizes that only the inputs of a run give: which buffers there are is known before, how large they are is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gexplorer.execution.sizes import determined
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import Dim, Symbol, base_atoms, product
from gexplorer.ir.types import TensorType
from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import Liveness, live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import MayShare, Program, Sharing
from gexplorer.ops.shapes.inference import bound_type

# Sizes that stand for symbols while buffers are formed; only which tensors share is taken from there, and that only
# where the symbols themselves say that it holds for all sizes.
_FIRST_SIZE = 211


def input_dims(graph: Graph) -> Iterator[Dim]:
    """The dimensions of all inputs."""
    for name in graph.inputs:
        type_ = graph.tensor(name)
        if type_ is not None:
            yield from type_.shape or ()


def needs_shapes(graph: Graph) -> bool:
    """True when the inputs of a run decide how large a value of the graph is."""
    known = determined(input_dims(graph))
    return bool(known) and any(_follows(value.type, known) for value in graph.values.values())


def live_by_symbols(graph: Graph, policy: Policy) -> Liveness:
    """Buffers and lives of a graph that hold whatever its inputs' sizes are; the sizes in it mean nothing.

    Tensors share bytes only where their symbols say that they have the same size (views) or shape (in place).

    Args:
        graph: a graph with symbolic dimensions.
        policy: what an allocator may do.
    """
    known = determined(input_dims(graph))
    sizes: dict[str, Dim] = {atom: _FIRST_SIZE + 2 * place for place, atom in enumerate(sorted(known))}
    draft = Draft(graph)
    for value in graph.values.values():
        if value.type is not None and _follows(value.type, known):
            draft.put_value(replace(value, type=bound_type(value.type, sizes)))
    program = program_of(draft.finish())
    return live(_provable(program, graph), policy)


def _provable(program: Program, graph: Graph) -> Program:
    """The program without the sharing that only holds for some sizes."""
    share = program.may_share
    kept = np.zeros(len(share), bool)
    columns = (share.guest, share.host, share.sharing)
    for row, (guest, host, sharing) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        a, b = (graph.tensor(str(program.tensors[one])) for one in (guest, host))
        kept[row] = a is not None and b is not None and _alike(a, b, Sharing(sharing))
    return replace(
        program,
        may_share=MayShare(
            share.guest[kept], share.host[kept], share.offset_bytes[kept], share.sharing[kept], share.point[kept]
        ),
    )


def _alike(guest: TensorType, host: TensorType, sharing: Sharing) -> bool:
    if sharing is Sharing.VIEW:
        same = product(guest.shape or ()) == product(host.shape or ())
        return same and guest.dtype.bits == host.dtype.bits
    if sharing is Sharing.IN_PLACE:
        return guest.shape == host.shape
    return all(isinstance(dim, int) for dim in (*(guest.shape or (None,)), *(host.shape or (None,))))


def _follows(type_: object, known: frozenset[str]) -> bool:
    """True for a tensor with a symbolic size that the known symbols give."""
    if not isinstance(type_, TensorType) or type_.shape is None or None in type_.shape:
        return False
    symbols = [dim for dim in type_.shape if isinstance(dim, Symbol)]
    return bool(symbols) and all(base_atoms(dim) <= known for dim in symbols)
