"""What a pass may assume of a node; that it has no side effects goes without asking, as ONNX has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gexplorer.ir.constant import Constant
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.table import entry_of

ConstantOf = Callable[[str], Constant | None]


def is_deterministic(node: Node, constant_of: ConstantOf | None = None) -> bool:
    """True when two runs on equal inputs give equal results, so that equal nodes may be merged or folded.

    False for random operators (a fixed ``seed`` does not change that), for nodes that hold one in a nested
    graph or a body, and for operators that the table does not know: nobody can tell.

    Args:
        node: any node.
        constant_of: finds the constant of a value's name (None for other values); tells a Dropout whose
            training_mode is a constant false from one that may be training.
    """
    if node.body is not None:
        return _all_deterministic(node.body)
    entry = entry_of(node)
    if entry is None:
        return False
    if entry.row.random and not _is_idle_dropout(node, constant_of):
        return False
    return not node.attributes or all(_all_deterministic(graph) for graph in node.graphs)


def is_view(node: Node, constant_of: ConstantOf | None = None) -> bool:
    """True when the only output is the first input's bytes under another shape: no kernel, no traffic."""
    entry = entry_of(node)
    if entry is None:
        return False
    if entry.family.name == "view":
        return True
    return sum(map(bool, node.outputs)) == 1 and _is_idle_dropout(node, constant_of)


def makes_nothing(outputs: Iterable[Type | None]) -> bool:
    """True when no result has an element: there is nothing to compute, and nothing is launched.

    Args:
        outputs: the types of a node's outputs, without those that are left out.
    """
    types = tuple(outputs)
    return bool(types) and all(isinstance(type_, TensorType) and 0 in (type_.shape or ()) for type_ in types)


def is_elementwise(node: Node) -> bool:
    """True when an output element depends on the (broadcast) input elements of its own place only.

    A fused node is elementwise when all nodes of its body are.
    """
    if node.body is not None:
        return all(is_elementwise(inner) for inner in node.body.nodes.values())
    entry = entry_of(node)
    return entry is not None and entry.family.name == "elementwise"


def is_control_flow(node: Node) -> bool:
    """True for If, Loop and Scan."""
    entry = entry_of(node)
    return entry is not None and entry.family.name == "control"


def _all_deterministic(graph: Graph) -> bool:
    def constant_of(name: str) -> Constant | None:
        value = graph.values.get(name)
        return value.constant if value is not None else None

    return all(is_deterministic(node, constant_of) for node in graph.nodes.values())


def _is_idle_dropout(node: Node, constant_of: ConstantOf | None) -> bool:
    """A Dropout that only passes its input on, because it is not training."""
    if node.op != "Dropout" or node.domain not in ("", "ai.onnx"):
        return False
    if len(node.inputs) < 3 or not node.inputs[2]:
        return True
    flag = constant_of(node.inputs[2]) if constant_of is not None else None
    return flag is not None and flag.is_small and not flag.array().any()
