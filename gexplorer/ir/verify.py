"""The invariants of a graph, checked: of all of it, or of what some changes touched.

``verify`` raises VerifyError with the node (or value) at fault and the reason unless

- every name in use is defined once, in the graph or around it, and no graph defines a name of one around it;
- producer and outputs agree both ways, and so do the indexes (users, operators, nested graphs) and the nodes;
- there is no cycle;
- the results are defined, and their outside names differ;
- types have no negative dimension, constants have the type of their value, attributes are of a known kind;
- the same holds in nested graphs, and in the bodies of fused nodes, which use nothing from around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gexplorer.errors import VerifyError
from gexplorer.ir.constant import ArraySource, Constant, FileSource
from gexplorer.ir.draft import Change, changed_nodes
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import (
    Floats,
    Graph,
    Graphs,
    Ints,
    Node,
    OpaqueAttribute,
    Strings,
    Value,
    program_key,
)
from gexplorer.ir.nameset import EMPTY, NameSet
from gexplorer.ir.symbols import Symbol
from gexplorer.ir.types import OpaqueType, OptionalType, SequenceType, TensorType, Type


def verify(graph: Graph) -> None:
    """Checks an outermost graph and all within. Raises VerifyError at the first thing that is wrong."""
    _verify(graph, ())


def verify_changes(graph: Graph, changes: Iterable[Change]) -> None:
    """Checks what some changes touched, for the graph that they led to; costs what they touched.

    The graph before must have been valid. Not looked for: a value whose name a nested graph has already, and
    a cycle through an edge that was against program order before (``graph.order`` finds it).
    """
    changes = tuple(changes)
    inputs = frozenset(graph.inputs)
    scope = _Scope(graph.nodes, graph.values, graph.users, graph.by_op, graph.nested, inputs, ())
    crossed = False
    for old, new in changed_nodes(changes):
        if old is not None:
            _check_forgotten(scope, old)
        if new is not None:
            known = _inner(old) if old is not None else ()
            _check_node(scope, new.name, graph.nodes[new.name], known)
            crossed = crossed or _crosses(scope, old, new)
    for change in changes:
        if change.kind == "value":
            old_value = change.old if isinstance(change.old, Value) else None
            _check_changed_value(scope, change.name, old_value)
            if change.name in graph.defaults and change.name in graph.values:
                _check_default(graph.values[change.name], graph.defaults[change.name])
    _check_outputs(graph, scope)
    if crossed:
        _ = graph.order


@dataclass(frozen=True, slots=True)
class _Scope:
    """The parts of a graph that checks look into, and the values of the graphs around it."""

    nodes: Mapping[str, Node]
    values: Mapping[str, Value]
    users: Mapping[str, NameSet]
    by_op: Mapping[str, NameSet]
    nested: NameSet | frozenset[str]
    inputs: frozenset[str]
    around: tuple[Mapping[str, Value], ...]

    def find(self, name: str) -> Value | None:
        """The value of a name, here or around."""
        for values in (self.values, *self.around):
            if name in values:
                return values[name]
        return None


def _verify(graph: Graph, around: tuple[Mapping[str, Value], ...]) -> None:
    nodes, values, users = dict(graph.nodes), dict(graph.values), dict(graph.users)
    inputs = frozenset(graph.inputs)
    scope = _Scope(nodes, values, users, graph.by_op, frozenset(graph.nested), inputs, around)
    _check_inputs(graph, scope)
    for name, value in values.items():
        _check_value(scope, name, value)
    uses = nested = 0
    for name, node in nodes.items():
        uses += _check_node(scope, name, node, ())
        nested += name in scope.nested
    if uses != sum(map(len, users.values())):
        _find_false_user(scope)
    if len(nodes) != sum(map(len, graph.by_op.values())) or nested != len(graph.nested):
        _find_false_entry(graph)
    _check_outputs(graph, scope)
    _ = graph.order


def _check_inputs(graph: Graph, scope: _Scope) -> None:
    if len(scope.inputs) != len(graph.inputs):
        raise VerifyError(_first_double(graph.inputs), "is an input twice")
    for name in graph.inputs:
        if name not in scope.values:
            raise VerifyError(name, "is an input, but not a value of the graph")
    for name, default in graph.defaults.items():
        if name not in scope.inputs:
            raise VerifyError(name, "has a default, but is not an input")
        _check_default(scope.values[name], default)
        _check_source(name, default)


def _check_default(value: Value, default: Constant) -> None:
    type_ = value.type
    if isinstance(type_, TensorType) and type_.dtype != default.dtype:
        raise VerifyError(value.name, f"has a default of type {default.dtype.label}, but is {type_}")


def _check_outputs(graph: Graph, scope: _Scope) -> None:
    for name in graph.outputs:
        if scope.find(name) is None:
            raise VerifyError(name, "is a result of the graph, but nothing defines it")
    if len(graph.outputs) != len(graph.output_names):
        counts = f"{len(graph.outputs)} results, but {len(graph.output_names)} outside names for them"
        raise VerifyError(graph.name, f"has {counts}")
    if len(set(graph.output_names)) < len(graph.output_names):
        raise VerifyError(_first_double(graph.output_names), "is the outside name of two results")


def _check_value(scope: _Scope, name: str, value: Value) -> None:
    if value.name != name:
        raise VerifyError(name, f"holds the value named {value.name}")
    is_input = name in scope.inputs
    if value.producer:
        node = scope.nodes.get(value.producer)
        if node is None:
            raise VerifyError(name, f"its producer {value.producer} does not exist")
        if name not in node.outputs:
            raise VerifyError(name, f"is not among the outputs of its producer {node.name}")
        if is_input or value.constant is not None:
            other = "an input" if is_input else "a constant"
            raise VerifyError(name, f"is made by {node.name}, but is {other} too")
    elif value.constant is not None:
        if is_input:
            raise VerifyError(name, "is an input and a constant")
        _check_constant(name, value.constant, value.type)
    elif not is_input:
        raise VerifyError(name, "is neither an input nor a constant, and no node makes it")
    if scope.around and any(name in values for values in scope.around):
        raise VerifyError(name, "has the name of a value of a graph around")
    if value.type is not None:
        _check_type(name, value.type)
    if value.declared is not None and value.declared is not value.type:
        _check_type(name, value.declared)


def _check_changed_value(scope: _Scope, name: str, old: Value | None) -> None:
    value = scope.values.get(name)
    if value is not None:
        _check_value(scope, name, value)
    else:
        for user in scope.users.get(name, EMPTY):
            raise VerifyError(user, f"uses {name}, which nothing defines")
    if old is not None and old.producer and (value is None or value.producer != old.producer):
        node = scope.nodes.get(old.producer)
        if node is not None and name in node.outputs:
            raise _not_made(node.name, name, value)


def _check_node(scope: _Scope, name: str, node: Node, known: tuple[Graph, ...]) -> int:
    """Checks one node, its inner graphs too unless they are ``known``; returns how many values it uses."""
    if node.name != name:
        raise VerifyError(name, f"holds the node named {node.name}")
    graphs = node.graphs if node.attributes else ()
    if node.attributes:
        _check_attributes(node)
        for graph in graphs:
            if not any(graph is other for other in known):
                _verify_inner(node, graph, (scope.values, *scope.around))
    uses = dict.fromkeys(node.uses if graphs or "" in node.inputs else node.inputs)
    for use in uses:
        if use not in scope.values and scope.find(use) is None:
            raise VerifyError(name, f"uses {use}, which nothing defines")
        if name not in scope.users.get(use, EMPTY):
            raise VerifyError(name, f"uses {use}, but is not among its users")
    for output in node.outputs:
        if output:
            value = scope.values.get(output)
            if value is None or value.producer != name:
                raise _not_made(name, output, value)
    if len(node.outputs) > 1:
        outputs = [output for output in node.outputs if output]
        if len(set(outputs)) < len(outputs):
            raise VerifyError(name, f"makes {_first_double(outputs)} twice")
    if name not in scope.by_op.get(node.op, EMPTY):
        raise VerifyError(name, f"is not among the nodes of operator {node.op}")
    if (name in scope.nested) != bool(graphs):
        raise VerifyError(name, f"is {'not ' if graphs else ''}listed as having nested graphs")
    if node.body is not None and not any(node.body is other for other in known):
        _check_body(scope, node, node.body)
    return len(uses)


def _not_made(node: str, output: str, value: Value | None) -> VerifyError:
    if value is None:
        return VerifyError(node, f"makes {output}, which is not a value of the graph")
    other = f"node {value.producer} makes" if value.producer else "is an input or a constant"
    return VerifyError(node, f"makes {output}, which {other}{' too' if value.producer else ''}")


def _verify_inner(node: Node, graph: Graph, around: tuple[Mapping[str, Value], ...]) -> None:
    try:
        _verify(graph, around)
    except VerifyError as error:
        raise VerifyError(error.node, f"{error.why} (in graph {graph.name} of node {node.name})") from None


def _check_body(scope: _Scope, node: Node, body: Graph) -> None:
    _verify_inner(node, body, ())
    sides = (("input", node.inputs, body.inputs), ("output", node.outputs, body.outputs))
    for kind, outside, inside in sides:
        if len(outside) != len(inside):
            raise VerifyError(node.name, f"has {len(outside)} {kind}s, but its body has {len(inside)}")
        for name, inner in zip(outside, inside, strict=True):
            value = scope.find(name) if name else None
            if value is not None and not _agree(value.type, body.values[inner].type):
                types = f"{value.type}, but {body.values[inner].type} in the body"
                raise VerifyError(node.name, f"its {kind} {name} is {types}")


def _agree(a: Type | None, b: Type | None) -> bool:
    """False where two types of one value contradict each other; shapes in different formats may differ."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a is None or b is None or type(a) is type(b)
    if a.dtype != b.dtype:
        return False
    if a.shape is None or b.shape is None or a.format != b.format:
        return True
    if len(a.shape) != len(b.shape):
        return False
    pairs = zip(a.shape, b.shape, strict=True)
    return not any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs)


