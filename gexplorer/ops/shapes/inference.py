"""Symbolic shape inference: one sweep over a graph, from its inputs and constants alone.

What the file declares of inner values is a hint that may be false, and is not believed.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping

from immutables import Map

from gexplorer.errors import VerifyError
from gexplorer.ir.constant import Constant
from gexplorer.ir.graph import Graph, Node, Value
from gexplorer.ir.symbols import Dim, Symbol, substitute, symbol
from gexplorer.ir.types import OptionalType, SequenceType, TensorType, Type
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, constant_fact
from gexplorer.ops.shapes.registry import SHAPE_FUNCTIONS, Call
from gexplorer.ops.shapes.schema import has_schema_rule, infer_by_schema

Constants = Callable[[str], Constant | None]
Nested = Callable[[str, Graph, tuple[Fact, ...]], tuple[Fact, ...]]

# What ONNX writes dimensions and elements of shapes as are signed 64-bit integers.
MOST_ELEMENTS = (1 << 63) - 1

# The label of a fused node's body among the nested graphs; attributes have names.
BODY = ""


class Facts(dict[str, Fact]):
    """Facts by value name, and those of nested graphs by node name and label (attribute name, ``BODY``)."""

    def __init__(self) -> None:
        super().__init__()
        self.nested: dict[tuple[str, str], Facts] = {}


def infer_graph(graph: Graph, bindings: Mapping[str, Dim] = Map(), outer: Mapping[str, Fact] = Map()) -> Facts:
    """Facts of every value of a graph.

    An input's unknown dimension gets a name (``x_d0``), so that what follows from it can be told.

    Args:
        graph: the graph; its inputs' types are believed.
        bindings: what symbols of the inputs' types stand for.
        outer: facts of values around the graph that it uses.

    Raises:
        VerifyError: a node's inputs cannot be, whatever the run.
    """
    inputs = tuple(Fact(bound_type(type_, bindings)) if type_ is not None else UNKNOWN for type_ in named_inputs(graph))
    return _Sweep(graph, outer, lambda _: None, strict=True).run(inputs)


def infer_node(
    node: Node,
    inputs: tuple[Fact | None, ...],
    opsets: Mapping[str, int],
    constant: Callable[[int], Constant | None],
    nested: Nested | None = None,
) -> tuple[Fact, ...]:
    """Facts of a node's outputs from those of its inputs (None: absent).

    Raises VerifyError where the inputs cannot be, whatever the run.
    """
    call = Call(node, inputs, opsets.get(node.domain, 1 << 30), opsets, constant, nested or _closed(opsets))
    if node.body is not None:
        facts = call.nested(BODY, node.body, tuple(fact or UNKNOWN for fact in inputs))
    else:
        function = SHAPE_FUNCTIONS.get((node.domain, node.op), infer_by_schema)
        facts = function(call)
    _require_possible(node, facts)
    missing = len(node.outputs) - len(facts)
    return facts + (UNKNOWN,) * missing if missing > 0 else facts


def has_shape_rule(node: Node) -> bool:
    """Whether anything says which types a node's results have: a rule of ours, or ONNX's own.

    False for operators that ONNX does not define, or says nothing of.
    """
    if node.body is not None or (node.domain, node.op) in SHAPE_FUNCTIONS:
        return True
    return has_schema_rule(node.op, node.domain)


def _require_possible(node: Node, facts: tuple[Fact, ...]) -> None:
    for fact in facts:
        if isinstance(fact.type, TensorType):
            for dim in fact.type.shape or ():
                if dim.__class__ is int and dim > MOST_ELEMENTS:  # pyright: ignore[reportOptionalOperand, reportOperatorIssue]
                    raise VerifyError(node.name, f"{node.op}: no tensor has a dimension of {dim}")


def named_inputs(graph: Graph) -> tuple[Type | None, ...]:
    """The types of the inputs, each unknown dimension of a tensor named after the input and its axis."""
    taken = {atom for name in graph.inputs for atom in _atoms(graph.values[name].type)}
    types: list[Type | None] = []
    for name in graph.inputs:
        type_ = graph.values[name].type
        if isinstance(type_, TensorType) and type_.shape is not None and None in type_.shape:
            dims: list[Dim] = []
            for axis, dim in enumerate(type_.shape):
                dims.append(symbol(_fresh(f"{name}_d{axis}", taken)) if dim is None else dim)
            type_ = type_.with_shape(tuple(dims))
        types.append(_unnamed_elements(type_))
    return tuple(types)


def _unnamed_elements(type_: Type | None, *, inside: bool = False) -> Type | None:
    """The type without symbols inside sequences, whose elements may differ in size."""
    if isinstance(type_, TensorType) and inside and type_.shape is not None:
        return type_.with_shape(tuple(dim if isinstance(dim, int) else None for dim in type_.shape))
    if isinstance(type_, (SequenceType, OptionalType)):
        element = _unnamed_elements(type_.element, inside=inside or isinstance(type_, SequenceType))
        return type_ if element is None else type(type_)(element)
    return type_


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _atoms(type_: Type | None) -> frozenset[str]:
    if not isinstance(type_, TensorType):
        return frozenset()
    return frozenset(atom for dim in type_.shape or () if isinstance(dim, Symbol) for atom in dim.atoms)


def bound_type(type_: Type, bindings: Mapping[str, Dim]) -> Type:
    """The type with symbols replaced."""
    if not bindings:
        return type_
    if isinstance(type_, TensorType):
        if type_.shape is None:
            return type_
        return type_.with_shape(tuple(substitute(dim, bindings) for dim in type_.shape))
    if isinstance(type_, (SequenceType, OptionalType)):
        return type(type_)(bound_type(type_.element, bindings))
    return type_


def _closed(opsets: Mapping[str, int]) -> Nested:
    """Infers nested graphs that use nothing from around."""

    def nested(_: str, graph: Graph, inputs: tuple[Fact, ...]) -> tuple[Fact, ...]:
        sweep = _Sweep(graph, {}, lambda _: None, strict=False, opsets=opsets)
        facts = sweep.run(inputs)
        return tuple(facts.get(name, UNKNOWN) for name in graph.outputs)

    return nested


class _Sweep:
    """One pass over one graph, and over the graphs nested in it."""

    def __init__(
        self,
        graph: Graph,
        outer: Mapping[str, Fact],
        outer_constants: Constants,
        *,
        strict: bool,
        opsets: Mapping[str, int] | None = None,
    ) -> None:
        self._graph = graph
        self._outer = outer
        self._outer_constants = outer_constants
        self._strict = strict
        self._opsets = opsets if opsets is not None else dict(graph.opsets)
        self._facts = Facts()

    def run(self, inputs: tuple[Fact, ...]) -> Facts:
        """Facts of all values, given those of the graph's inputs."""
        graph, facts = self._graph, self._facts
        facts.update(zip(graph.inputs, inputs, strict=False))
        for name, value in graph.values.items():
            if value.constant is not None:
                facts[name] = constant_fact(value.constant)
            elif not value.producer and name not in facts:
                facts[name] = UNKNOWN
        for node in graph.order:
            results = self._infer(node)
            for name, fact in zip(node.outputs, results, strict=False):
                if name:
                    facts[name] = fact
        return facts

    def _infer(self, node: Node) -> tuple[Fact, ...]:
        inputs = tuple([self._fact(name) if name else None for name in node.inputs])
        names, values = node.inputs, self._graph.values

        def constant(index: int) -> Constant | None:
            name = names[index] if index < len(names) else ""
            value = values.get(name)
            return value.constant if value is not None else self._outer_constants(name)

        def nested(label: str, graph: Graph, inputs: tuple[Fact, ...]) -> tuple[Fact, ...]:
            return self._nested(node, label, graph, inputs)

        try:
            facts = infer_node(node, inputs, self._opsets, constant, nested)
        except VerifyError:
            if self._strict:
                raise
            facts = (UNKNOWN,) * len(node.outputs)
        for fact in facts:
            if fact.type is None:
                named = zip(node.outputs, facts, strict=False)
                return tuple(self._declared(name) if fact.type is None else fact for name, fact in named)
        return facts

    def _fact(self, name: str) -> Fact:
        found = self._facts.get(name)
        return self._outer.get(name, UNKNOWN) if found is None else found

    def _declared(self, name: str) -> Fact:
        """Nothing but the declared element type: a shape that is not understood is not believed."""
        value = self._graph.values.get(name)
        declared = value.declared if value is not None else None
        return Fact(declared.with_shape(None)) if isinstance(declared, TensorType) else UNKNOWN

    def _nested(self, node: Node, label: str, graph: Graph, inputs: tuple[Fact, ...]) -> tuple[Fact, ...]:
        # A branch or loop body may never run: what is wrong in there is no fault of the model.
        strict = self._strict and label == BODY
        around: Mapping[str, Fact] = ChainMap(self._facts, self._outer)  # pyright: ignore[reportArgumentType]
        sweep = _Sweep(graph, around, self._constant, strict=strict, opsets=self._opsets)
        facts = self._facts.nested[node.name, label] = sweep.run(inputs)
        return tuple(facts.get(name, around.get(name, UNKNOWN)) for name in graph.outputs)

    def _constant(self, name: str) -> Constant | None:
        value: Value | None = self._graph.values.get(name)
        return value.constant if value is not None else self._outer_constants(name)


def known_contents(facts: Facts) -> dict[str, tuple[Dim, ...]]:
    """Known elements of small integer tensors, nested graphs included (names are unique over all of them)."""
    found = {name: fact.content for name, fact in facts.items() if fact.content is not None}
    for inner in facts.nested.values():
        found |= known_contents(inner)
    return found
