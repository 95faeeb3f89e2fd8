"""A node of the vector unit that also takes tensors apart and puts them together: rotary embeddings, transposes.

Reshapes and transposes of inputs, and of the result, only say where elements lie. Slices, Splits and Concats along
one axis cut that axis into pieces of one length: each piece of an input is an input of its own, each piece of the
result an output, and what is between them is one formula over pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd, prod

from gexplorer.ir.graph import Node
from gexplorer.kernels.described import Described, Role
from gexplorer.kernels.formula import OPERATORS, Refusal, Term, Writer, integer_of
from gexplorer.kernels.part import CUTS, VIEWS, Part, strided
from gexplorer.kernels.strides import Strided
from gexplorer.kernels.vector_kernel import Region, Tensor, VectorKernel

_MOST_PIECES = 16


class _UnknownError(Exception):
    """Something that the reader does not know; the message is the reason."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A piece of an input: where the whole lies, and which piece; None where it is repeated along the axis."""

    name: str
    view: Strided
    piece: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """What an operator makes of pieces."""

    node: Node
    inputs: tuple[_Expression, ...]


_Expression = _Leaf | _Made | float  # pieces of constants are numbers


def describe_views(part: Part) -> Described | Refusal | None:
    """The kernel of such a part; None where it has neither views nor cuts."""
    if not any(node.op in VIEWS or node.op in CUTS for node in part.nodes):
        return None
    wrong = part.wrong_type(integers=all(node.op in VIEWS or node.op in CUTS for node in part.nodes))
    if wrong is not None:
        return wrong
    try:
        return _Reader(part).read()
    except _UnknownError as unknown:
        return Refusal(part.op, str(unknown))


