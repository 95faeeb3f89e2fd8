"""A kernel, and which value of the graph each of its buffers holds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

# What an operator of a body is to its kernel. ``table``: a bias row, which starts the accumulator where the chip has
# a bias table. ``behind``: what follows a product on every element, the fixpipe's or the vector unit's. ``turned``: a
# transpose on the way to L0. ``address``: only says where elements lie.
Role = Literal["product", "table", "behind", "before", "vector", "move", "turned", "address"]


@dataclass(frozen=True, slots=True)
class Described:
    """A kernel of a node.

    Attributes:
        kernel: what is computed: an object of the class that its generator names.
        inputs: name of an input buffer and of the value that it holds: as many elements, in the same order.
        outputs: the same of the output buffers.
        roles: name of each operator of the body (of the node itself, where it has none), and what it is to the kernel.
    """

    kernel: Hashable
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    roles: tuple[tuple[str, Role], ...] = ()
