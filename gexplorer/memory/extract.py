"""Reads a graph into the columns of a ``Program``: who writes and reads which tensor when, and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from gexplorer.errors import ModelError, OptionError
from gexplorer.ir.constant import Constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node, Value
from gexplorer.ir.types import TensorType, Type
from gexplorer.memory.program import BEFORE, MOST_BYTES, UNSIZED, Kind, Program
from gexplorer.memory.sharing import Columns, Role, Roles, carried_into, is_branching, is_slicing, may_share
from gexplorer.memory.state import states_of
from gexplorer.memory.unsized import Unsized

# Element types of shapes, indices and masks; a constant of any other type is a parameter, unless it is one element.
_INDEX_TYPES = frozenset((DType.INT64, DType.INT32, DType.BOOL, DType.STRING))


def program_of(graph: Graph, workspaces: Mapping[str, int] = MappingProxyType({})) -> Program:
    """The columns of a graph in its execution order.

    A tensor's size is that of its type, sub-byte elements packed; the type of a tensor in a storage format has the
    physical shape, so blocks are counted whole. What lies inside a fused node's body is on the chip and no tensor here.
    Nested graphs lie between two points of their node:

    * **If**: its inputs are read where it begins; the results of both branches are read, and its outputs written, where
      it ends. The branches stand one after the other: no value of one meets a value of the other, results apart.
    * **Loop, Scan**: what is carried from turn to turn is written where it begins and read where it ends, so it lasts
      for all turns; so do the body's results (they are copied to what is carried) and, by ``Program.loops``, all that
      the body reads of the outside. Stacked outputs fill up turn by turn: they are written where it begins, and read
      where it ends.
    * Any other operator with a nested graph is treated like a loop.

    Args:
        graph: the graph after all passes.
        workspaces: bytes of scratch by operator; it lives while the operator runs.

    Raises:
        ModelError: the tensors together are larger than any memory, so that sums would not fit 64 bits.
        OptionError: a workspace is given for an operator that does not exist.
    """
    reader = _Reader(graph)
    reader.inputs()
    reader.walk(graph)
    reader.outputs()
    reader.add_workspaces(workspaces)
    return reader.program()


class _Reader:
    """Collects the columns while it walks through a graph and the graphs nested in it."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._operators: list[str] = []
        self._roles: list[Role] = []
        self._tensors: list[str] = []
        self._index: dict[str, int] = {}
        self._types: list[Type | None] = []
        self._sizes: list[int] = []
        self._writer: list[int] = []
        self._kinds: dict[int, Kind] = {}  # all but intermediate results
        self._read_tensor: list[int] = []
        self._read_point: list[int] = []
        self._loops: list[tuple[int, int]] = []
        self._sharing: list[tuple[int, Node, Role]] = []
        self._copies: list[tuple[int, int, int]] = []
        self._results: set[str] = set()
        self._role_of = Roles()
        self._size_of: dict[object, int] = {}  # by element type and shape
        self._unsized = Unsized(graph)

    # -- the graph --------------------------------------------------------------------------------------------

    def inputs(self) -> None:
        """The inputs, state told apart from the others."""
        states = states_of(self._graph)
        for name in self._graph.inputs:
            value = self._graph.values[name]
            self._add(value, BEFORE, Kind.STATE if name in states else Kind.INPUT)

    def walk(self, graph: Graph) -> None:
        """The constants and nodes of a graph, and of the graphs nested in it."""
        for value in graph.constants:
            self._add_constant(value)
        values, nested = graph.values, frozenset(graph.nested)
        operators, roles, tensors, index = self._operators, self._roles, self._tensors, self._index
        types, sizes, writer, size_of = self._types, self._sizes, self._writer, self._size_of
        read_tensor, read_point = self._read_tensor, self._read_point
        role_of, constant_of = self._role_of.of, _constants_of(graph)
        for node in graph.order:
            role = role_of(node, constant_of)
            if node.name in nested:
                self._nested(node, graph)
                continue
            point = len(operators)
            operators.append(node.name)
            roles.append(role)
            if role:
                self._sharing.append((point, node, role))
            for name in node.inputs:
                if name:
                    read_tensor.append(index[name])
                    read_point.append(point)
            for name in node.outputs:
                if not name:
                    continue
                type_ = values[name].type
                if isinstance(type_, TensorType):
                    key = (id(type_.dtype), type_.shape)
                    size = size_of.get(key)
                    if size is None:
                        size = size_of[key] = _bytes_of(type_)
                else:
                    size = UNSIZED
                index[name] = len(tensors)
                tensors.append(name)
                types.append(type_)
                sizes.append(size)
                writer.append(point)
                if size < 0:
                    self._unsized.add(name, type_, node)

    def outputs(self) -> None:
        """Marks the results; one that is an input or a constant stays what it is."""
        for name in self._graph.outputs:
            self._kinds.setdefault(self._index[name], Kind.OUTPUT)

    def add_workspaces(self, workspaces: Mapping[str, int]) -> None:
        """A tensor for each operator that needs scratch."""
        if not workspaces:
            return
        point_of: dict[str, int] = {}
        for point, operator in enumerate(self._operators):
            point_of.setdefault(operator, point)
        for operator, size_bytes in workspaces.items():
            point = point_of.get(operator)
            if point is None:
                raise OptionError(f"a workspace of {size_bytes} bytes for {operator}, but there is no such operator")
            self._append(f"{operator}:workspace", None, size_bytes, point, Kind.WORKSPACE)

    def program(self) -> Program:
        """The columns."""
        _require_room(self._tensors, self._sizes)
        kinds = np.full(len(self._tensors), int(Kind.INTERMEDIATE), dtype=np.int64)
        kinds[list(self._kinds)] = list(self._kinds.values())
        columns = Columns(
            self._index, self._types, self._sizes, self._writer, self._roles, kinds.tolist(), self._results
        )
        read_tensor, read_point = _sorted_reads(self._read_tensor, self._read_point, len(self._operators))
        return Program(
            operators=tuple(self._operators),
            tensors=tuple(self._tensors),
            size_bytes=_frozen(self._sizes),
            kind=_frozen(kinds),
            writer=_frozen(self._writer),
            read_tensor=read_tensor,
            read_point=read_point,
            may_share=may_share(columns, self._sharing, self._copies),
            loops=_frozen(np.array(self._loops, dtype=np.int64).reshape(-1, 2)),
            unsized=MappingProxyType(self._unsized.reasons),
        )

    # -- nested graphs ----------------------------------------------------------------------------------------

    def _nested(self, node: Node, graph: Graph) -> None:
        begin = self._point(node)
        self._read(node.inputs, begin)
        if is_branching(node):
            self._branches(node, graph)
        else:
            self._turns(node, graph, begin)

    def _branches(self, node: Node, graph: Graph) -> None:
        branches = [g for key in ("then_branch", "else_branch") if isinstance(g := node.attributes.get(key), Graph)]
        for branch in branches:
            self.walk(branch)
        end = self._point(node)
        for branch in branches:
            self._read(branch.outputs, end)
        self._write(node, node.outputs, graph, end)
        if branches:
            self._stay_in_branch(node, branches[-1], end)

    def _stay_in_branch(self, node: Node, last: Graph, end: int) -> None:
        """The last branch's results may be the If's: nothing runs in between, and when another ran, they are free.

        Only what the branch computes by itself: what it took over may be what another branch gives as well.
        """
        for result, output in zip(last.outputs, node.outputs, strict=False):
            maker = last.producer(result)
            if not output or maker is None:
                continue
            if self._role_of.of(maker, _constants_of(last)) not in (Role.VIEW, Role.SPLIT):
                self._copies.append((end, self._index[result], self._index[output]))

    def _turns(self, node: Node, graph: Graph, begin: int) -> None:
        for body in node.graphs:
            for name in body.inputs:
                self._add(body.values[name], begin, node=node)
            self._results.update(body.outputs)
        finals = {last for body in node.graphs for *_, last in carried_into(node, body)}
        stacked = tuple(name for i, name in enumerate(node.outputs) if i not in finals)
        self._write(node, stacked, graph, begin)
        for body in node.graphs:
            self.walk(body)
        end = self._point(node)
        self._loops.append((begin + 1, end))  # what is read where it begins is read once
        self._write(node, tuple(name for i, name in enumerate(node.outputs) if i in finals), graph, end)
        self._read(stacked, end)  # they are written to until then, whether somebody wants them or not
        for body in node.graphs:
            self._carry(node, body, begin, end)

    def _carry(self, node: Node, body: Graph, begin: int, end: int) -> None:
        """What lasts for all turns, and what is copied as a whole where they begin and end."""
        carried = carried_into(node, body)
        self._read(body.outputs, end)
        if is_slicing(node):  # the other inputs of its body are new in each turn
            initial = {first for first, *_ in carried}
            self._read([name for i, name in enumerate(node.inputs) if i not in initial], end)
            self._read(tuple(body.inputs[inside] for _, inside, _, _ in carried), end)
        else:
            self._read(body.inputs, end)
        for first, inside, _, last in carried:
            held = self._index[body.inputs[inside]]
            if first < len(node.inputs) and node.inputs[first]:
                self._copies.append((begin, self._index[node.inputs[first]], held))
            if 0 <= last < len(node.outputs) and node.outputs[last]:
                self._copies.append((end, held, self._index[node.outputs[last]]))

    # -- single entries ---------------------------------------------------------------------------------------

    def _point(self, node: Node) -> int:
        self._operators.append(node.name)
        self._roles.append(Role.CONTROL)
        return len(self._operators) - 1

    def _read(self, names: Sequence[str], point: int) -> None:
        for name in names:
            if name:
                self._read_tensor.append(self._index[name])
                self._read_point.append(point)

    def _write(self, node: Node, names: Sequence[str], graph: Graph, point: int) -> None:
        for name in names:
            if name:
                self._add(graph.values[name], point, node=node)

    def _add(self, value: Value, point: int, kind: Kind = Kind.INTERMEDIATE, node: Node | None = None) -> None:
        size = _bytes_of(value.type)
        self._append(value.name, value.type, size, point, kind)
        if size < 0:
            self._unsized.add(value.name, value.type, node)

    def _add_constant(self, value: Value) -> None:
        data = value.constant
        assert data is not None
        kind = Kind.CONSTANT if data.dtype in _INDEX_TYPES or data.elements == 1 else Kind.WEIGHT
        self._add(Value(value.name, TensorType(data.dtype, data.shape)), BEFORE, kind)

    def _append(self, name: str, type_: Type | None, size: int, point: int, kind: Kind) -> None:
        number = self._index[name] = len(self._tensors)
        self._tensors.append(name)
        self._types.append(type_)
        self._sizes.append(size)
        self._writer.append(point)
        if kind is not Kind.INTERMEDIATE:
            self._kinds[number] = kind


