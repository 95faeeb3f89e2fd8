"""Why a tensor has no size, and what would give it one."""

from __future__ import annotations

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.symbols import base_atoms
from gexplorer.ir.types import OptionalType, SequenceType, TensorType, Type
from gexplorer.ops.shapes import has_shape_rule


class Unsized:
    """Collects reasons, in execution order.

    Args:
        graph: the outermost graph; the free dimensions are those of its inputs.

    Attributes:
        reasons: a sentence without a full stop for each tensor without a size, by name.
    """

    def __init__(self, graph: Graph) -> None:
        self.reasons: dict[str, str] = {}
        self._culprits: dict[str, str] = {}  # for a tensor, what is at fault: an operator, or an input
        self._cures: dict[str, str] = {}  # by name of a free dimension
        for name in graph.inputs:
            type_ = graph.tensor(name)
            shape = type_.shape if type_ is not None else None
            for dim in shape or ():
                for atom in sorted(base_atoms(dim)):
                    self._cures.setdefault(atom, f"dimension {atom} of input {name} is free: bind it with --shape")

    def add(self, name: str, type_: Type | None, node: Node | None) -> None:
        """Notes a tensor without a size.

        Args:
            name: the tensor.
            type_: its type as far as known.
            node: what makes it; None for inputs and constants. Its inputs have been added before.
        """
        if (known := _lives_on_host(type_) or self._free_dimension(type_)) is not None:
            self.reasons[name] = known
        elif node is None:
            self.reasons[name] = "its shape is not known: the model does not say it"
            self._culprits[name] = f"the model does not say the shape of {name}"
        else:
            inner = [used for graph in node.graphs for used in graph.outputs]
            known = next((self._culprits[used] for used in (*node.inputs, *inner) if used in self._culprits), None)
            self._culprits[name] = self.reasons[name] = known or _of(node)

    def _free_dimension(self, type_: Type | None) -> str | None:
        dims = type_.shape or () if isinstance(type_, TensorType) else ()
        atoms = (atom for dim in dims for atom in sorted(base_atoms(dim)))
        return next((self._cures[atom] for atom in atoms if atom in self._cures), None)


def _of(node: Node) -> str:
    if not has_shape_rule(node):
        return f"no shape rule is known for {node.op} {node.name}"
    return f"its shape depends on data: {node.op} {node.name}"


def _lives_on_host(type_: Type | None) -> str | None:
    if isinstance(type_, SequenceType):
        return "a sequence lives on the host"
    if isinstance(type_, OptionalType):
        return "an optional value lives on the host"
    if isinstance(type_, TensorType):
        return "strings have no fixed width, so they live on the host" if type_.dtype is DType.STRING else None
    return "it is no tensor, so it lives on the host" if type_ is not None else None
