"""Inputs and outputs of a graph as boxes of their own: how they are numbered, and where they stand.

An input stands at the top of the picture, an output below what makes it. Those that every layer has of its own, such as
its cache of keys and values, stand in their layers: so a stack of them still folds into one block. Where very many
would be left around everything, they are in a container of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gexplorer.ir.graph import Graph, Node

INPUT, OUTPUT = 0, 1
KINDS = ("input", "output")
MOST_AROUND = 12
"""More inputs, or more outputs, than this do not stand around everything: one box holds them."""
_FIRST = 1 << 40
_DIGITS = re.compile(r"[0-9]+")
_NUMBERED = re.compile(r"[0-9]+\Z")

Path = tuple[str, ...]
End = tuple[int, str]
"""A side (``INPUT`` or ``OUTPUT``) and the name of a value."""


def boundary(value: int, side: int) -> int:
    """The number of a box for a value that goes into the graph or comes out of it, beyond those of all nodes."""
    return _FIRST + 2 * value + side


def is_boundary(number: int) -> bool:
    """Whether a box's number is that of an input or output."""
    return number >= _FIRST


def end_of(number: int) -> tuple[int, int]:
    """The value of an input or output, by number, and its side."""
    return (number - _FIRST) // 2, number % 2


@dataclass(frozen=True, slots=True)
class Home:
    """Where an input or output stands.

    Attributes:
        path: the container.
        order: place in program order: that of its first user, or of what makes it.
    """

    path: Path
    order: int


def homes(graph: Graph, paths: Mapping[str, Path]) -> dict[End, Home]:
    """Where the inputs and outputs of a graph stand.

    Args:
        graph: the graph before the first change.
        paths: of its nodes, by name.
    """
    users: dict[End, list[Node]] = {(INPUT, name): [] for name in graph.inputs}
    users |= {(OUTPUT, name): [] for name in graph.outputs}
    for node in graph.nodes.values():
        for name in node.uses:
            if (INPUT, name) in users:
                users[INPUT, name].append(node)
        for name in node.outputs:
            if (OUTPUT, name) in users:
                users[OUTPUT, name].append(node)
    modules = {end: _module([paths.get(node.name, ()) for node in near]) for end, near in users.items()}
    # Ends of one name but for its number, in modules of one name but for theirs.
    alike = Counter(_without_numbers(end, module) for end, module in modules.items())
    found = {
        end: Home(
            modules[end] if alike[_without_numbers(end, modules[end])] > 1 else (),
            min((node.position for node in near), default=0),
        )
        for end, near in users.items()
    }
    for side in (INPUT, OUTPUT):
        around = [end for end, home in found.items() if end[0] == side and not home.path]
        if len(around) > MOST_AROUND:
            for end in around:
                found[end] = Home((f"graph {KINDS[side]}s",), found[end].order)
    return found


def _without_numbers(end: End, module: Path) -> tuple[int, str, str]:
    return end[0], _DIGITS.sub("", end[1]), _DIGITS.sub("", "/".join(module))


def _module(paths: list[Path]) -> Path:
    """The innermost numbered module that all are in; () where there is none."""
    if not paths:
        return ()
    shared = paths[0]
    for path in paths[1:]:
        while path[: len(shared)] != shared:
            shared = shared[:-1]
    while shared and not _NUMBERED.search(shared[-1]):
        shared = shared[:-1]
    return shared
