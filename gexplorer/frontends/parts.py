"""Parts of a model that are compiled by themselves: by module, or between tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gexplorer.errors import OptionError
from gexplorer.frontends.onnx import SourceModel
from gexplorer.ir.graph import Graph, Node, Value, make_graph


def part_of_scope(graph: Graph, scope: str) -> Graph:
    """The nodes that an exporter wrote for one module, such as ``model.encoder``, and all modules inside it.

    Args:
        graph: a graph whose values have types.
        scope: the module's path.

    Raises:
        OptionError: there is no such module, or a path leaves it and comes back, so that it cannot run by itself.
    """
    inside = [node for node in graph.order if node.scope == scope or node.scope.startswith(f"{scope}.")]
    if not inside:
        known = sorted({node.scope.partition(".")[0] for node in graph.order if node.scope})
        there = f"; the outermost are {', '.join(known[:8])}" if known else "; the model names none"
        raise OptionError(f"part {scope}: no module of this name{there}")
    _require_whole(graph, scope, inside)
    return _cut(graph, scope, inside)


def parts_between(graph: Graph, tensors: Sequence[str]) -> list[Graph]:
    """A pipeline: what the first tensor needs, then what the second needs besides, ..., then the rest.

    Args:
        graph: a graph whose values have types.
        tensors: where to cut, in the order of the pipeline.

    Raises:
        OptionError: no such tensor, or a part would be empty.
    """
    parts: list[Graph] = []
    done: set[str] = set()
    for number, tensor in enumerate(tensors):
        if graph.producer(tensor) is None:
            raise OptionError(f"cut at {tensor}: no node of the graph makes a tensor of this name")
        needed = [node for node in _needed(graph, tensor) if node.name not in done]
        if not needed:
            raise OptionError(f"cut at {tensor}: an earlier cut has all that it needs")
        done.update(node.name for node in needed)
        parts.append(_cut(graph, f"part {number + 1}", needed))
    rest = [node for node in graph.order if node.name not in done]
    if not rest:
        raise OptionError(f"cut at {tensors[-1]}: nothing comes after it")
    return [*parts, _cut(graph, f"part {len(tensors) + 1}", rest)]


def part_model(source: SourceModel, part: Graph, sha256: str) -> SourceModel:
    """A part as a model of its own.

    Args:
        source: the model that it was cut from.
        part: the part.
        sha256: of what the part computes.
    """
    constants = (value.constant for value in part.values.values() if value.constant is not None)
    return replace(
        source,
        name=f"{source.name}/{part.name}",
        sha256=sha256,
        graph=part,
        nodes=len(part),
        weight_bytes=sum(constant.nbytes for constant in constants),
        original=None,
    )


def _needed(graph: Graph, tensor: str) -> list[Node]:
    """The nodes that a tensor depends on, in execution order."""
    waiting, found = [tensor], set[str]()
    while waiting:
        node = graph.producer(waiting.pop())
        if node is not None and node.name not in found:
            found.add(node.name)
            waiting.extend(node.uses)
    return [node for node in graph.order if node.name in found]


def _require_whole(graph: Graph, scope: str, inside: Sequence[Node]) -> None:
    """Raises OptionError where a path leaves the nodes and comes back to them."""
    names = {node.name for node in inside}
    after: dict[str, str] = {}  # a value outside that depends on the part, with the value that it came from
    for node in graph.order:
        if node.name in names:
            back = next((name for name in node.uses if name in after), None)
            if back is not None:
                raise OptionError(
                    f"part {scope}: {after[back]} leaves it and comes back as {back}, so it cannot run by itself"
                )
            continue
        left = next((name for name in node.uses if name in after or _maker(graph, name) in names), None)
        if left is not None:
            after.update(dict.fromkeys(filter(None, node.outputs), after.get(left, left)))


def _maker(graph: Graph, value: str) -> str | None:
    node = graph.producer(value)
    return None if node is None else node.name


def _cut(graph: Graph, name: str, inside: Sequence[Node]) -> Graph:
    names = {node.name for node in inside}
    made = dict.fromkeys(output for node in inside for output in node.outputs if output)
    outside = [
        graph.values[use] for use in dict.fromkeys(use for node in inside for use in node.uses if use not in made)
    ]
    inputs = [value for value in outside if value.constant is None]
    constants = [value for value in outside if value.constant is not None]
    outer = dict(zip(graph.outputs, graph.output_names, strict=True))
    outputs = [v for v in made if v in outer or any(user not in names for user in graph.users.get(v, ()))]
    return make_graph(
        name,
        inputs=[Value(value.name, value.type) for value in inputs],
        nodes=inside,
        values=[*constants, *(graph.values[value] for value in made)],
        outputs=tuple(outputs),
        output_names=tuple(outer.get(value, value) for value in outputs),
        opsets=graph.opsets,
        defaults={value.name: graph.defaults[value.name] for value in inputs if value.name in graph.defaults},
        serial=graph.serial,
    )
