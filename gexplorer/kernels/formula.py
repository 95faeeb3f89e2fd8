"""What a kernel computes for each element: vector instructions in order, made from ONNX operators.

All is computed in float32, whatever the types in memory: the vector unit casts on the way in and out, so what lies
between two fused operators is never rounded to float16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isnan, nan, pi, sqrt
from types import MappingProxyType

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node
from gexplorer.kernels.vector_ops import REDUCTIONS

ABSENT = nan  # stands for an optional input that a node does not have
Term = int | float  # an earlier value by its number, or a number itself


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One vector instruction.

    Attributes:
        op: of ``vector_ops.ELEMENTWISE`` or ``vector_ops.REDUCTIONS``.
        inputs: ints are earlier values, floats are numbers.
    """

    op: str
    inputs: tuple[Term, ...]

    def __eq__(self, other: object) -> bool:  # value 0 is not the number 0.0, which Python takes for equal
        return isinstance(other, Instruction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.op, self.inputs, tuple([isinstance(x, int) for x in self.inputs])


@dataclass(frozen=True, slots=True)
class Formula:
    """Values 0, 1, ... are the inputs, those after them the instructions' results.

    Attributes:
        inputs: names of the inputs.
        instructions: in order.
        outputs: the values that are given out.
    """

    inputs: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]

    @property
    def reduces(self) -> bool:
        """True where some instruction reduces rows."""
        return any(step.op in REDUCTIONS for step in self.instructions)

    def last_uses(self) -> dict[int, int]:
        """For each value the number of the last instruction that reads it; outputs live on to the end."""
        last: dict[int, int] = {}
        for index, instruction in enumerate(self.instructions):
            last |= {value: index for value in instruction.inputs if isinstance(value, int)}
        return last | dict.fromkeys(self.outputs, len(self.instructions))

    def __str__(self) -> str:
        names = [*self.inputs, *(f"t{i}" for i in range(len(self.instructions)))]
        lines = [
            f"{names[len(self.inputs) + i]} = {step.op} "
            + ", ".join(names[x] if isinstance(x, int) else f"{x:g}" for x in step.inputs)
            for i, step in enumerate(self.instructions)
        ]
        return "\n".join([*lines, "return " + ", ".join(names[o] for o in self.outputs)])


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no program for a kernel; ``node`` is the operator at fault, by its type."""

    node: str
    reason: str

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"


@dataclass(slots=True)
class Writer:
    """Puts a formula together, instruction by instruction."""

    inputs: tuple[str, ...]
    _instructions: list[Instruction] = field(default_factory=list[Instruction])

    def __call__(self, op: str, *inputs: Term) -> int:
        """Adds an instruction; its value."""
        self._instructions.append(Instruction(op, inputs))
        return len(self.inputs) + len(self._instructions) - 1

    def formula(self, *outputs: Term) -> Formula:
        """All of it."""
        made = tuple(x if isinstance(x, int) else self("copy", x) for x in outputs)
        return Formula(self.inputs, tuple(self._instructions), made)


# The instruction behind which a value is one of an element type, as float32.
_ROUNDINGS: Mapping[DType, str] = MappingProxyType({DType.FLOAT16: "to_float16", DType.BFLOAT16: "to_bfloat16"})
_COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))

Make = Callable[[Writer, Node, tuple[Term, ...]], Term]
RowMake = Callable[[Writer, Graph, Node, tuple[Term, ...]], "Term | Refusal"]


def formula_of(
    graph: Graph,
    inputs: tuple[str, ...],
    nodes: tuple[Node, ...],
    outputs: tuple[str, ...],
    rows: Mapping[str, RowMake] = MappingProxyType({}),
) -> Formula | Refusal:
    """The formula of elementwise operators of a graph, and of such as go along rows.

    Args:
        graph: has the constants; those of one element become numbers.
        inputs: the values that come from outside.
        nodes: the operators, in execution order.
        outputs: the values that are given out.
        rows: the operators along rows that may be among them (``rowwise.OPERATORS``).
    """
    write = Writer(inputs)
    known: dict[str, Term] = {name: index for index, name in enumerate(inputs)}
    read = {name for node in nodes for name in node.inputs}
    for node in nodes:
        own = node.domain in ("", "ai.onnx")
        make, row = OPERATORS.get(node.op) if own else None, rows.get(node.op) if own else None
        if make is None and row is None:
            return Refusal(node.op, "no vector instructions are known for it")
        for name in node.inputs:
            value = graph.values.get(name)
            if name in known or not name or value is None or value.constant is None:
                continue
            if row is not None and value.constant.dtype.is_integer:
                known[name] = ABSENT  # axes, which the operator looks up itself
                continue
            if value.constant.elements != 1 or not value.constant.available:
                return Refusal(node.op, f"constant {name} has {value.constant.elements} elements")
            known[name] = float(value.constant.array().reshape(-1)[0])
        if any(name and name not in known for name in node.inputs):
            return Refusal(node.op, "an input comes from an operator that is not elementwise")
        terms = tuple(known[name] if name else ABSENT for name in node.inputs)
        integers = [name for name in node.inputs if isinstance(known.get(name), int) and integer_of(graph, name)]
        if integers and node.op == "Cast":
            if integer_of(graph, node.outputs[0]):
                return Refusal(node.op, "from integers to integers; formulas are computed in float32")
            terms = (write("copy", *terms),)
        elif integers and (node.op not in _COMPARISONS or any(name not in inputs for name in integers)):
            dtype = integer_of(graph, integers[0])
            return Refusal(node.op, f"{integers[0]} is {dtype}; formulas are computed in float32")
        result: Term | Refusal = ABSENT
        if node.op == "Cast" and node.outputs[0] not in read:
            result = terms[0]  # storing casts
        elif make is not None:
            result = make(write, node, terms)
        elif row is not None:
            result = row(write, graph, node, terms)
        if isinstance(result, Refusal):
            return result
        known[node.outputs[0]] = result
    if any(name not in known for name in outputs):
        return Refusal(nodes[-1].op, "gives more than one result")
    return write.formula(*(known[name] for name in outputs))


def integer_of(graph: Graph, name: str) -> str:
    """The element type of a value of integers; "" for others."""
    found = graph.tensor(name) if name else None
    return found.dtype.label if found is not None and found.dtype.is_integer else ""


def number(node: Node, name: str, default: float) -> float:
    """A float attribute."""
    found = node.attributes.get(name, default)
    return float(found) if isinstance(found, int | float) else default


def _plain(op: str) -> Make:
    return lambda write, node, x: write(op, *x)


def _folded(op: str) -> Make:
    """An operator of any number of inputs, two at a time."""

    def make(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
        total = x[0]
        for term in x[1:]:
            total = write(op, total, term)
        return total

    return make


def _pow(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    """A square is a product, a power of one half a root."""
    if isinstance(x[1], float) and x[1] in (2.0, 0.5):
        return write("mul", x[0], x[0]) if x[1] == 2.0 else write("sqrt", x[0])
    return write("pow", *x)


def _mean(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("mul", _folded("add")(write, node, x), 1.0 / len(x))


def _relu(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("max", x[0], 0.0)


def _leaky_relu(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    low = write("mul", write("min", x[0], 0.0), number(node, "alpha", 0.01))
    return write("add", write("max", x[0], 0.0), low)


def _prelu(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("add", write("max", x[0], 0.0), write("mul", write("min", x[0], 0.0), x[1]))


def _elu(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    low = write("sub", write("exp", write("min", x[0], 0.0)), 1.0)
    return write("add", write("max", x[0], 0.0), write("mul", low, number(node, "alpha", 1.0)))


def _sigmoid(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("div", 1.0, write("add", write("exp", write("neg", x[0])), 1.0))


def _silu(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    scaled = write("mul", x[0], number(node, "alpha", 1.0))
    return write("div", x[0], write("add", write("exp", write("neg", scaled)), 1.0))


def _hard_sigmoid(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    line = write("add", write("mul", x[0], number(node, "alpha", 0.2)), number(node, "beta", 0.5))
    return write("min", write("max", line, 0.0), 1.0)


def _hard_swish(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    line = write("add", write("mul", x[0], 1 / 6), 0.5)
    return write("mul", x[0], write("min", write("max", line, 0.0), 1.0))


def _softplus(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    """max(x, 0) + log(1 + exp(-|x|)), which never overflows."""
    tail = write("exp", write("neg", write("abs", x[0])))
    return write("add", write("max", x[0], 0.0), write("log", write("add", tail, 1.0)))


def _mish(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("mul", x[0], write("tanh", _softplus(write, node, x)))


def _gelu(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    if node.attributes.get("approximate", "none") in ("tanh", b"tanh"):
        cube = write("mul", write("mul", x[0], x[0]), x[0])
        inner = write("mul", write("add", x[0], write("mul", cube, 0.044715)), sqrt(2 / pi))
        part = write("tanh", inner)
    else:
        part = write("erf", write("mul", x[0], 1 / sqrt(2)))
    return write("mul", write("mul", x[0], 0.5), write("add", part, 1.0))


def _clip(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    """Bounds are inputs since opset 11, attributes before; NaN stands for an absent one."""
    total, *bounds = x
    given = [*bounds, *(number(node, name, ABSENT) for name in ("min", "max")[len(bounds) :])]
    for op, bound in zip(("max", "min"), given, strict=True):
        if isinstance(bound, int) or not isnan(bound):
            total = write(op, total, bound)
    return total


def _reciprocal(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("div", 1.0, x[0])


def _not(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return write("sub", 1.0, x[0])


def _cast(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    """Rounds, cuts off what is behind the point, or says whether it is something."""
    to = DType(node.integer("to", DType.FLOAT32))
    if to in _ROUNDINGS:
        return write(_ROUNDINGS[to], x[0])
    if to == DType.BOOL:
        return write("not_equal", x[0], 0.0)
    return write("truncate", x[0]) if to.is_integer else x[0]


def _same(write: Writer, node: Node, x: tuple[Term, ...]) -> Term:
    return x[0]


OPERATORS: Mapping[str, Make] = MappingProxyType(
    {
        **{onnx: _plain(op) for onnx, op in (
            ("Sub", "sub"), ("Div", "div"), ("Neg", "neg"), ("Abs", "abs"), ("Exp", "exp"),
            ("Log", "log"), ("Sqrt", "sqrt"), ("Erf", "erf"), ("Tanh", "tanh"), ("Sin", "sin"), ("Cos", "cos"),
            ("Floor", "floor"), ("Ceil", "ceil"), ("Round", "round"), ("Sign", "sign"), ("Where", "select"),
            ("Equal", "equal"), ("Less", "less"), ("LessOrEqual", "less_equal"), ("Greater", "greater"),
            ("GreaterOrEqual", "greater_equal"), ("And", "min"), ("Or", "max"),
        )},
        **{onnx: _folded(op) for onnx, op in (
            ("Add", "add"), ("Sum", "add"), ("Mul", "mul"), ("Max", "max"), ("Min", "min"),
        )},
        "Mean": _mean,
        "Pow": _pow,
        "Relu": _relu,
        "LeakyRelu": _leaky_relu,
        "PRelu": _prelu,
        "Elu": _elu,
        "Sigmoid": _sigmoid,
        "Swish": _silu,
        "HardSigmoid": _hard_sigmoid,
        "HardSwish": _hard_swish,
        "Softplus": _softplus,
        "Mish": _mish,
        "Gelu": _gelu,
        "Clip": _clip,
        "Reciprocal": _reciprocal,
        "Not": _not,
        "Identity": _same,
        "Cast": _cast,
    }
)  # fmt: skip
