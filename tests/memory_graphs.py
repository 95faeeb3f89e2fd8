"""Random typed graphs for the memory stage, with views, joins, control flow and kernels; every size is whole units."""

import random

import numpy as np
from immutables import Map

from gexplorer.ir.constant import constant
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node, Value, make_graph
from gexplorer.ir.types import TensorType

UNIT_BYTES = 32


def flat(units):
    """A tensor of so many units of 32 bytes, with no dimension of 1 in front."""
    return TensorType(DType.FLOAT32, (units, 8))


def batched(units):
    """The same with a dimension of 1 in front."""
    return TensorType(DType.FLOAT32, (1, units, 8))


def simple(nodes, *, inputs=(), outputs, types, constants=(), **rest):
    """A graph written down as ``(op, inputs, outputs)`` or ``(op, inputs, outputs, attributes)``, named n0, n1, ..."""
    made = [
        Node(f"n{i}", op, tuple(ins), tuple(outs), Map(*more), position=i * POSITION_STEP)
        for i, (op, ins, outs, *more) in enumerate(nodes)
    ]
    produced = [Value(name, types.get(name), node.name) for node in made for name in node.outputs if name]
    held = [
        Value(name, types[name], constant=constant(np.zeros(types[name].shape, types[name].dtype.numpy())))
        for name in constants
    ]
    return make_graph(
        rest.pop("name", "g"),
        inputs=[Value(name, types.get(name)) for name in inputs],
        nodes=made,
        values=[*held, *produced],
        outputs=tuple(outputs),
        opsets={"": 21},
        **rest,
    )


