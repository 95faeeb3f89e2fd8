"""A node around attention: two products with a softmax between them, scaled and masked or not.

Exporters put the heads apart with reshapes and transposes, and repeat keys that several heads share. None of that
moves anything here: the program reads every tile from where it lies, so only the strides are followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod, sqrt

from gexplorer.cost.work import Attention
from gexplorer.ir.graph import Node
from gexplorer.kernels.attention_kernel import AttentionKernel, Layout, Mask
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.part import FLOATS, VIEWS, Part, strided
from gexplorer.kernels.rowwise import row_axes
from gexplorer.kernels.strides import Factor, Strided


class _UnknownError(Exception):
    """Something that the reader does not know; the message is the reason."""


def describe_attention(part: Part) -> Described | Refusal:
    """The kernel of a part with two products and a softmax."""
    try:
        return _Reader(part).read()
    except _UnknownError as unknown:
        return Refusal(part.op, str(unknown))


@dataclass(frozen=True, slots=True)
class _View:
    """A tensor from outside as a product sees it: factors of its heads, of its rows and of its columns."""

    name: str
    heads: tuple[Factor, ...]
    rows: tuple[Factor, ...]
    columns: tuple[Factor, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return prod(size for size, _ in self.rows), prod(size for size, _ in self.columns)


@dataclass(slots=True)
class _Reader:
    """Goes from the result up to Q, K and V."""

    part: Part
    scale: float = 1.0
    _mask: str = ""
    _taken: set[str] = field(default_factory=set[str])

    def read(self) -> Described:
        """The kernel. Raises _UnknownError for what is in the way."""
        part = self.part
        if len(part.outputs) != 1:
            raise _UnknownError("gives out more than the result of its attention")
        weighted, out = self._result(part.outputs[0])
        softmax = self._past(weighted.inputs[0], ("Cast", "Where"))
        if softmax is None or softmax.op != "Softmax" or row_axes(part.graph, softmax) != 1:
            raise _UnknownError("its second product is not one with a softmax along the keys")
        self._taken.add(softmax.name)
        scores = self._scores(softmax.inputs[0])
        q, k, v = self._operand(scores.inputs[0]), self._operand(scores.inputs[1]), self._operand(weighted.inputs[1])
        k = _View(k.name, k.heads, k.columns, k.rows)  # the second side of Q K^T has the keys as its columns
        mask = self._view(self._mask, self._rank(scores), scores.outputs[0]) if self._mask else None
        left = [node.op for node in part.nodes if node.name not in self._taken]
        if left:
            raise _UnknownError(f"{left[0]} beside its products is not understood")
        return self._kernel(q, k, v, out, mask)

    def _kernel(self, q: _View, k: _View, v: _View, out: _View, mask: _View | None) -> Described:
        part, views = self.part, [q, k, v, out, *([mask] if mask else [])]
        sizes = _refined([[size for size, _ in view.heads] for view in views])
        (queries, width), (keys, _), (_, columns) = q.shape, k.shape, v.shape
        types = {part.tensor(name).dtype for name in (q.name, k.name, v.name, out.name)}
        (dtype, *others) = types
        if others or dtype not in FLOATS:
            raise _UnknownError("Q, K, V and the result are not of one floating-point type")
        layouts = [_layout(view, sizes) for view in views]
        if any(layout.index("columns") < layout.index("rows") for layout in (layouts[0], layouts[3])):
            raise _UnknownError("Q or the result lies column by column")
        shared = prod(size for i, size in enumerate(sizes) if f"h{i}" not in layouts[1])
        count = prod(sizes)
        work = Attention(count, queries, keys, width, columns, dtype, count // shared)
        found = None
        if mask is not None:
            found = Mask(layouts[4], part.tensor(mask.name).dtype)
            if found.dtype not in FLOATS or found.layout[-1] != "columns":
                raise _UnknownError(f"mask {part.outside[mask.name]} is not a row of numbers for each query")
        kernel = AttentionKernel(work, sizes, layouts[0], layouts[1], layouts[2], layouts[3], self.scale, found)
        names = zip(("q", "k", "v", "mask"), (q, k, v, mask), strict=True)
        inputs = tuple((buffer, part.outside[view.name]) for buffer, view in names if view is not None)
        roles: tuple[tuple[str, Role], ...] = tuple((node.name, _role(part, node)) for node in part.nodes)
        return Described(kernel, inputs, (("out", part.outside[out.name]),), roles)

    def _result(self, name: str) -> tuple[Node, _View]:
        """The second product, and where its elements lie in the result."""
        part, way = self.part, list[Node]()
        node = part.producer(name)
        while node is not None and node.op in ("Reshape", "Transpose"):
            way.append(node)
            node = part.producer(node.inputs[0])
        if node is None or node.op != "MatMul":
            raise _UnknownError("its result is not a product with a softmax")
        self._taken |= {node.name, *(step.name for step in way)}
        # Back from the result: the inverse of each view, the last one first.
        view: Strided | None = Strided.whole(part.known(name))
        for step in way:
            before = part.known(step.inputs[0])
            order = step.integers("perm")
            if step.op == "Transpose":
                order = order or tuple(range(len(before)))[::-1]
                view = view.transposed([order.index(axis) for axis in range(len(order))])
            else:
                view = view.reshaped(before)
            if view is None:
                raise _UnknownError("its result is reshaped across heads and rows")
        return node, _split(name, view)

    def _scores(self, name: str) -> Node:
        """From the softmax up to the first product, past casts, a mask and scales."""
        while True:
            node = self._past(name, ("Cast",))
            if node is None:
                raise _UnknownError("its softmax does not go back to a product")
            self._taken.add(node.name)
            if node.op == "MatMul":
                return node
            if node.op == "Add" and self.scale == 1.0 and not self._mask:
                self._mask, name = self._added(node)
            elif node.op in ("Mul", "Div") and self._number(node) is not None:
                name = self._scaled(node)
            else:
                raise _UnknownError(f"{node.op} between its scores and its softmax")

    def _added(self, node: Node) -> tuple[str, str]:
        """The mask and the scores among the inputs of an addition."""
        sides = [(other, name) for name, other in (node.inputs, node.inputs[::-1])]
        found = [(mask, rest) for mask, rest in sides if self.part.producer(mask) is None and self.part.producer(rest)]
        if len(found) != 1 or found[0][0] not in self.part.inputs:
            raise _UnknownError("what is added to its scores is not one mask from outside")
        return found[0]

    def _past(self, name: str, ops: Sequence[str]) -> Node | None:
        """The first operator above that is not of these; a Where must only replace NaN."""
        node = self.part.producer(name)
        while node is not None and node.op in ops:
            self._taken.add(node.name)
            name = node.inputs[0]
            if node.op == "Where":
                condition = self.part.producer(node.inputs[0])
                if condition is None or condition.op != "IsNaN" or condition.inputs[0] != node.inputs[2]:
                    raise _UnknownError("Where between its softmax and its second product")
                self._taken.add(condition.name)
                name = node.inputs[2]
            node = self.part.producer(name)
        return node

    def _operand(self, name: str) -> _View:
        """Q, K or V behind scales and views."""
        rank = len(self.part.known(name))
        node = self.part.producer(name)
        while node is not None and node.op in ("Mul", "Div") and self._number(node) is not None:
            self._taken.add(node.name)
            name = self._scaled(node)
            node = self.part.producer(name)
        return self._view(name, rank)

    def _view(self, name: str, rank: int, repeated_to: str = "") -> _View:
        found = strided(self.part, name)
        if found is None or found[0] not in self.part.inputs:
            raise _UnknownError("Q, K, V or the mask is made in a way that is not understood")
        source, view, way = found
        self._taken |= {node.name for node in way}
        if repeated_to:
            view = view.expanded(self.part.known(repeated_to))
        if len(view.axes) != rank or rank < 2:
            raise _UnknownError("its tensors have different numbers of axes")
        return _split(source, view)

    def _number(self, node: Node) -> float | None:
        """The number that a Mul or Div has on one side, or a root of one."""
        for index, name in enumerate(node.inputs):
            if node.op == "Div" and index == 0:
                continue
            found = self._constant(name)
            if found is not None:
                return found
        return None

    def _constant(self, name: str) -> float | None:
        found = self.part.number(name)
        node = self.part.producer(name)
        if found is not None or node is None or node.op not in ("Sqrt", "Cast", "CastLike"):
            return found
        below = self._constant(node.inputs[0])
        if below is None or below < 0:
            return None
        self._taken.add(node.name)
        return sqrt(below) if node.op == "Sqrt" else below

    def _scaled(self, node: Node) -> str:
        """Takes a scale; the name of what is scaled."""
        value = self._number(node)
        assert value is not None
        self.scale = self.scale / value if node.op == "Div" else self.scale * value
        return node.inputs[0] if self._constant(node.inputs[0]) is None else node.inputs[1]

    def _rank(self, node: Node) -> int:
        return len(self.part.known(node.outputs[0]))


def _role(part: Part, node: Node) -> Role:
    """Views are followed, and so is what only computes the scale; the scores are the vector unit's."""
    if node.op == "MatMul":
        return "product"
    given = [name for name in node.inputs if name]
    constant = all(part.producer(name) is None and name not in part.inputs for name in given)
    return "address" if node.op in VIEWS or constant else "vector"


