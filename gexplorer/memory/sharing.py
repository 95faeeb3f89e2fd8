"""Which tensors an allocator may place in the same bytes, read off the operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gexplorer.ir.constant import Constant
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType, Type
from gexplorer.memory.program import Kind, MayShare, Sharing
from gexplorer.ops.table import entry_of
from gexplorer.ops.traits import is_elementwise, is_view

# What the vector unit moves at least: a part that begins or ends elsewhere would be written with its neighbour's bytes.
PART_BYTES = 32
# As plain numbers: comparing and storing members of an enumeration takes three times as long.
_INTERMEDIATE = int(Kind.INTERMEDIATE)
_VIEW, _IN_PLACE, _CONCAT, _SPLIT = map(int, (Sharing.VIEW, Sharing.IN_PLACE, Sharing.CONCAT, Sharing.SPLIT))
# Elementwise by their family, but an output element needs input elements of other places.
_OTHER_PLACES = frozenset(("SwiGLU",))
_OWN_DOMAIN = ("", "ai.onnx")


class Role(IntEnum):
    """What an operator is to memory."""

    KERNEL = 0  # reads all inputs, writes all outputs, nothing may share
    VIEW = 1
    ELEMENTWISE = 2
    CONCAT = 3
    SPLIT = 4
    CONTROL = 5


class Roles:
    """Finds the role of a node; operators and bodies seen before cost one look-up."""

    def __init__(self) -> None:
        self._by_op: dict[tuple[str, str], Role | None] = {}
        self._by_body: dict[int, Role] = {}

    def of(self, node: Node, constant_of: Callable[[str], Constant | None]) -> Role:
        """The role; ``constant_of`` tells a Dropout that does nothing from one that is training."""
        if node.body is not None:
            found = self._by_body.get(id(node.body))
            if found is None:
                found = self._by_body[id(node.body)] = Role.ELEMENTWISE if _stays_in_place(node) else Role.KERNEL
            return found
        key = (node.domain, node.op)
        if key not in self._by_op:
            self._by_op[key] = _role(node)
        found = self._by_op[key]
        if found is None:
            return Role.VIEW if is_view(node, constant_of) else Role.KERNEL
        return found


def _role(node: Node) -> Role | None:
    """The role of all nodes of an operator; None for Dropout, where it depends on the node."""
    if node.domain in _OWN_DOMAIN and node.op in ("Dropout", "Concat", "Split"):
        return {"Dropout": None, "Concat": Role.CONCAT, "Split": Role.SPLIT}[node.op]
    entry = entry_of(node)
    if entry is None:
        return Role.KERNEL
    if entry.family.name == "elementwise":
        return Role.ELEMENTWISE if _stays_in_place(node) else Role.KERNEL
    return {"view": Role.VIEW, "control": Role.CONTROL}.get(entry.family.name, Role.KERNEL)


def _stays_in_place(node: Node) -> bool:
    inner = node.body.nodes.values() if node.body is not None else (node,)
    return is_elementwise(node) and not any(one.op in _OTHER_PLACES for one in inner)


@dataclass(slots=True)
class Columns:
    """What is known of the tensors and points when sharing is looked for.

    Attributes:
        index: number of a tensor by name.
        types: type of each tensor.
        sizes: bytes of each tensor, negative where unknown.
        writer: point that writes each tensor.
        roles: role of the operator at each point.
        kinds: kind of each tensor.
        results: results of loop bodies: they are copied between turns, so that they may not be what they are copied to.
    """

    index: dict[str, int]
    types: list[Type | None]
    sizes: list[int]
    writer: list[int]
    roles: list[Role]
    kinds: Sequence[int]
    results: set[str]


# Guest, host, offset in bytes, a ``Sharing``, point.
_Rows = list[tuple[int, int, int, int, int]]


def may_share(
    columns: Columns, operators: Sequence[tuple[int, Node, Role]], copies: Sequence[tuple[int, int, int]]
) -> MayShare:
    """The rows, by point.

    * A view lies in its source, where both have the same size; but a result of the program that is a view of an input,
      a constant or another result is a copy, as they belong to different owners.
    * An elementwise operator, or a kernel of such operators only, may write over an input of its outputs' shape and of
      their bytes; the input must be an intermediate result. A kernel with several outputs may do so only where they all
      have that shape: else one of them might still need what another has written over.
    * A Concat is spared where only dimensions of 1 stand before its axis, and every part begins and ends at a multiple
      of 32 bytes and is written once, by a kernel of its own. A Split likewise. All parts or none.
    * What control flow copies whole (an initial value into a loop, a value out of it, the last branch's result out of
      an If) may stay where it is.

    Args:
        columns: the tensors and points.
        operators: point, node and role of the operators that are no mere kernels.
        copies: point, from and to of the copies that control flow makes.
    """
    rows: _Rows = []
    views = _Views()
    for point, host, guest in copies:
        if columns.kinds[host] == _INTERMEDIATE and _same_place(columns, host, guest):
            rows.append((guest, host, 0, _IN_PLACE, point))
    for point, node, role in operators:
        if role is Role.VIEW:
            _view(columns, rows, point, node, views)
        elif role is Role.ELEMENTWISE:
            _in_place(columns, rows, point, node)
        elif role is Role.CONCAT:
            _concat(columns, rows, point, node)
        elif role is Role.SPLIT:
            _split(columns, rows, point, node)
    made = np.array(rows, dtype=np.int64).reshape(-1, 5)
    made = np.ascontiguousarray(made[np.argsort(made[:, 4], kind="stable")].T)
    made.flags.writeable = False
    return MayShare(*made)


def _view(columns: Columns, rows: _Rows, point: int, node: Node, views: _Views) -> None:
    result = next(filter(None, node.outputs), "")
    if not result or result in columns.results or not node.inputs[0]:
        return
    guest, host = columns.index[result], columns.index[node.inputs[0]]
    if 0 <= columns.sizes[guest] == columns.sizes[host] and views.join(guest, host, columns.kinds):
        rows.append((guest, host, 0, _VIEW, point))


class _Views:
    """Keeps a result of the program from being a view of what has another owner: it must be copied there."""

    def __init__(self) -> None:
        self._root: dict[int, int] = {}
        self._owned: set[int] = set()

    def join(self, guest: int, host: int, kinds: Sequence[int]) -> bool:
        """True where the guest may lie in the host's bytes, which then are both's."""
        root = self._root.get(host, host)
        if kinds[guest] < _INTERMEDIATE:
            if kinds[root] < _INTERMEDIATE or root in self._owned:
                return False
            self._owned.add(root)
        self._root[guest] = root
        return True


def _in_place(columns: Columns, rows: _Rows, point: int, node: Node) -> None:
    index, kinds = columns.index, columns.kinds
    guests = [index[name] for name in node.outputs if name]
    for name in dict.fromkeys(node.inputs):
        if not name or kinds[host := index[name]] != _INTERMEDIATE:
            continue
        for guest in guests:
            if not _same_place(columns, host, guest):
                break
        else:
            rows += [(guest, host, 0, _IN_PLACE, point) for guest in guests]


def _same_place(columns: Columns, host: int, guest: int) -> bool:
    """True when element i of one tensor lies at the same bytes as element i of the other."""
    if not 0 <= columns.sizes[host] == columns.sizes[guest]:
        return False
    a, b = columns.types[host], columns.types[guest]
    if a is b:
        return True
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return False
    return a.shape == b.shape and a.dtype.bits == b.dtype.bits and a.format == b.format


def _concat(columns: Columns, rows: _Rows, point: int, node: Node) -> None:
    if not node.outputs or not node.outputs[0] or len(set(node.inputs)) < len(node.inputs) or "" in node.inputs:
        return
    whole = columns.index[node.outputs[0]]
    parts = [columns.index[name] for name in node.inputs]
    offsets = _offsets(columns, whole, parts, node.attributes.get("axis"))
    if offsets is None:
        return
    written = (Role.KERNEL, Role.ELEMENTWISE, Role.CONCAT)
    for part in parts:
        own = columns.kinds[part] == _INTERMEDIATE and columns.roles[columns.writer[part]] in written
        if not own:
            return
    for part, offset in zip(parts, offsets, strict=True):
        rows.append((part, whole, offset, _CONCAT, point))


def _split(columns: Columns, rows: _Rows, point: int, node: Node) -> None:
    if "" in node.outputs or not node.inputs[0] or not columns.results.isdisjoint(node.outputs):
        return
    whole = columns.index[node.inputs[0]]
    parts = [columns.index[name] for name in node.outputs]
    offsets = _offsets(columns, whole, parts, node.attributes.get("axis", 0))
    if offsets is None or any(columns.kinds[part] != _INTERMEDIATE for part in parts):
        return
    for part, offset in zip(parts, offsets, strict=True):
        rows.append((part, whole, offset, _SPLIT, point))


def _offsets(columns: Columns, whole: int, parts: list[int], axis: object) -> list[int] | None:
    """Where each part begins, in bytes; None where the parts do not lie one after the other, or not aligned."""
    type_ = columns.types[whole]
    if not isinstance(type_, TensorType) or type_.shape is None or type_.format != "ND" or not isinstance(axis, int):
        return None
    if any(dim != 1 for dim in type_.shape[: axis if axis >= 0 else axis + len(type_.shape)]):
        return None
    offsets: list[int] = []
    total = 0
    for part in parts:
        size, own = columns.sizes[part], columns.types[part]
        if size < 0 or size % PART_BYTES or not isinstance(own, TensorType) or own.format != "ND":
            return None
        offsets.append(total)
        total += size
    return offsets if total == columns.sizes[whole] else None


def is_branching(node: Node) -> bool:
    """True for If: of its graphs one runs, once."""
    return node.op == "If" and node.domain in _OWN_DOMAIN


def is_slicing(node: Node) -> bool:
    """True for Scan: it gives its body, besides what it carries, a slice of an input in each turn."""
    return node.op == "Scan" and node.domain in _OWN_DOMAIN


def carried_into(node: Node, body: Graph) -> list[tuple[int, int, int, int]]:
    """What a Loop or Scan carries from turn to turn: places among inputs, body inputs, body outputs and outputs.

    The places are -1 where there is none: a loop's condition goes in, and not out.
    """
    if node.domain not in _OWN_DOMAIN:
        return []
    if node.op == "Loop":
        count = len(body.inputs) - 2
        return [(1, 1, 0, -1), *((i + 2, i + 2, i + 1, i) for i in range(count))]
    if is_slicing(node):
        count = len(body.inputs) - node.integer("num_scan_inputs", 0)
        first = len(node.inputs) - len(body.inputs)
        return [(first + i, i, i, i) for i in range(count)]
    return []
