"""The operators of one kernel, as its generator looks at them: a fused body, or a single ONNX operator."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Ints, Node
from gexplorer.ir.types import TensorType
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.rowwise import OPERATORS as ROWS
from gexplorer.kernels.strides import Strided

FLOATS = frozenset((DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16))
VIEWS = frozenset(("Reshape", "Transpose", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Identity"))
GATHERS = frozenset(("Gather",))  # read even a single index from memory
CUTS = frozenset(("Slice", "Split", "Concat"))


@dataclass(frozen=True, slots=True)
class Part:
    """The operators of a node, with the graph that knows their types and constants.

    Attributes:
        op: the node's operator.
        graph: the body, or the graph around a single operator.
        nodes: in execution order.
        inputs: the values that come from outside.
        outputs: the values that are given out.
        outside: their names around the node.
    """

    op: str
    graph: Graph
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    outside: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Inputs, outputs."""
        return (*self.inputs, *self.outputs)

    def tensor(self, name: str) -> TensorType:
        """The type of a value whose shape is known."""
        found = self.graph.tensor(name)
        assert found is not None
        return found

    def shape(self, name: str) -> tuple[int, ...] | None:
        """The shape of a value; None where it is not known whole."""
        found = self.graph.tensor(name)
        if found is None or found.shape is None:
            return None
        sizes = tuple(size for size in found.shape if isinstance(size, int))
        return sizes if len(sizes) == len(found.shape) else None

    def known(self, name: str) -> tuple[int, ...]:
        """The same of a value whose shape is known."""
        found = self.shape(name)
        assert found is not None
        return found

    def number(self, name: str) -> float | None:
        """A constant of one element; None for anything else."""
        value = self.graph.values.get(name)
        data = value.constant if value is not None else None
        if data is None or data.elements != 1 or not data.available:
            return None
        return float(data.array().reshape(-1)[0])

    def wrong_type(self, *, integers: bool = False) -> Refusal | None:
        """A refusal where an input or output is of a type that formulas are not computed in.

        Args:
            integers: true where whole bytes of integers may come in and go out as they are.
        """
        for name in self.names:
            dtype = self.tensor(name).dtype
            whole = integers and dtype.is_integer and dtype.bits >= 8
            if dtype not in FLOATS and dtype != DType.BOOL and not whole:
                return Refusal(self.op, f"{self.outside[name]} is {dtype.label}; formulas are computed in float32")
        return None

    def producer(self, name: str) -> Node | None:
        """The operator of this part that makes a value."""
        return next((node for node in self.nodes if name in node.outputs), None)

    def users(self, name: str) -> list[Node]:
        """The operators of this part that read a value."""
        return [node for node in self.nodes if name in node.inputs]


def part_of(graph: Graph, node: Node) -> Part:
    """The operators of a node of a graph."""
    if node.body is not None:
        body = node.body
        outside = dict(zip((*body.inputs, *body.outputs), (*node.inputs, *node.outputs), strict=True))
        kept = tuple(name for name in body.outputs if outside[name])
        return Part(node.op, body, body.order, body.inputs, kept, outside)
    inputs = tuple(dict.fromkeys(name for name in node.inputs if name))
    outputs = tuple(name for name in node.outputs if name)
    alone = tuple(name for name in inputs if not _folds(graph, node, name))
    return Part(node.op, graph, (node,), alone, outputs, {name: name for name in (*alone, *outputs)})


def _folds(graph: Graph, node: Node, name: str) -> bool:
    """True for a constant that goes into the instructions: a number, axes, a shape, places."""
    value = graph.values.get(name)
    if value is None or value.constant is None or not value.constant.available or node.op in GATHERS:
        return False
    places = node.op in ROWS or (node.op in (VIEWS | CUTS) - {"Concat"} and name != node.inputs[0])
    return value.constant.elements == 1 or (places and value.constant.dtype.is_integer)


def by_output(part: Part) -> tuple[Part, ...]:
    """The part taken apart into one for each output; empty where two of them share more than views."""
    parts: list[Part] = []
    taken: set[str] = set()
    for output in part.outputs:
        needed: set[str] = {output}
        nodes: list[Node] = []
        for node in reversed(part.nodes):
            if needed.intersection(node.outputs):
                nodes.insert(0, node)
                needed.update(node.inputs)
        own = {node.name for node in nodes if node.op not in VIEWS}
        if taken & own:
            return ()
        taken |= own
        inputs = tuple(name for name in part.inputs if name in needed)
        parts.append(replace(part, nodes=tuple(nodes), inputs=inputs, outputs=(output,)))
    return tuple(parts)


def swaps_last_two(node: Node, rank: int) -> bool:
    """True for a Transpose of the last two axes alone."""
    order = node.attributes.get("perm")
    wanted = (*range(rank - 2), rank - 1, rank - 2)
    given = tuple(order) if isinstance(order, Ints) else tuple(range(rank))[::-1]
    return node.op == "Transpose" and rank >= 2 and given == wanted


def strided(part: Part, name: str) -> tuple[str, Strided, tuple[Node, ...]] | None:
    """The value that a value is a view of, the view, and the operators that make it; None where it is no plain one."""
    way: list[Node] = []
    node = part.producer(name)
    while node is not None and node.op in VIEWS:
        way.append(node)
        name = node.inputs[0]
        node = part.producer(name)
    shape = part.shape(name)
    view = Strided.whole(shape) if shape is not None else None
    for node in reversed(way):
        result = part.shape(node.outputs[0])
        if view is None or result is None:
            return None
        if node.op == "Transpose":
            order = node.attributes.get("perm")
            view = view.transposed(tuple(order) if isinstance(order, Ints) else range(len(view.axes))[::-1])
        elif node.op == "Expand":
            view = view.expanded(result)
        else:
            view = view.reshaped(result)
    return (name, view, tuple(way)) if view is not None else None