def _split(name: str, view: Strided) -> _View:
    heads = tuple(factor for axis in view.axes[:-2] for factor in axis if factor[0] > 1)
    rows, columns = (tuple(f for f in axis if f[0] > 1) for axis in view.axes[-2:])
    return _View(name, heads, rows, columns)


def _refined(lists: list[list[int]]) -> tuple[int, ...]:
    """The coarsest factors that all lists of the same product can be cut into."""
    ends: set[int] = set()
    for sizes in lists:
        inner = 1
        for size in reversed(sizes):
            inner *= size
            ends.add(inner)
    cut = sorted(ends | {1})
    steps = [high // low for low, high in pairwise(cut)]
    if any(high % low for low, high in pairwise(cut)) or len({prod(sizes) for sizes in lists}) > 1:
        raise _UnknownError("the heads of Q, K and V do not go together")
    return tuple(reversed(steps)) or (1,)


def _layout(view: _View, sizes: tuple[int, ...]) -> Layout:
    """The axes of a view in the order in which they lie, the axes of heads cut as given."""
    if any(len(axis) > 1 for axis in (view.rows, view.columns)):
        raise _UnknownError("rows or columns are not one axis in memory")
    places: list[tuple[int, int, str]] = []
    waiting = list(view.heads[::-1])
    for index, size in enumerate(sizes):
        if size == 1:
            continue
        length, stride = waiting.pop()
        if length > size:
            waiting.append((length // size, stride))
            stride *= length // size
        if stride:
            places.append((stride, size, f"h{index}"))
    repeated = {name for name, axis in (("rows", view.rows), ("columns", view.columns)) if any(not s for _, s in axis)}
    for name, axis in (("rows", view.rows), ("columns", view.columns)):
        if name not in repeated:
            places.append((axis[0][1] if axis else 1, 1 if not axis else axis[0][0], name))
    places.sort(key=lambda place: (-place[0], place[2] == "columns"))
    return tuple(name for *_, name in places)
