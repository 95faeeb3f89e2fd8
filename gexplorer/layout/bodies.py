"""What is inside fused kernels: the operators of each body, as the nodes that they were before they were fused.

A kernel keeps what it replaced as its body, under names of its own. Its operators still say which nodes of the source
they came from, so each is found again among the nodes of the trace: choosing one shows what it was. Bodies that look
the same share a template, so the kernel of every layer costs a row of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gexplorer.ir.graph import Graph, Node
from gexplorer.layout.box import node_size
from gexplorer.layout.flow import Atlas
from gexplorer.layout.placement import Ints
from gexplorer.layout.template import Sketch
from gexplorer.views.explorer.columns import ragged
from gexplorer.views.explorer.numbering import Numbering

_Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Body:
    """What is inside one kernel.

    Attributes:
        node: number of the kernel.
        template: number of the template.
        members: by box, number of the node that the operator was; -1 - text for one that no graph of the trace has.
        stubs: by stub of the template, number of the value.
    """

    node: int
    template: int
    members: tuple[int, ...]
    stubs: tuple[int, ...]


@dataclass(slots=True)
class Bodies:
    """The bodies of the kernels of a trace, in the order in which pictures show them.

    Attributes:
        atlas: of the trace.
        text: the number of a text.
        template: the number of the template of a sketch, and which of its edges are stubs there.
        made: the bodies so far.
    """

    atlas: Atlas
    text: Callable[[str], int]
    template: Callable[[Sketch], tuple[int, tuple[int, ...]]]
    made: list[Body] = field(default_factory=list[Body])
    _numbering: Numbering | None = None
    _waiting: set[int] = field(default_factory=set[int])
    _nodes: dict[_Key, list[int]] = field(default_factory=dict["_Key", list[int]])

    def add(self, shown: Ints, numbering: Numbering) -> None:
        """Adds the bodies of the kernels among the nodes of a picture that were in none before."""
        if numbering is not self._numbering:
            self._read(numbering)
        if self._waiting:
            for number in sorted(self._waiting.intersection(shown.tolist())):
                self._waiting.discard(number)
                self.made.append(self._body(number, numbering))

    def part(self) -> dict[str, object]:
        """What the document has of it."""
        members_at, members = ragged([body.members for body in self.made])
        stubs_at, stubs = ragged([body.stubs for body in self.made])
        return {
            "node": np.array([body.node for body in self.made], dtype=np.int32),
            "template": np.array([body.template for body in self.made], dtype=np.int32),
            "members_at": members_at,
            "members": members,
            "stubs_at": stubs_at,
            "stubs": stubs,
        }

    def _read(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._nodes = {}
        kernels: list[int] = []
        for number, node in enumerate(numbering.nodes):
            if node.body is None:
                self._nodes.setdefault((node.op, node.domain, node.origin), []).append(number)
            else:
                kernels.append(number)
        self._waiting = set(kernels).difference([body.node for body in self.made])

    def _body(self, number: int, numbering: Numbering) -> Body:
        kernel = numbering.nodes[number]
        body = kernel.body
        assert body is not None
        order = body.order
        members = tuple([self._was(node, numbering.born[number], numbering) for node in order])
        sizes: list[tuple[float, float]] = []
        for node, member in zip(order, members, strict=True):
            sizes.append(self.atlas.size(numbering.nodes[member]) if member >= 0 else node_size(node.op, ""))
        edges, ends, stubs = _lines(kernel, body, numbering)
        sketch = Sketch(tuple(sizes), edges, ends)
        template, cut = self.template(sketch)
        for one in cut:  # of what comes from an operator that the trace does not have, nobody knows the value
            start = members[edges[one][0]]
            outputs = numbering.nodes[start].outputs if start >= 0 else ()
            stubs = (*stubs, *[numbering.value(outputs[0]) if outputs else -1] * 2)
        return Body(number, template, members, stubs)

    def _was(self, node: Node, born: int, numbering: Numbering) -> int:
        """The last node before the kernel that did this for the same nodes of the source."""
        found = self._nodes.get((node.op, node.domain, node.origin), ())
        attributes = node.attributes
        for one in reversed(found):
            known = numbering.nodes[one].attributes
            if numbering.born[one] <= born and (known is attributes or known == attributes):
                return one
        return -1 - self.text(node.op)


def _lines(
    kernel: Node, body: Graph, numbering: Numbering
) -> tuple[tuple[tuple[int, int, int], ...], tuple[tuple[int, int], ...], tuple[int, ...]]:
    """What flows between the operators as rows (from, to, value), what comes and goes as (box, side), and its values.

    Constants that the kernel reads are no flow, as everywhere.
    """
    outer: dict[str, int] = {}
    for inner, name in zip(body.inputs, kernel.inputs, strict=True):
        value = numbering.value(name) if name else -1
        typed = numbering.typed[value] if value >= 0 else None
        if value >= 0 and (typed is None or typed.constant is None):
            outer[inner] = value
    leaving = {inner: numbering.value(name) for inner, name in zip(body.outputs, kernel.outputs, strict=True) if name}
    maker: dict[str, tuple[int, int]] = {}
    edges: dict[tuple[int, int], int] = {}
    ends: list[tuple[int, int]] = []
    values: list[int] = []
    for box, node in enumerate(body.order):
        for name in dict.fromkeys(node.inputs):
            source = maker.get(name)
            if source is not None:
                edges.setdefault((source[0], box), source[1])
            elif name in outer:
                ends.append((box, 0))
                values.append(outer[name])
        for name in node.outputs:
            if name:
                maker[name] = (box, len(maker))
            if name in leaving:
                ends.append((box, 1))
                values.append(leaving[name])
    return tuple([(a, b, value) for (a, b), value in sorted(edges.items())]), tuple(ends), tuple(values)