def _constants_of(graph: Graph) -> Callable[[str], Constant | None]:
    def constant_of(name: str) -> Constant | None:
        value = graph.values.get(name)
        return value.constant if value is not None else None

    return constant_of


def _bytes_of(type_: Type | None) -> int:
    size = type_.nbytes if isinstance(type_, TensorType) else None
    return UNSIZED if size is None else size


def _require_room(tensors: Sequence[str], sizes: Sequence[int]) -> None:
    """Whole numbers of any size, before they become 64 bits."""
    total = sum(sizes)
    if total > MOST_BYTES:
        largest = max(range(len(sizes)), key=sizes.__getitem__)
        raise ModelError(
            f"the tensors take more bytes than any memory has ({total:,}); the largest is {tensors[largest]},"
            f" {sizes[largest]:,} bytes"
        )


def _frozen(column: object) -> np.ndarray:
    array = np.array(column, dtype=np.int64)
    array.flags.writeable = False
    return array


def _sorted_reads(tensors: list[int], points: list[int], length: int) -> tuple[np.ndarray, np.ndarray]:
    """The reads by tensor, then by point, without doubles."""
    keys = np.unique(np.array(tensors, dtype=np.int64) * (length + 1) + np.array(points, dtype=np.int64))
    return _frozen(keys // (length + 1)), _frozen(keys % (length + 1))
