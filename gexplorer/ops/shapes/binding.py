"""Giving a model's inputs the shapes that a user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gexplorer.errors import OptionError
from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import Dim, Shape, Symbol, exact_div, parse_dim, substitute
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.inference import bound_type

Wanted = tuple[int | str | None, ...]


def bind_inputs(graph: Graph, shapes: Mapping[str, Wanted]) -> Graph:
    """The graph with input types of these shapes.

    A string names a symbol, None leaves a dimension as it is. A symbol that becomes something else in one
    input becomes the same in all. Only the inputs' types change: infer again for what follows from them.

    Raises:
        OptionError: no such input, another rank, or a dimension that is fixed otherwise.
    """
    wanted = {name: _checked(graph, name, shape) for name, shape in shapes.items()}
    bindings: dict[str, Dim] = {}
    before: dict[str, Dim] | None = None
    while bindings != before:  # an expression such as `past + s` may need what other dimensions say of its parts
        before = dict(bindings)
        for name, shape in wanted.items():
            for axis, (old, new) in enumerate(zip(_dims(graph, name, shape), shape, strict=True)):
                _bind(name, axis, old, new, bindings)
    draft = Draft(graph)
    for name in graph.inputs:
        value = graph.values[name]
        if value.type is None:
            continue
        type_ = bound_type(value.type, bindings)
        if name in wanted and isinstance(type_, TensorType):
            old = type_.shape if type_.shape is not None else (None,) * len(wanted[name])
            type_ = type_.with_shape(tuple(a if b is None else b for a, b in zip(old, wanted[name], strict=True)))
        if type_ != value.type:
            draft.put_value(replace(value, type=type_))
    return draft.finish()


def _checked(graph: Graph, name: str, shape: Wanted) -> Shape:
    if name not in graph.inputs:
        known = ", ".join(graph.inputs) or "none"
        raise OptionError(f"shape of {name}: the model has no such input (it has {known})")
    type_ = graph.values[name].type
    if not isinstance(type_, TensorType):
        raise OptionError(f"shape of {name}: the input is no tensor")
    if type_.shape is not None and len(type_.shape) != len(shape):
        raise OptionError(f"shape of {name}: {len(shape)} dimensions given, the input has {type_}")
    dims = tuple(parse_dim(dim) if isinstance(dim, str) else dim for dim in shape)
    for dim in dims:
        if isinstance(dim, int) and dim < 0:
            raise OptionError(f"shape of {name}: dimension {dim} is negative")
    return dims


def _dims(graph: Graph, name: str, shape: Shape) -> Shape:
    type_ = graph.values[name].type
    known = type_.shape if isinstance(type_, TensorType) else None
    return (None,) * len(shape) if known is None else known


def _bind(name: str, axis: int, old: Dim, new: Dim, bindings: dict[str, Dim]) -> None:
    """Notes what one dimension says of its symbols."""
    if new is None or old is None:
        return
    now = substitute(old, bindings)
    if now == new or now is None:
        return
    solved = _solve(now, new) if isinstance(now, Symbol) else None
    if solved is not None:
        atom, value = solved
        for key, bound in bindings.items():
            bindings[key] = substitute(bound, {atom: value})
        bindings[atom] = value
    elif isinstance(now, int) or len(now.atoms) < 2:
        was = "" if now == old else f" ({old} elsewhere)"
        raise OptionError(f"shape of {name}: dimension {axis} is {now}{was} and cannot be {new}")


def _solve(expression: Symbol, value: int | Symbol) -> tuple[str, Dim] | None:
    """The only atom of ``scale * atom + constant``, and what it must be for the sum to have the value."""
    if len(expression.atoms) != 1:
        return None
    (atom,) = expression.atoms
    scale = dict(expression.terms).get((atom,))
    constant = dict(expression.terms).get((), 0)
    if scale is None or len(expression.terms) > 1 + (constant != 0):
        return None
    result = exact_div(value - constant, scale)
    if isinstance(result, int) and result < 0:
        return None
    return None if result is None else (atom, result)