def _check_type(name: str, type_: Type) -> None:
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    if isinstance(type_, TensorType):
        for dim in type_.shape or ():
            if dim.__class__ is int:
                if dim < 0:  # pyright: ignore[reportOptionalOperand, reportOperatorIssue]
                    raise VerifyError(name, f"its type {type_} has a negative dimension")
            elif dim is not None and dim.__class__ is not Symbol:
                raise VerifyError(name, f"its type {type_} has a dimension that is a {type(dim).__name__}")
    elif type(type_) is not OpaqueType:
        raise VerifyError(name, f"its type is a {type(type_).__name__}")


def _check_constant(name: str, data: Constant, type_: Type | None) -> None:
    if not isinstance(type_, TensorType) or type_.dtype != data.dtype or type_.shape != data.shape:
        raise VerifyError(name, f"its type is {type_ or 'unknown'}, but it is the constant {data}")
    _check_source(name, data)


def _check_source(name: str, data: Constant) -> None:
    """Compares what a source says without reading it with what the constant says."""
    source = data.source
    if isinstance(source, FileSource):
        if source.nbytes != data.nbytes:
            sizes = f"{data.nbytes} bytes, but its part of the file has {source.nbytes}"
            raise VerifyError(name, f"takes {sizes}")
    elif isinstance(source, ArraySource):
        array = source.array()
        strings = data.dtype == DType.STRING
        fits = array.dtype.kind in "OUST" if strings else array.dtype == data.dtype.numpy()
        if array.shape != data.shape or not fits:
            found = f"{array.dtype}{list(array.shape)}"
            raise VerifyError(name, f"is the constant {data}, but its array is {found}")


