"""Reads the text form of a graph (``ir/text.py`` describes it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from immutables import Map

from gexplorer.errors import ModelError
from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import POSITION_STEP
from gexplorer.ir.graph import (
    NO_ATTRIBUTES,
    Floats,
    Graph,
    Graphs,
    Ints,
    Node,
    OpaqueAttribute,
    Strings,
    Value,
    make_graph,
    serial_of,
)
from gexplorer.ir.literals import read_constant, read_type
from gexplorer.ir.tokens import Cursor
from gexplorer.ir.types import TensorType, Type

_Item = TypeVar("_Item")

_INDENT = 2
_DEEPEST = 100  # levels of indentation


def from_text(text: str) -> Graph:
    """The graph that a text means. What the graph says is not checked beyond that; ``verify`` does it.

    Raises:
        ModelError: "line N: ..." where the text cannot be read.
    """
    open_: list[_GraphLines | _NodeLines] = []
    root: _GraphLines | None = None
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip(" \r")
        if not content or content.startswith("//"):
            continue
        cursor = Cursor(content, number)
        spaces = len(line) - len(line.lstrip(" "))
        if spaces % _INDENT:
            raise cursor.error("indentation is two spaces a level")
        depth = spaces // _INDENT
        if root is None:
            if depth:
                raise cursor.error("the outermost graph is not indented")
            root = _read_header(cursor, Map(), lambda _: None)
            open_.append(root)
            continue
        if not 0 < depth <= min(len(open_), _DEEPEST):
            raise cursor.error("indented too far" if depth else "a text holds one outermost graph")
        while len(open_) > depth:
            open_.pop().close()
        around = open_[-1]
        opened = around.read(cursor)
        cursor.end()
        if opened is not None:
            open_.append(opened)
    if root is None:
        raise ModelError("line 1: there is no graph")
    while len(open_) > 1:
        open_.pop().close()
    return root.graph()


@dataclass(slots=True)
class _GraphLines:
    """A graph while its lines are read."""

    name: str
    opsets: Map[str, int]
    done: Callable[[_GraphLines], None]
    inputs: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    nodes: dict[str, Node | None] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)
    defaults: dict[str, Constant] = field(default_factory=dict)
    next_position: int = 0
    serial: int = 0

    def read(self, cursor: Cursor) -> _NodeLines | None:
        """Reads one line of the graph."""
        if cursor.token in ("%", "=") or cursor.following in (",", "="):
            return self._read_node(cursor)
        kind = cursor.take()
        if kind == "input":
            value = _read_value(cursor)
            self._define(cursor, value)
            self.inputs.append(value.name)
            if cursor.accept("default"):
                self.defaults[value.name] = read_constant(cursor)
        elif kind == "constant":
            value = _read_value(cursor)
            cursor.expect("=")
            data = read_constant(cursor)
            obvious = value.type is None and value.declared is None
            type_ = TensorType(data.dtype, data.shape) if obvious else value.type
            self._define(cursor, Value(value.name, type_, "", data, value.declared))
        elif kind == "output":
            cursor.expect("%")
            name = cursor.name()
            self.outputs.append(name)
            self.output_names.append(cursor.name() if cursor.accept("as") else name)
        else:
            raise cursor.error(f"{kind!a} starts no line of a graph")
        return None

    def close(self) -> None:
        """Hands the finished graph to where it belongs."""
        self.done(self)

    def graph(self) -> Graph:
        """The finished graph."""
        inputs = [self.values.pop(name) for name in self.inputs]
        return make_graph(
            self.name,
            inputs=inputs,
            nodes=[node for node in self.nodes.values() if node is not None],
            values=self.values.values(),
            outputs=tuple(self.outputs),
            output_names=tuple(self.output_names),
            opsets=self.opsets,
            defaults=Map(self.defaults),
            serial=self.serial,
        )

    def _define(self, cursor: Cursor, value: Value) -> None:
        if value.name in self.values:
            raise cursor.error(f"value {value.name!a} is defined twice")
        self.values[value.name] = value
        self.serial = max(self.serial, serial_of(value.name) + 1)

    def _read_node(self, cursor: Cursor) -> _NodeLines:
        results: list[Value | None] = []
        while not cursor.accept("="):
            if results:
                cursor.expect(",")
            results.append(None if cursor.accept("_") else _read_value(cursor))
        op = cursor.name()
        domain = ""
        if cursor.accept("<"):
            domain = cursor.name()
            cursor.expect(">")
        inputs = _read_operands(cursor)
        attributes = _read_attributes(cursor)
        cursor.expect("#")
        name = cursor.name()
        if name in self.nodes:
            raise cursor.error(f"node {name!a} is defined twice")
        self.nodes[name] = None  # keeps its place until its own lines are read
        self.serial = max(self.serial, serial_of(name) + 1)
        partition = cursor.name() if cursor.accept("part") else ""
        position = cursor.integer() if cursor.accept("at") else self.next_position
        self.next_position = position + POSITION_STEP
        origin = _read_origin(cursor) if cursor.accept("from") else (name,)
        scope = cursor.name() if cursor.accept("in") else ""
        for value in results:
            if value is not None:
                self._define(cursor, Value(value.name, value.type, name, None, value.declared))
        outputs = tuple([value.name if value is not None else "" for value in results])
        node = Node(
            name,
            op,
            inputs,
            outputs,
            domain=domain,
            origin=origin,
            position=position,
            scope=scope,
            partition=partition,
        )
        return _NodeLines(node, attributes, self)


@dataclass(slots=True)
class _NodeLines:
    """A node while the lines of its graphs are read."""

    node: Node
    attributes: dict[str, object]
    around: _GraphLines
    lists: dict[str, list[Graph]] = field(default_factory=dict)
    body: Graph | None = None
    has_body: bool = False

    def read(self, cursor: Cursor) -> _GraphLines:
        """Reads the header of a graph of the node."""
        if cursor.token == "body" and cursor.following == "graph":
            cursor.take()
            if self.has_body:
                raise cursor.error("a node has one body")
            self.has_body = True
            return _read_header(cursor, self.around.opsets, self._set_body)
        name = cursor.name()
        if cursor.accept("+"):
            cursor.expect("=")
            if name in self.attributes and name not in self.lists:
                raise cursor.error(f"attribute {name!a} is given twice")
            graphs = self.lists.setdefault(name, [])
            self.attributes[name] = graphs
            return _read_header(cursor, self.around.opsets, lambda g: graphs.append(self._finish(g)))
        cursor.expect("=")
        if name in self.attributes:
            raise cursor.error(f"attribute {name!a} is given twice")
        self.attributes[name] = None
        return _read_header(cursor, self.around.opsets, lambda g: self._set_attribute(name, g))

    def close(self) -> None:
        """Puts the node into its graph."""
        for name, graphs in self.lists.items():
            self.attributes[name] = Graphs(graphs)
        attributes = Map(self.attributes) if self.attributes else NO_ATTRIBUTES
        self.around.nodes[self.node.name] = replace(self.node, attributes=attributes, body=self.body)

    def _set_attribute(self, name: str, lines: _GraphLines) -> None:
        self.attributes[name] = self._finish(lines)

    def _set_body(self, lines: _GraphLines) -> None:
        self.body = self._finish(lines)

    def _finish(self, lines: _GraphLines) -> Graph:
        self.around.serial = max(self.around.serial, lines.serial)
        return lines.graph()


def _read_header(cursor: Cursor, around: Map[str, int], done: Callable[[_GraphLines], None]) -> _GraphLines:
    cursor.expect("graph")
    name = cursor.name()
    if not cursor.accept("opset"):
        cursor.end()
        return _GraphLines(name, around, done)
    cursor.expect("(")
    opsets: dict[str, int] = {}
    while not cursor.accept(")"):
        if opsets:
            cursor.expect(",")
        domain = ""
        if cursor.following == "=":
            domain = cursor.name()
            cursor.expect("=")
        if domain in opsets:
            raise cursor.error(f"the opset of domain {domain!a} is given twice")
        opsets[domain] = cursor.integer()
    cursor.end()
    return _GraphLines(name, Map(opsets), done)


def _read_value(cursor: Cursor) -> Value:
    """A value with its types."""
    cursor.expect("%")
    name = cursor.name()
    if not name:
        raise cursor.error("a value has an empty name")
    type_ = read_type(cursor) if cursor.accept(":") else None
    declared: Type | None = None
    if cursor.accept("declared"):
        same = cursor.token in ("", ",", "=", "default")
        declared = type_ if same else read_type(cursor)
    return Value(name, type_, declared=declared)


def _read_operands(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    names: list[str] = []
    while not cursor.accept(")"):
        if names:
            cursor.expect(",")
        if cursor.accept("_"):
            names.append("")
        else:
            cursor.expect("%")
            names.append(cursor.name())
    return tuple(names)


def _read_origin(cursor: Cursor) -> tuple[str, ...]:
    if cursor.accept("("):
        cursor.expect(")")
        return ()
    names = [cursor.name()]
    while cursor.accept(","):
        names.append(cursor.name())
    return tuple(names)


def _read_attributes(cursor: Cursor) -> dict[str, object]:
    attributes: dict[str, object] = {}
    if not cursor.accept("{"):
        return attributes
    while not cursor.accept("}"):
        if attributes:
            cursor.expect(",")
        name = cursor.name()
        if name in attributes:
            raise cursor.error(f"attribute {name!a} is given twice")
        cursor.expect("=")
        attributes[name] = _read_attribute(cursor)
    return attributes


_EMPTY = {"ints": Ints(), "floats": Floats(), "strings": Strings(), "graphs": Graphs()}


def _read_attribute(cursor: Cursor) -> object:
    if cursor.accept("["):
        return _read_list(cursor)
    if cursor.is_string():
        return cursor.string()
    if cursor.is_integer():
        return cursor.integer()
    if cursor.following == "[":
        if cursor.token not in _EMPTY:
            return read_constant(cursor)
        empty = _EMPTY[cursor.take()]
        cursor.expect("[")
        cursor.expect("]")
        return empty
    if cursor.accept("opaque"):
        return OpaqueAttribute(cursor.hexadecimal())
    return _read_float(cursor)


def _read_list(cursor: Cursor) -> Ints | Floats | Strings:
    if cursor.is_string():
        return Strings(_read_items(cursor, cursor.string))
    if cursor.is_integer():
        return Ints(_read_items(cursor, cursor.integer))
    return Floats(_read_items(cursor, lambda: _read_float(cursor)))


def _read_items(cursor: Cursor, read: Callable[[], _Item]) -> list[_Item]:
    items = [read()]
    while not cursor.accept("]"):
        cursor.expect(",")
        items.append(read())
    return items


def _read_float(cursor: Cursor) -> float:
    token = cursor.take()
    try:
        return float(token)
    except ValueError:
        raise cursor.error(f"{token[:40]!a} is no value of an attribute") from None
