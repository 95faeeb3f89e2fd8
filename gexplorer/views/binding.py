"""How the free sizes of a model are bound, in the words of the command line and of Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from gexplorer.ir.graph import Graph

# Sizes to begin with: one of everything, but pictures of the size that most networks for them were made for, since
# those of one pixel are too small for what they go through.
_ONE, _PIXELS = 1, 224
# What a reason says where a size is not known (``cost.work_of_node``); the front end asks the same (``sizeMissed``).
_OF_SIZE = re.compile(r"before run time|\bthe (?:size|shape) of ")


def shape_flags(graph: Graph) -> tuple[str, ...]:
    """A flag for each input whose shape is free: ``--shape x:1,64``.

    Free dimensions are 1, height and width of a picture 224. Inputs of unknown rank are left out.
    """
    sizes = ((name, ",".join(map(str, shape))) for name, shape in _bound(graph).items())
    return tuple(f"--shape {shlex.quote(f'{name}:{dims}')}" for name, dims in sizes)


def shape_argument(graph: Graph, bound: Mapping[str, tuple[int | str, ...]] | None = None) -> str:
    """The same as an argument of ``compile``: ``shapes={'x': (1, 64)}``; "" where no input's shape is free.

    Args:
        graph: the graph.
        bound: shapes that were given before, and that stay.
    """
    open_ = _bound(graph)
    if not open_:
        return ""
    return "shapes=" + repr({**(bound or {}), **open_})


def cure(graph: Graph, reasons: Iterable[str] | None = None) -> str:
    """What makes the sizes of a graph known, as half a sentence; "" where no input's shape is free.

    Args:
        graph: the graph.
        reasons: what stands in the way; "" where none of it is a size (how often a loop turns, say). None: a size is.
    """
    if reasons is not None and not any(_OF_SIZE.search(reason) for reason in reasons):
        return ""
    flags = shape_flags(graph)
    return f"bind what is free, as in {' '.join(flags)}" if flags else ""


def _bound(graph: Graph) -> dict[str, tuple[int, ...]]:
    """The inputs whose shape is free, with a size for every dimension; a dimension of one name has one size."""
    sizes: dict[str, int] = {}
    found: dict[str, tuple[int, ...]] = {}
    for name in graph.inputs:
        tensor = graph.values[name].tensor
        shape = tensor.shape if tensor is not None else None
        if shape is None or all(isinstance(dim, int) for dim in shape):
            continue
        begin = [_PIXELS if axis >= 2 and len(shape) >= 4 else _ONE for axis in range(len(shape))]
        found[name] = tuple(
            dim if isinstance(dim, int) else sizes.setdefault(str(dim), size) if dim is not None else size
            for dim, size in zip(shape, begin, strict=True)
        )
    return found