_SINGLE = (int, float, str, bytes, Graph, Constant, OpaqueAttribute)
_ITEMS: dict[type, tuple[type, ...]] = {
    Ints: (int,),
    Floats: (float,),
    Strings: (str, bytes),
    Graphs: (Graph,),
}


def _check_attributes(node: Node) -> None:
    for name, value in node.attributes.items():
        if isinstance(value, Ints | Floats | Strings | Graphs):
            items = _ITEMS[type(value)]
            for item in value:
                if not isinstance(item, items):
                    why = f"a {type(item).__name__} in a list of kind {type(value).__name__}"
                    raise VerifyError(node.name, f"attribute {name} has {why}")
        elif not isinstance(value, _SINGLE):
            raise VerifyError(node.name, f"attribute {name} is a {type(value).__name__}")


def _check_forgotten(scope: _Scope, old: Node) -> None:
    """Nothing may be left of the former state of a node."""
    name = old.name
    node = scope.nodes.get(name)
    uses = node.uses if node is not None else ()
    for use in old.uses:
        if use not in uses and name in scope.users.get(use, EMPTY):
            raise VerifyError(name, f"is among the users of {use}, but does not use it")
    if (node is None or node.op != old.op) and name in scope.by_op.get(old.op, EMPTY):
        raise VerifyError(name, f"is among the nodes of operator {old.op}, but is none")
    if node is None and name in scope.nested:
        raise VerifyError(name, "is listed as a node with nested graphs, but does not exist")
    for output in old.outputs:
        if output and (node is None or output not in node.outputs):
            value = scope.values.get(output)
            if value is not None and value.producer == name:
                why = "does not exist" if node is None else "does not make it"
                raise VerifyError(output, f"its producer {name} {why}")


def _crosses(scope: _Scope, old: Node | None, new: Node) -> bool:
    """True when an edge of a changed node goes against program order; only such edges can close a cycle."""
    key = program_key(new)
    for use in new.uses:
        value = scope.values.get(use)
        if value is not None and value.producer and program_key(scope.nodes[value.producer]) >= key:
            return True
    if old is not None and old.position == new.position and old.outputs == new.outputs:
        return False
    users = [user for output in new.outputs if output for user in scope.users.get(output, EMPTY)]
    return any(program_key(scope.nodes[user]) <= key for user in users)


def _inner(node: Node) -> tuple[Graph, ...]:
    return node.graphs if node.body is None else (*node.graphs, node.body)


def _find_false_user(scope: _Scope) -> None:
    for value, users in scope.users.items():
        for user in users:
            if user not in scope.nodes or value not in scope.nodes[user].uses:
                raise VerifyError(user, f"is among the users of {value}, but does not use it")
        if len(set(users)) < len(users):
            raise VerifyError(value, "lists one of its users twice")


def _find_false_entry(graph: Graph) -> None:
    for op, names in graph.by_op.items():
        for name in names:
            if name not in graph.nodes or graph.nodes[name].op != op:
                raise VerifyError(name, f"is among the nodes of operator {op}, but is none")
        if len(set(names)) < len(names):
            raise VerifyError(op, "lists one of its nodes twice")
    for name in graph.nested:
        if name not in graph.nodes:
            raise VerifyError(name, "is listed as a node with nested graphs, but does not exist")
    raise VerifyError(_first_double(graph.nested), "is listed twice as a node with nested graphs")


def _first_double(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""
