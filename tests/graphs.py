"""Random valid graphs, and graphs as plain data that ``==`` compares."""

import random

import numpy as np
from immutables import Map

from gexplorer.ir.constant import Constant, constant
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Floats, Graph, Graphs, Ints, Node, OpaqueAttribute, Strings, Value, make_graph
from gexplorer.ir.symbols import floor_div, maximum, parse_dim, symbol
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType

_WEIRD = (
    "a b",
    "é",
    '"',
    "\\",
    "%x",
    "\n",
    "\u2028",
    "\ud800",
    "//c",
    "x,y",
    "graph",
    "_",
    "=",
    "-1",
    "@5",
    "",
)


def content(graph):
    """All that a graph says, its serial apart."""
    return {
        "name": graph.name,
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "output_names": graph.output_names,
        "opsets": dict(graph.opsets),
        "defaults": {name: _constant(data) for name, data in graph.defaults.items()},
        "values": {
            name: (v.name, v.type, v.producer, v.constant and _constant(v.constant), v.declared)
            for name, v in graph.values.items()
        },
        "nodes": {name: _node(node) for name, node in graph.nodes.items()},
        "users": {name: sorted(users) for name, users in graph.users.items()},
        "by_op": {op: sorted(names) for op, names in graph.by_op.items()},
        "nested": sorted(graph.nested),
        "order": [node.name for node in graph.order],
    }


def _node(node):
    attributes = {name: _attribute(value) for name, value in node.attributes.items()}
    body = node.body and content(node.body)
    fields = (
        node.name,
        node.op,
        node.domain,
        node.inputs,
        node.outputs,
        node.origin,
        node.position,
        node.scope,
    )
    return (*fields, node.partition, attributes, body)


def _attribute(value):
    if isinstance(value, Graph):
        return content(value)
    if isinstance(value, Graphs):
        return ["graphs", *map(content, value)]
    if isinstance(value, Constant):
        return _constant(value)
    return type(value).__name__, repr(value)


def _constant(data):
    if data.elements > 32 or not data.available:
        return data.dtype, data.shape, "..."
    array = data.array()
    return data.dtype, data.shape, array.tolist() if data.dtype == DType.STRING else array.tobytes()


