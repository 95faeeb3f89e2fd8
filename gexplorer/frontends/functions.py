"""Model-local functions are inlined before anything else is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError

if TYPE_CHECKING:
    import onnx

    _Key = tuple[str, str, str]

# Functions that call functions can make exponentially many nodes of a small file.
MOST_NODES = 1_000_000

_PLACE_IN_CPP = re.compile(r"^\S+\.cc:\d+: \w+: (Assertion `.*?` failed: )?")


def inline(proto: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """A model without functions. Raises ModelError where they call each other in a circle, or too often."""
    import onnx.inliner

    _require_bounded(proto, name)
    proto = _with_one_version(proto)
    try:
        inlined = onnx.inliner.inline_local_functions(proto, convert_version=True)
    except Exception as error:  # whatever onnx's C++ has against the functions
        why = _PLACE_IN_CPP.sub("", " ".join(str(error).split()))[:200] or type(error).__name__
        raise ModelError(f"{name}: its functions cannot be inlined: {why}") from None
    functions = {_key(function, function.name) for function in proto.functions}
    for node in _nodes(inlined.graph.node):
        if _key(node, node.op_type) in functions:
            raise ModelError(f"{name}: function {node.domain}.{node.op_type} cannot be inlined")
    return inlined


def _key(holder: onnx.NodeProto | onnx.FunctionProto, name: str) -> _Key:
    return (holder.domain, name, holder.overload)


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterable[onnx.NodeProto]:
    """Nodes, and those of the graphs nested in them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                yield from _nodes(attribute.g.node)
            for graph in attribute.graphs:
                yield from _nodes(graph.node)


def _require_bounded(proto: onnx.ModelProto, name: str) -> None:
    bodies = {_key(function, function.name): function.node for function in proto.functions}
    sizes: dict[_Key, int] = {}
    open_: list[_Key] = []

    def size(nodes: Iterable[onnx.NodeProto]) -> int:
        total = 0
        for node in _nodes(nodes):
            total += size_of(_key(node, node.op_type)) if _key(node, node.op_type) in bodies else 1
        return total

    def size_of(key: _Key) -> int:
        if key in open_:
            cycle = " -> ".join(f"{domain}.{function}" for domain, function, _ in (*open_[open_.index(key) :], key))
            raise ModelError(f"{name}: its functions call each other in a circle: {cycle}")
        if key not in sizes:
            open_.append(key)
            sizes[key] = size(bodies[key])
            open_.pop()
        return sizes[key]

    if size(proto.graph.node) > MOST_NODES:
        raise ModelError(f"{name}: with its functions inlined it would have more than {MOST_NODES:,} nodes")


def _with_one_version(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with one version of each domain of functions: a local function has none, but onnx compares them."""
    import onnx

    domains = {function.domain for function in proto.functions}
    versions = {entry.domain: entry.version for entry in proto.opset_import}
    wrong = [
        (index, place)
        for index, function in enumerate(proto.functions)
        for place, entry in enumerate(function.opset_import)
        if entry.domain in domains and entry.version != versions.get(entry.domain, entry.version)
    ]
    if wrong:
        copy = onnx.ModelProto()
        copy.CopyFrom(proto)
        for index, place in wrong:
            entry = copy.functions[index].opset_import[place]
            entry.version = versions[entry.domain]
        return copy
    return proto