class MemoryGraphs:
    """Makes random graphs; equal seeds give equal graphs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.types: dict[str, TensorType] = {}

    def graph(self, size: int = 12, depth: int = 2) -> Graph:
        """A graph with about so many nodes at the top."""
        inputs = [self.value() for _ in range(self.random.randint(1, 3))]
        return self.fill("main", inputs, [], size, depth, results=None)

    def fill(self, name, inputs, around, size, depth, results) -> Graph:
        """A graph; ``results`` are types that it must give, None for any."""
        pick = self.random
        constants = [self.value() for _ in range(pick.randint(0, 1))]
        known = [*around, *inputs, *constants]
        nodes, made = [], []

        def put(node):
            nodes.append(node)
            known.extend(o for o in node.outputs if o)
            made.extend(o for o in node.outputs if o)

        if not known:
            known.append(inputs.append(self.value()) or inputs[-1])
        for _ in range(size):
            put(self.node(known, depth))
        if results is None:
            outputs = [pick.choice(known[len(around) :]) for _ in range(pick.randint(1, 3))]
        else:
            outputs = []
            for wanted in results:
                fitting = [v for v in known if self.types[v] == wanted]
                if not fitting or pick.random() < 0.5:
                    put(self.make("Kernel", [pick.choice(known)], [wanted]))
                    fitting = [known[-1]]
                outputs.append(pick.choice(fitting))
        return make_graph(
            name,
            inputs=[Value(v, self.types[v]) for v in inputs],
            nodes=[
                Node(n.name, n.op, n.inputs, n.outputs, n.attributes, n.domain, position=i, body=n.body)
                for i, n in enumerate(nodes)
            ],
            values=[
                *(Value(v, self.types[v], constant=self.data(self.types[v])) for v in constants),
                *(Value(o, self.types[o], node.name) for node in nodes for o in node.outputs if o),
            ],
            outputs=tuple(outputs),
            output_names=tuple(f"{name}{i}" for i in range(len(outputs))),
            opsets={"": 21},
        )

    def node(self, known, depth) -> Node:
        """A random node that uses what is known."""
        pick = self.random
        recent = known[-6:]
        kinds = [
            "Kernel",
            "Relu",
            "Relu",
            "Add",
            "Add",
            "Reshape",
            "Identity",
            "Concat",
            "Split",
            "Pair",
            "Two",
            "Idle",
        ]
        kind = pick.choice(kinds + ["If", "Loop", "Scan"] * (depth > 0))
        first = pick.choice(recent)
        type_ = self.types[first]
        match kind:
            case "Kernel":
                return self.make("Kernel", [first, pick.choice(known)], [self.type()])
            case "Two":
                return self.make("Kernel", [first], [self.type(), self.type()])
            case "Relu" | "Identity":
                return self.make(kind, [first], [type_])
            case "Idle":
                return self.make("Dropout", [first], [type_])
            case "Add":
                return self.make("Add", [first, self.like(known, type_)], [type_])
            case "Pair":
                return self.pair(first, self.like(known, type_))
            case "Reshape":
                units = type_.elements // 8
                return self.make("Reshape", [first, pick.choice(known)], [pick.choice((flat, batched))(units)])
            case "Concat":
                parts = [first, *(self.like(known, type_, exact=False) for _ in range(pick.randint(1, 2)))]
                if pick.random() < 0.7:  # else few have parts that are all different
                    parts = list(dict.fromkeys(parts))
                form = batched if len(type_.shape) == 3 else flat
                whole = form(sum(self.types[p].elements // 8 for p in parts))
                return self.make("Concat", parts, [whole], axis=pick.choice((len(type_.shape) - 2, -2)))
            case "Split":
                form, units = (batched if len(type_.shape) == 3 else flat), type_.elements // 8
                cuts = sorted(pick.sample(range(1, units), min(units - 1, pick.randint(1, 2)))) if units > 1 else []
                sizes = [b - a for a, b in zip([0, *cuts], [*cuts, units], strict=True)]
                return self.make("Split", [first], [form(s) for s in sizes], axis=len(type_.shape) - 2)
            case "If":
                return self.branches(first, known, depth)
            case "Loop":
                return self.loop(known, depth)
            case _:
                return self.scan(known, depth)

    def branches(self, first, known, depth) -> Node:
        results = [self.type() for _ in range(self.random.randint(1, 2))]
        pair = {
            key: self.fill(key, [], known[-8:], self.random.randint(0, 4), depth - 1, results)
            for key in ("then_branch", "else_branch")
        }
        return self.make("If", [first], results, **pair)

    def loop(self, known, depth) -> Node:
        pick = self.random
        inits = [pick.choice(known[-8:]) for _ in range(pick.randint(0, 3))]
        inputs = [self.value(flat(1)), self.value(flat(1)), *(self.value(self.types[i]) for i in inits)]
        stacked = [self.type() for _ in range(pick.randint(0, 1))]
        results = [flat(1), *(self.types[i] for i in inits), *stacked]
        body = self.fill("body", inputs, known[-8:], pick.randint(0, 5), depth - 1, results)
        outputs = [*(self.types[i] for i in inits), *(flat(t.elements // 2) for t in stacked)]
        condition = next((v for v in known if self.types[v] == flat(1)), "")
        return self.make("Loop", [pick.choice(known), condition, *inits], outputs, body=body)

    def scan(self, known, depth) -> Node:
        pick = self.random
        inits = [pick.choice(known[-8:]) for _ in range(pick.randint(0, 2))]
        scanned = [pick.choice(known[-8:])]
        inputs = [*(self.value(self.types[i]) for i in inits), self.value()]
        stacked = self.type()
        results = [*(self.types[i] for i in inits), stacked]
        body = self.fill("body", inputs, known[-8:], pick.randint(0, 5), depth - 1, results)
        outputs = [*(self.types[i] for i in inits), flat(stacked.elements // 2)]
        return self.make("Scan", [*inits, *scanned], outputs, body=body, num_scan_inputs=1)

    def pair(self, first, second) -> Node:
        """A fused kernel of elementwise operators with two results."""
        type_ = self.types[first]
        nodes = [
            Node("a", "Add", ("in0", "in1"), ("v0",)),
            Node("b", "Relu", ("in1",), ("v1",), position=1),
        ]
        body = make_graph(
            "body",
            inputs=[Value("in0", type_), Value("in1", type_)],
            nodes=nodes,
            values=[Value("v0", type_, "a"), Value("v1", type_, "b")],
            outputs=("v0", "v1"),
            opsets={"": 21},
        )
        node = self.make("Elementwise", [first, second], [type_, type_])
        return Node(node.name, node.op, node.inputs, node.outputs, domain="ge", body=body)

    def make(self, op, inputs, types, **attributes) -> Node:
        self.count += 1
        return Node(f"op{self.count}", op, tuple(inputs), tuple(self.value(t) for t in types), Map(attributes))

    def like(self, known, type_, *, exact=True) -> str:
        """A value of that type, or of its rank."""
        fitting = [
            v
            for v in known[-12:]
            if (self.types[v] == type_ if exact else len(self.types[v].shape) == len(type_.shape))
        ]
        return self.random.choice(fitting)

    def value(self, type_=None) -> str:
        self.count += 1
        name = f"v{self.count}"
        self.types[name] = type_ or self.type()
        return name

    def type(self) -> TensorType:
        return self.random.choice((flat, batched))(self.random.choice((1, 2, 2, 4)))

    def data(self, type_):
        return constant(np.zeros(type_.shape, np.float32))
