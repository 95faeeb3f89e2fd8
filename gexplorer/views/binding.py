"""How the free sizes of a model are bound, in the words of the command line."""

from __future__ import annotations

import shlex

from gexplorer.ir.graph import Graph


def shape_flags(graph: Graph) -> tuple[str, ...]:
    """A flag for each input whose shape is free, with 1 for every free dimension: ``--shape x:1,64``.

    Inputs of unknown rank are left out.
    """
    flags: list[str] = []
    for name in graph.inputs:
        tensor = graph.values[name].tensor
        if tensor is None or tensor.shape is None or all(isinstance(dim, int) for dim in tensor.shape):
            continue
        sizes = ",".join(str(dim) if isinstance(dim, int) else "1" for dim in tensor.shape)
        flags.append(f"--shape {shlex.quote(f'{name}:{sizes}')}")
    return tuple(flags)


def cure(graph: Graph) -> str:
    """What makes the sizes of a graph known, as half a sentence; "" where no input's shape is free."""
    flags = shape_flags(graph)
    return f"bind what is free, as in {' '.join(flags)}" if flags else ""
