"""Takes a kernel apart into programs that follow each other in one launch, where one program cannot do all of it.

What one hands to the next lies in memory, where L2 holds it: that is how cube and vector cores meet on chips where
they are apart. (A coupled core could keep some of it in L1; these programs do not.)

* a product takes what follows it element by element along;
* what comes before a product, or needs whole rows of one, is the vector unit's;
* transposes and reshapes move nothing, so each program that needs one has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gexplorer.ir.graph import Node
from gexplorer.kernels.described_gemm import PRODUCTS
from gexplorer.kernels.formula import OPERATORS
from gexplorer.kernels.part import VIEWS, Part


@dataclass(slots=True)
class _Piece:
    """The operators of one program, as they come together; ``result`` is what a product's piece gives out so far."""

    nodes: list[Node] = field(default_factory=list[Node])
    result: str = ""


def staged(part: Part) -> tuple[Part, ...]:
    """The parts of a kernel, in an order in which each finds what it reads; empty where there is only one."""
    pieces: list[_Piece] = []
    made_in: dict[str, int] = {}
    views: dict[str, Node] = {}
    for node in part.nodes:
        if node.op in VIEWS and not node.domain:
            views |= dict.fromkeys(node.outputs, node)
            continue
        sources = [made_in.get(_origin(name, views), -1) for name in node.inputs if name]
        number = _place(part, node, pieces, sources, made_in)
        if number == len(pieces):
            pieces.append(_Piece(result=node.outputs[0] if _is_product(node) else ""))
        pieces[number].nodes.append(node)
        if pieces[number].result:
            pieces[number].result = node.outputs[0]
        made_in |= dict.fromkeys(node.outputs, number)
    wanted = {_origin(name, views) for name in part.outputs}
    if len(pieces) < 2 or any(name in views for name in part.outputs) or not wanted <= made_in.keys():
        return ()
    return tuple(_as_part(part, piece, views) for piece in pieces)


def _place(part: Part, node: Node, pieces: Sequence[_Piece], sources: Sequence[int], made_in: dict[str, int]) -> int:
    """The piece that an operator belongs to; their number for a new one."""
    latest = max(sources, default=-1)
    if _is_product(node):
        return len(pieces)
    if latest >= 0 and pieces[latest].result and node.op in OPERATORS:
        result = pieces[latest].result
        direct = [name for name in node.inputs if made_in.get(name) == latest]
        alone = set(direct) == {result} and not (result in part.outputs or _others(part, result, node))
        if alone:
            return latest
    if latest >= 0 and not pieces[latest].result:
        return latest
    # What needs nothing from any piece may join a piece of the vector unit that is the last.
    return len(pieces) - 1 if latest < 0 and pieces and not pieces[-1].result else len(pieces)


def _others(part: Part, name: str, node: Node) -> bool:
    return any(user is not node for user in part.users(name))


def _is_product(node: Node) -> bool:
    return node.op in PRODUCTS and not node.domain


def _origin(name: str, views: dict[str, Node]) -> str:
    while name in views:
        name = views[name].inputs[0]
    return name


def _as_part(part: Part, piece: _Piece, views: dict[str, Node]) -> Part:
    """A piece with the views that it needs."""
    nodes = list(piece.nodes)
    own = {node.name for node in nodes}
    waiting = [name for node in nodes for name in node.inputs]
    taken: dict[str, Node] = {}
    while waiting:
        view = views.get(waiting.pop())
        if view is not None and view.name not in taken:
            taken[view.name] = view
            waiting += view.inputs
    inside = [node for node in part.nodes if node.name in own or node.name in taken]
    made = {output for node in inside for output in node.outputs}
    read = dict.fromkeys(name for node in inside for name in node.inputs if name and name not in made)
    given = {output for node in nodes for output in node.outputs}
    users = (node for node in part.nodes if node.name not in own)
    wanted = {name for node in users for name in node.inputs} | {*part.outputs}
    inputs = tuple(name for name in read if name in part.inputs or part.producer(name) is not None)
    outputs = tuple(name for node in nodes for name in node.outputs if name in given & wanted)
    names = {name: part.outside.get(name, f"{part.op}/{name}") for name in (*inputs, *outputs)}
    return replace(part, nodes=tuple(inside), inputs=inputs, outputs=outputs, outside={**part.outside, **names})
