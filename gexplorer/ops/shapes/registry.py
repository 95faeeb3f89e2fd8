"""The table of shape functions, and what a function is given: one node with the facts of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.errors import VerifyError
from gexplorer.ir.dtypes import DType
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes.fact import UNKNOWN, Content, Fact, carries_content

if TYPE_CHECKING:
    from gexplorer.ir.constant import Constant
    from gexplorer.ir.graph import Graph, Node
    from gexplorer.ir.symbols import Shape


@dataclass(frozen=True, slots=True)
class Call:
    """One node about to be inferred.

    Attributes:
        node: the node.
        inputs: facts of its inputs; None for an absent one.
        version: version of the operator's domain in the model.
        opsets: versions of all domains.
        constant: the constant behind an input, None where it is none.
        nested: infers a nested graph (by a label that is unique in the node) from facts of its inputs, and
            gives the facts of its outputs.
    """

    node: Node
    inputs: tuple[Fact | None, ...]
    version: int
    opsets: Mapping[str, int]
    constant: Callable[[int], Constant | None]
    nested: Callable[[str, Graph, tuple[Fact, ...]], tuple[Fact, ...]]

    def has(self, index: int) -> bool:
        """Whether the input is present."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def fact(self, index: int) -> Fact:
        """The input's fact; nothing is known of an absent one."""
        found = self.inputs[index] if index < len(self.inputs) else None
        return UNKNOWN if found is None else found

    def tensor(self, index: int) -> TensorType | None:
        """The input's type where it is a tensor's."""
        found = self.inputs[index] if index < len(self.inputs) else None
        return found.type if found is not None and isinstance(found.type, TensorType) else None

    def shape(self, index: int) -> Shape | None:
        """The input's shape, None where unknown."""
        found = self.tensor(index)
        return None if found is None else found.shape

    def dtype(self, index: int) -> DType | None:
        """The input's element type, None where unknown."""
        found = self.tensor(index)
        return None if found is None else found.dtype

    def content(self, index: int) -> Content | None:
        """The input's elements, None for each unknown one; None where even their number is unknown."""
        fact = self.fact(index)
        if fact.content is not None or not isinstance(fact.type, TensorType):
            return fact.content
        count = carries_content(fact.type.dtype, fact.type.shape)
        return None if count is None else (None,) * count

    def listed(self, name: str, index: int, since: int) -> tuple[bool, Content | None]:
        """A list that is an attribute before an opset version, and an input from it on.

        Returns whether it is given at all, and its elements where they are known.
        """
        if self.version >= since:
            return (True, self.content(index)) if self.has(index) else (False, None)
        found = self.node.integers(name)
        return found is not None, found

    def axis(self, axis: int, rank: int) -> int:
        """A possibly negative axis counted from the front; raises VerifyError where there is no such axis."""
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} does not exist in a tensor of rank {rank}")
        return axis % rank

    def element_type(self, number: int) -> DType:
        """The element type of ONNX's number; raises VerifyError where there is none."""
        try:
            return DType(number)
        except ValueError:
            raise self.error(f"there is no element type {number}") from None

    def error(self, why: str) -> VerifyError:
        """The error that says what is wrong with the node."""
        return VerifyError(self.node.name, f"{self.node.op}: {why}")


ShapeFunction = Callable[[Call], tuple[Fact, ...]]

SHAPE_FUNCTIONS: dict[tuple[str, str], ShapeFunction] = {}


def shape_of(*ops: str, domain: str = "") -> Callable[[ShapeFunction], ShapeFunction]:
    """Registers the function that infers these operators."""

    def register(function: ShapeFunction) -> ShapeFunction:
        for op in ops:
            SHAPE_FUNCTIONS[domain, op] = function
        return function

    return register