class GraphMaker:
    """Makes random graphs that are valid, with every kind of thing in them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.taken: set[str] = set()

    def graph(self, around=(), depth=0, closed=False) -> Graph:
        """A graph; ``around`` are names that it may capture, unless it is closed (a body)."""
        pick = self.random
        inputs = [Value(self.name(), self.type(), declared=self.type()) for _ in range(pick.randint(1, 3))]
        values = [self.constant_value() for _ in range(pick.randint(0, 3))]
        known = [v.name for v in (*inputs, *values)] + ([] if closed else list(around))
        nodes = []
        for index in range(pick.randint(0, 6)):
            outputs = [self.name() if pick.random() < 0.9 else "" for _ in range(pick.choice((1, 1, 1, 2, 0)))]
            node = Node(
                name=self.name(),
                op=pick.choice(("Add", "Relu", "If", "weird op")),
                inputs=tuple(pick.choice([*known, ""]) for _ in range(pick.randint(0, 3))),
                outputs=tuple(outputs),
                attributes=self.attributes(known, depth),
                domain=pick.choice(("", "", "com.microsoft", "my domain")),
                origin=pick.choice(((), ("n",), ("a b", "c"))),
                position=pick.choice((index * POSITION_STEP, pick.randint(-9, 9))),
                scope=pick.choice(("", "model.layers.0", "in in")),
                partition=pick.choice(("", "aicore 0")),
            )
            if depth < 2 and pick.random() < 0.2:
                node = self.fused(node)
            nodes.append(node)
            values += [Value(o, self.type(), node.name, None, self.type()) for o in node.outputs if o]
            known += [o for o in node.outputs if o]
        results = [pick.choice(known) for _ in range(pick.randint(1, 3))]
        return make_graph(
            pick.choice(("main", "my graph", "")),
            inputs=inputs,
            nodes=nodes,
            values=values,
            outputs=tuple(results),
            output_names=tuple(self.name() for _ in results),
            opsets=pick.choice(({}, {"": 17}, {"": 18, "com.microsoft": 1, "my domain": 2})),
            defaults={v.name: self.constant(v.type.dtype) for v in inputs[:1] if isinstance(v.type, TensorType)},
        )

    def fused(self, node: Node) -> Node:
        """The node with a body of the right arity."""
        inner = [Value(self.name()) for _ in node.inputs] or [Value(self.name())]
        inputs = node.inputs or ("",)
        names = [self.name() for _ in node.outputs]
        work = Node(self.name(), "Work", (inner[0].name,), tuple(names))
        body = make_graph(
            "body",
            inputs=inner,
            nodes=[work],
            values=[Value(name, None, work.name) for name in names],
            outputs=tuple(names),
            opsets={"": 17},
        )
        return Node(
            node.name,
            node.op,
            inputs,
            node.outputs,
            node.attributes,
            node.domain,
            position=node.position,
            body=body,
        )

    def name(self) -> str:
        """A name not yet given."""
        while True:
            base = self.random.choice(("x", "/model/layers.0/Add_output_0", *_WEIRD))
            name = f"{base}{self.random.randint(0, 99) or ''}"
            if name and name not in self.taken:
                self.taken.add(name)
                return name

    def type(self):
        pick = self.random
        match pick.randint(0, 9):
            case 0:
                return None
            case 1:
                return SequenceType(OptionalType(TensorType(DType.STRING)))
            case 2:
                return OpaqueType(bytes([1, 255]))
            case _:
                rank = pick.choice((None, 0, 1, 3))
                shape = None if rank is None else tuple(self.dim() for _ in range(rank))
                return TensorType(self.dtype(), shape, pick.choice(("ND", "FRACTAL_NZ", "my format")))

    def dim(self):
        s, past = symbol("s"), symbol("past")
        dims = (None, 0, 7, s, s + past + 1, maximum(s, 1), floor_div(s + 1, 2) * 3, symbol("s + 1"))
        return self.random.choice((*dims, symbol("?"), symbol("a b") + 1, symbol("4"), parse_dim("07"), symbol("*")))

    def dtype(self) -> DType:
        return self.random.choice([d for d in DType if d != DType.UNDEFINED])

    def constant(self, dtype: DType) -> Constant:
        shape = self.random.choice(((), (0,), (2,), (2, 3), (32,), (33,), (4, 300)))
        count = int(np.prod(shape))
        if dtype == DType.STRING:
            array = np.empty(count, object)
            array[:] = [self.random.choice((b"a\xff", "b", "\u20ac", b"")) for _ in range(count)]
            return constant(array.reshape(shape), dtype)
        raw = np.frombuffer(self.random.randbytes(count * dtype.numpy().itemsize), np.uint8)
        if dtype.is_integer and dtype.bits < 8:
            values = raw.astype(np.int64) % (1 << dtype.bits) - ((1 << dtype.bits - 1) if dtype.name[0] == "I" else 0)
            return constant(values.astype(dtype.numpy()).reshape(shape), dtype)
        if dtype == DType.BOOL:
            return constant((raw % 2).astype(bool).reshape(shape), dtype)
        return constant(raw.view(dtype.numpy()).reshape(shape), dtype)

    def constant_value(self) -> Value:
        data = self.constant(self.dtype())
        return Value(self.name(), TensorType(data.dtype, data.shape), constant=data, declared=self.type())

    def attributes(self, known, depth) -> Map:
        pick = self.random
        number = (0.1, -0.0, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"), 3.0)
        values = (
            lambda: pick.choice((0, -7, 2**63)),
            lambda: pick.choice(number),
            lambda: pick.choice(_WEIRD),
            lambda: pick.choice((b"", b'\x00\xff"')),
            lambda: Ints((1, -2)[: pick.randint(0, 2)]),
            lambda: Floats(number[: pick.randint(0, 8)]),
            lambda: Strings(("a", b"b\xfe", "")[: pick.randint(0, 3)]),
            lambda: self.constant(self.dtype()),
            lambda: OpaqueAttribute(pick.randbytes(pick.randint(0, 4))),
            lambda: Graphs(self.graph(known, depth + 1) for _ in range(pick.randint(0, 2) if depth < 2 else 0)),
            lambda: self.graph(known, depth + 1) if depth < 2 else 1,
        )
        names = ("axis", "body", "input", "weird name", "//", "constant", "")
        return Map({pick.choice(names): pick.choice(values)() for _ in range(pick.choice((0, 0, 1, 3)))})
