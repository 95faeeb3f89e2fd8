"""Each operator of a graph as a small ONNX model of its own; operators that do the same share one."""

from __future__ import annotations

from dataclasses import replace

from gexplorer.execution.program import Kernel
from gexplorer.ir.graph import Graph, Node, Value, make_graph, operation_key
from gexplorer.ir.to_onnx import to_onnx
from gexplorer.ir.types import TensorType, Type
from gexplorer.ops.table import lookup


class KernelTable:
    """Collects the kernels of one graph.

    A kernel knows element types and ranks, but no sizes: so layers share kernels, and so do shapes.

    Args:
        graph: an outermost graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._by_key: dict[object, int] = {}
        self._by_model: dict[tuple[str, bytes], int] = {}
        self._kernels: list[Kernel] = []

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels so far, by number."""
        return tuple(self._kernels)

    def number(self, node: Node) -> int:
        """The number of a node's kernel, made where there is none yet."""
        key = self._key(node)
        found = self._by_key.get(key) if key is not None else None
        if found is None:
            found = self._add(node)
            if key is not None:
                self._by_key[key] = found
        return found

    def _key(self, node: Node) -> object:
        operation = operation_key(node) if node.body is None else (id(node.body), node.op)
        if operation is None:
            return None
        names = dict.fromkeys(name for name in node.inputs if name)
        place = {name: index for index, name in enumerate(names)}
        types = tuple(map(self._without_sizes, names))
        results = tuple(self._element(name) for name in node.outputs)
        return (operation, tuple(place.get(name, -1) for name in node.inputs), types, results)

    def _add(self, node: Node) -> int:
        model = self._model(node)
        lowering = lookup(node, [self._type(name) for name in node.inputs], [self._type(name) for name in node.outputs])
        key = (node.op, model)
        found = self._by_model.get(key)
        if found is None:
            found = self._by_model[key] = len(self._kernels)
            domain = "" if node.domain == "ai.onnx" else node.domain
            self._kernels.append(Kernel(node.op, domain, lowering.engine.value, model))
        return found

    def _model(self, node: Node) -> bytes:
        used = tuple(dict.fromkeys(node.uses))
        outputs = tuple(filter(None, node.outputs))
        if node.graphs:  # nested graphs speak of values around them by name
            names = {name: name for name in (*used, *outputs)}
        else:
            names = {name: f"i{index}" for index, name in enumerate(used)}
            names |= {name: f"o{index}" for index, name in enumerate(outputs)}
        alone = replace(
            node,
            name="kernel",
            inputs=tuple(names.get(name, "") for name in node.inputs),
            outputs=tuple(names.get(name, "") for name in node.outputs),
            origin=("kernel",),
            position=0,
            scope="",
            partition="",
        )
        graph = make_graph(
            "kernel",
            inputs=[Value(names[name], self._without_sizes(name)) for name in used],
            nodes=[alone],
            values=[Value(names[name], self._element(name), "kernel") for name in outputs],
            outputs=tuple(names[name] for name in outputs),
            opsets=self._graph.opsets,
        )
        return to_onnx(graph, value_info=False).SerializeToString(deterministic=True)

    def _type(self, name: str) -> Type | None:
        value = self._graph.values.get(name)
        if value is None:
            return None
        if value.constant is not None:
            return TensorType(value.constant.dtype, value.constant.shape)
        return value.type

    def _without_sizes(self, name: str) -> Type | None:
        type_ = self._type(name)
        if isinstance(type_, TensorType) and type_.shape is not None:
            return TensorType(type_.dtype, (None,) * len(type_.shape))
        return type_

    def _element(self, name: str) -> Type | None:
        type_ = self._type(name)
        return TensorType(type_.dtype) if isinstance(type_, TensorType) else type_