@dataclass(slots=True)
class _Reader:
    """Makes pieces of every value, in execution order."""

    part: Part
    rank: int = 0
    axis: int = -1  # the axis that is cut, from the end
    length: int = 1  # of a piece
    known: dict[str, tuple[_Expression, ...]] = field(default_factory=dict[str, "tuple[_Expression, ...]"])

    def read(self) -> Described:
        """The kernel. Raises _UnknownError for what is in the way."""
        part = self.part
        if len(part.outputs) != 1:
            raise _UnknownError("gives out more than one result beside views")
        result, layout = self._result(part.outputs[0])
        shape = part.known(result)
        self.rank = len(shape)
        self._cut(shape)
        for node in part.nodes:
            if node.op not in VIEWS:
                self.known |= self._pieces_of(node)
        pieces = self._value(result)
        if len(pieces) * self.length != shape[self.axis]:
            raise _UnknownError("its result is repeated along the axis that is cut")
        return self._described(shape, pieces, layout)

    def _result(self, name: str) -> tuple[str, Strided]:
        """The value behind the views at the end, and where its elements lie in the result."""
        part, way = self.part, list[Node]()
        node, found = part.producer(name), name
        while node is not None and node.op in ("Reshape", "Transpose", "Unsqueeze", "Squeeze", "Flatten"):
            way.append(node)
            found = node.inputs[0]
            node = part.producer(found)
        if node is None:  # views of an input and nothing else: followed from there
            return name, Strided.whole(part.known(name))
        view: Strided | None = Strided.whole(part.known(name))
        for step in way:
            before = part.known(step.inputs[0])
            if step.op == "Transpose":
                order = step.integers("perm") or tuple(range(len(before)))[::-1]
                view = view.transposed([order.index(axis) for axis in range(len(order))])
            else:
                view = view.reshaped(before)
            if view is None:
                raise _UnknownError("its result is reshaped across axes")
        return found, view

    def _cut(self, shape: tuple[int, ...]) -> None:
        """Finds the axis along which things are cut, and the longest piece that all cuts are whole numbers of."""
        part, ends = self.part, list[int]()
        axes: set[int] = set()
        for node in part.nodes:
            if node.op in CUTS:
                rank = len(part.known(node.outputs[0]))
                axes |= {axis % rank - rank for axis in self._axes(node)}
                for name in (*node.inputs[: 1 if node.op != "Concat" else None], *node.outputs):
                    ends += [part.known(name)[axis] for axis in axes]
                ends += self._starts(node) if node.op == "Slice" else []
        if len(axes) > 1:
            raise _UnknownError("tensors are cut along more than one axis")
        self.axis = axes.pop() if axes else -1
        self.length = gcd(*ends) if ends else shape[self.axis] if shape else 1
        if self.length < 1 or (shape and shape[self.axis] > _MOST_PIECES * self.length):
            raise _UnknownError("cuts it into too many pieces")

    def _axes(self, node: Node) -> Sequence[int]:
        if node.op != "Slice":
            return (node.integer("axis", 0),)
        if len(node.inputs) < 3:
            raise _UnknownError("a Slice of before opset 10 is not followed")
        given = node.integers("axes") or (self._ints(node, 3) if len(node.inputs) > 3 else None)
        return given or tuple(range(len(self._ints(node, 1))))

    def _starts(self, node: Node) -> list[int]:
        """Where a Slice begins along its one axis."""
        axes = self._axes(node)
        steps = self._ints(node, 4) if any(node.inputs[4:]) else (1,)
        if len(axes) != 1 or set(steps) != {1}:
            raise _UnknownError("Slice along several axes, or in steps")
        size = self.part.known(node.inputs[0])[axes[0]]
        return [min(size, start + size if start < 0 else start) for start in self._ints(node, 1)]

    def _ints(self, node: Node, index: int) -> tuple[int, ...]:
        value = self.part.graph.values.get(node.inputs[index])
        data = value.constant if value is not None else None
        if data is None or not data.available:
            raise _UnknownError(f"{node.op} along places that are not known")
        return tuple(int(number) for number in data.array().reshape(-1))

    def _pieces_of(self, node: Node) -> dict[str, tuple[_Expression, ...]]:
        """The pieces of an operator's results."""
        name, domain = node.outputs[0], node.domain in ("", "ai.onnx")
        if node.op == "Concat" and domain:
            return {name: tuple(piece for part in node.inputs for piece in self._value(part))}
        if node.op == "Slice" and domain:
            (start,) = self._starts(node)
            count = self.part.known(name)[self.axis] // self.length
            return {name: self._value(node.inputs[0])[start // self.length :][:count]}
        if node.op == "Split" and domain:
            pieces, found = list(self._value(node.inputs[0])), dict[str, tuple[_Expression, ...]]()
            for output in node.outputs:
                count = self.part.known(output)[self.axis] // self.length
                found[output], pieces = tuple(pieces[:count]), pieces[count:]
            return found
        if node.op not in OPERATORS or not domain or len(node.outputs) != 1:
            raise _UnknownError(f"no vector instructions are known for {node.op} beside views")
        if any(integer_of(self.part.graph, each) and self.part.number(each) is None for each in node.inputs):
            raise _UnknownError(f"{node.op} of integers beside views")
        given = [self._value(each) if each else () for each in node.inputs]
        count = max(map(len, given))
        if any(len(pieces) not in (0, 1, count) for pieces in given):
            raise _UnknownError(f"{node.op} of tensors that are cut in different ways")
        rows = ([pieces[i if len(pieces) > 1 else 0] for pieces in given if pieces] for i in range(count))
        if any(not pieces for pieces in given):
            raise _UnknownError(f"{node.op} with an input left out, beside views")
        return {name: tuple(_Made(node, tuple(row)) for row in rows)}

    def _value(self, name: str) -> tuple[_Expression, ...]:
        """The pieces of a value; one that is repeated along the axis has one."""
        if name in self.known:
            return self.known[name]
        part = self.part
        value = part.number(name)
        if value is not None and name not in part.inputs:
            return (value,)
        found = strided(part, name)
        if found is None or found[0] not in part.inputs:
            raise _UnknownError("views in the middle of what is computed")
        source, view, _ = found
        size = part.known(name)
        cut = len(size) >= -self.axis and size[self.axis] > 1 and all(stride for _, stride in view.axes[self.axis])
        count = size[self.axis] // self.length if cut else 0
        whole = tuple(_Leaf(source, view, piece) for piece in range(count)) if cut else (_Leaf(source, view, None),)
        self.known[name] = whole
        return whole

    def _described(self, shape: tuple[int, ...], pieces: tuple[_Expression, ...], layout: Strided) -> Described:
        part, leaves = self.part, dict[_Leaf, int]()
        for piece in pieces:
            _collect(piece, leaves)
        write = Writer(tuple(f"in{number}" for number in range(len(leaves))))
        memo: dict[int, Term] = {}
        formula = write.formula(*(_written(write, piece, leaves, memo) for piece in pieces))
        buffers = {name: f"x{number}" for number, name in enumerate(dict.fromkeys(leaf.name for leaf in leaves))}
        inputs = tuple(self._input(f"in{number}", buffers[leaf.name], leaf) for leaf, number in leaves.items())
        kernel_shape = list(shape)
        if shape:
            kernel_shape[self.axis] = self.length
        dtype = part.tensor(part.outputs[0]).dtype
        outputs = tuple(
            Tensor(f"out{number}", tuple(kernel_shape), dtype, self._region("out", layout, number))
            for number in range(len(pieces))
        )
        kernel = VectorKernel(tuple(kernel_shape), formula, inputs, outputs)
        roles: tuple[tuple[str, Role], ...] = tuple(
            (node.name, "address" if node.op in VIEWS or node.op in CUTS else "vector") for node in part.nodes
        )
        if all(role == "address" for _, role in roles):
            roles = tuple((name, "move") for name, _ in roles)
        bound = tuple((buffer, part.outside[name]) for name, buffer in buffers.items())
        return Described(kernel, bound, (("out", part.outside[part.outputs[0]]),), roles)

    def _input(self, name: str, buffer: str, leaf: _Leaf) -> Tensor:
        view = Strided(((),) * (self.rank - len(leaf.view.axes)) + leaf.view.axes)
        if len(view.axes) > self.rank:
            raise _UnknownError("an input has more axes than the result")
        if any({bool(stride) for size, stride in axis if size > 1} == {True, False} for axis in view.axes):
            raise _UnknownError("an input is repeated within an axis")
        shape = [prod(size for size, stride in axis if stride) for axis in view.axes]
        if leaf.piece is not None:
            shape[self.axis] = self.length
        region = self._region(buffer, view, leaf.piece or 0)
        return Tensor(name, tuple(shape), self.part.tensor(leaf.name).dtype, region)

    def _region(self, buffer: str, view: Strided, piece: int) -> Region:
        """Where a piece of a view lies: an axis in memory for each axis of the view."""
        found: list[tuple[int, int, int]] = []
        for index, axis in enumerate(view.axes):
            factors = [(size, stride) for size, stride in axis if size > 1 and stride]
            if len(factors) > 1:
                raise _UnknownError("an axis is not one axis in memory")
            found += [(stride, size, index) for size, stride in factors]
        found.sort(reverse=True)
        inner = 1
        for stride, size, _ in reversed(found):
            if stride != inner:
                raise _UnknownError("an input is only partly looked at")
            inner *= size
        if not found:
            return Region(buffer, (1,), (len(view.axes) - 1,), (0,))
        cut = len(view.axes) + self.axis
        return Region(
            buffer,
            tuple(size for _, size, _ in found),
            tuple(index for *_, index in found),
            tuple(piece * self.length if index == cut else 0 for *_, index in found),
        )


def _collect(expression: _Expression, leaves: dict[_Leaf, int]) -> None:
    if isinstance(expression, _Leaf):
        leaves.setdefault(expression, len(leaves))
    elif isinstance(expression, _Made):
        for inner in expression.inputs:
            _collect(inner, leaves)


def _written(write: Writer, expression: _Expression, leaves: dict[_Leaf, int], memo: dict[int, Term]) -> Term:
    """The instructions of an expression; what several share is computed once."""
    if isinstance(expression, float | int):
        return expression
    if isinstance(expression, _Leaf):
        return leaves[expression]
    if id(expression) not in memo:
        terms = tuple(_written(write, inner, leaves, memo) for inner in expression.inputs)
        memo[id(expression)] = OPERATORS[expression.node.op](write, expression.node, terms)
    return memo[id(expression)]
