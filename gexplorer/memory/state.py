"""Inputs that go on as outputs, such as a KV cache, told by what the graph does with them, not by their names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import TensorType
from gexplorer.ops.traits import is_view

_OWN = ("", "ai.onnx")
_ORT = "com.microsoft"
# Operators whose first input goes into their outputs unchanged, in part or in another order.
_PASSES_ON = frozenset(("Identity", "Transpose", "Cast", "Slice", "Gather", "Split", "Pad"))
# Operators whose first input goes into their output with some places written anew.
_WRITES_INTO = frozenset(("ScatterND", "ScatterElements", "Scatter", "TensorScatter"))
# Operators that take a state at one place and give the next one at another: by operator, output for each input.
_STEPS = {
    ("", "Attention"): {4: 1, 5: 2},
    (_ORT, "Attention"): {4: 1},
    (_ORT, "MultiHeadAttention"): {6: 1, 7: 2},
    (_ORT, "GroupQueryAttention"): {3: 1, 4: 2},
    ("", "LSTM"): {5: 1, 6: 2},
    ("", "GRU"): {5: 1},
    ("", "RNN"): {5: 1},
}


@dataclass(frozen=True, slots=True)
class _Found:
    """A value that a state goes into; ``updated`` once something new has come to it on the way."""

    name: str
    updated: bool


def states_of(graph: Graph) -> frozenset[str]:
    """The inputs that are state.

    Such an input reaches an output of its element type and, as far as known, rank, alike in all dimensions but one at
    most, through operators that only move it, and at least one that updates it: a Concat with something computed, a
    Scatter into it, the past of an attention operator (the present comes out), the initial state of an LSTM, GRU or
    RNN. Fused nodes are looked into, and so are the branches of an If.
    """
    outputs = frozenset(graph.outputs)
    found: set[str] = set()
    for name in graph.inputs:
        source = graph.tensor(name)
        if source is None:
            continue
        for end in _reached(graph, name):
            if end.updated and end.name in outputs and _goes_on_as(source, graph.tensor(end.name)):
                found.add(name)
                break
    return frozenset(found)


def _goes_on_as(source: TensorType, result: TensorType | None) -> bool:
    if result is None or result.dtype is not source.dtype:
        return False
    if source.shape is None or result.shape is None:
        return True  # nothing speaks against it
    if len(source.shape) != len(result.shape):
        return False
    known = [(a, b) for a, b in zip(source.shape, result.shape, strict=True) if a is not None and b is not None]
    return sum(a != b for a, b in known) <= 1


def _reached(graph: Graph, start: str, *, inner: bool = False) -> set[_Found]:
    """All that a value goes into; what comes into an inner graph from outside counts as computed."""
    seen: set[_Found] = set()
    waiting = [_Found(start, updated=False)]
    while waiting:
        current = waiting.pop()
        for user in graph.users.get(current.name, ()):
            for after in _through(graph, graph.nodes[user], current, inner=inner):
                if after.name and after not in seen:
                    seen.add(after)
                    waiting.append(after)
    return seen


def _through(graph: Graph, node: Node, state: _Found, *, inner: bool) -> Iterator[_Found]:
    """What of a node's outputs a state goes into."""
    if node.body is not None:
        for formal, actual in zip(node.body.inputs, node.inputs, strict=False):
            if actual == state.name:
                yield from _ends(node.body, formal, node, state)
        return
    if node.op == "If" and node.domain in _OWN:
        for branch in node.graphs:
            yield from _ends(branch, state.name, node, state)
        return
    domain = "" if node.domain in _OWN else node.domain
    steps = _STEPS.get((domain, node.op))
    if steps is not None:
        for place, output in steps.items():
            if place < len(node.inputs) and node.inputs[place] == state.name and output < len(node.outputs):
                yield _Found(node.outputs[output], updated=True)
    elif domain == "" and node.op == "Concat":
        others = [name for name in node.inputs if name != state.name]
        yield _Found(node.outputs[0], state.updated or any(_is_computed(graph, name, inner=inner) for name in others))
    elif node.inputs and node.inputs[0] == state.name:
        if domain == "" and node.op in _WRITES_INTO:
            yield _Found(node.outputs[0], updated=True)
        elif (domain == "" and node.op in _PASSES_ON) or is_view(node):
            yield from (_Found(name, state.updated) for name in node.outputs)


def _ends(inner: Graph, start: str, node: Node, state: _Found) -> Iterator[_Found]:
    """The outputs of a node that a value of the graph inside it goes into."""
    for end in (_Found(start, updated=False), *_reached(inner, start, inner=True)):
        for result, output in zip(inner.outputs, node.outputs, strict=False):
            if result == end.name:
                yield _Found(output, state.updated or end.updated)


def _is_computed(graph: Graph, name: str, *, inner: bool) -> bool:
    value = graph.values.get(name)
    if value is None or not (value.producer or value.constant):
        return inner
    return value.constant is None
