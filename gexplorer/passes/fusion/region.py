"""Nodes that will become one kernel, and how they grow beyond what a pattern says."""

from __future__ import annotations

from collections.abc import Iterable

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import is_one_of, tensor_of
from gexplorer.passes.fusion.rule import off_the_ai_core

# What a kernel does for nothing by the order in which it reads and writes.
MOVES = ("Transpose", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Cast")
# Arithmetic on shapes and single numbers.
_SMALL = (
    *("Shape", "Size", "Slice", "Gather", "Concat", "Squeeze", "Unsqueeze", "Reshape", "Cast", "CastLike"),
    *("Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Pow"),
)
_SMALL_ELEMENTS = 8
_READERS = 24


class Region:
    """A set of nodes with one way out, that takes in what nothing else needs.

    Args:
        draft: the graph.
        nodes: those of a match.
    """

    def __init__(self, draft: Draft, nodes: Iterable[Node]) -> None:
        self._draft = draft
        self._inside = {node.name: node for node in nodes}

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, in the order in which they came."""
        return tuple(self._inside.values())

    def up(self, value: str, ops: tuple[str, ...] = MOVES, scaling: tuple[str, ...] = ()) -> str:
        """Takes in the nodes of ``ops`` that make a value, from the last one up, while nothing outside needs them.

        Args:
            value: what the region reads.
            ops: operators to take in; their first input leads on.
            scaling: ``Mul`` and ``Div`` by a single number are taken in too.

        Returns:
            What the region reads now.
        """
        while True:
            node = self._draft.producer(value)
            following = self._leads_to(node, ops, scaling) if node is not None and node.name not in self._inside else ""
            readers = self._readers(node) if node is not None and following else None
            if node is None or readers is None or off_the_ai_core([node], self._draft) is not None:
                return value
            self._inside |= {taken.name: taken for taken in (node, *readers)}
            value = following

    def down(self, value: str, ops: tuple[str, ...] = MOVES) -> str:
        """Takes in the nodes of ``ops`` behind the region's only result, while it has one user.

        Returns:
            What the region makes now.
        """
        while not self._draft.is_result(value):
            users = self._draft.users(value)
            if len(users) != 1 or not is_one_of(users[0], ops) or users[0].inputs[0] != value:
                break
            if off_the_ai_core(users, self._draft) is not None:
                break
            self._inside[users[0].name] = users[0]
            value = users[0].outputs[0]
        return value

    def settle(self) -> None:
        """Takes in arithmetic on shapes and single numbers for the region alone, where it reads nothing new for it."""
        waiting = list(self._inside.values())
        known = {name for node in waiting for name in (*node.inputs, *node.outputs)}
        while waiting:
            for name in waiting.pop().inputs:
                node = self._draft.producer(name) if name else None
                if node is None or node.name in self._inside or not self._is_small(node):
                    continue
                if self._readers(node) == () and all(i in known or self._costs_nothing(i) for i in node.inputs if i):
                    self._inside[node.name] = node
                    known.update(node.inputs)
                    waiting.append(node)

    def _leads_to(self, node: Node, ops: tuple[str, ...], scaling: tuple[str, ...]) -> str:
        if is_one_of(node, ops):
            return node.inputs[0]
        if is_one_of(node, scaling):
            numbers = [self._is_number(name) for name in node.inputs]
            if numbers == [False, True] or (numbers == [True, False] and node.op == "Mul"):
                return node.inputs[numbers.index(False)]
        return ""

    def _readers(self, node: Node) -> tuple[Node, ...] | None:
        """What else must come in with a node: readers of its shape that lead nowhere else; None if it must stay out."""
        found: dict[str, Node] = {}
        waiting = [node]
        while waiting:
            current = waiting.pop()
            for output in current.outputs:
                if self._draft.is_result(output):
                    return None
                for user in self._draft.users(output):
                    if user.name in self._inside or user.name in found:
                        continue
                    if not is_one_of(user, ("Shape",) if current is node else _SMALL) or not self._is_small(user):
                        return None
                    found[user.name] = user
                    waiting.append(user)
            if len(found) > _READERS:
                return None
        return tuple(found.values())

    def _is_small(self, node: Node) -> bool:
        return is_one_of(node, _SMALL) and all(self._is_few(output) for output in node.outputs)

    def _is_few(self, name: str) -> bool:
        type_ = tensor_of(self._draft, name)
        return type_ is not None and type_.elements is not None and type_.elements <= _SMALL_ELEMENTS

    def _costs_nothing(self, name: str) -> bool:
        return self._draft.constant_of(name) is not None or self._is_few(name)

    def _is_number(self, name: str) -> bool:
        type_ = tensor_of(self._draft, name)
        return type_ is not None and type_.elements == 1
