"""Writes one ONNX graph the way torch's exporter lays it out.

The exporter lowers one ATen call at a time. Each call becomes a few nodes; the last of them carries the name
and the shape of the call's result, the others are numbered ``val_0``, ``val_1``, …. All nodes of a call have
the path of modules that made it in their metadata, from which viewers recover the hierarchy of the source.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import numpy as np
import onnx_ir as ir

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from gexplorer.frontends.zoo.entry import Dim
    from gexplorer.frontends.zoo.weights import Role, WeightSource

Attribute = int | float | str | tuple[int, ...]
Shape = tuple["Dim", ...]

OPSET = 20
_IR_VERSION = 10


class Writer:
    """Collects nodes, weights and scopes, and closes them into an `onnx_ir.Model`.

    Args:
        root_class: the class of the outermost module, with its Python module in front.
        dtype: float32, float16 or bfloat16: the element type of weights, and of results that name no other.
        weights: where weights come from.
    """

    def __init__(self, root_class: str, *, dtype: str, weights: WeightSource) -> None:
        self.dtype = ir.DataType[{"float32": "FLOAT", "float16": "FLOAT16", "bfloat16": "BFLOAT16"}[dtype]]
        self._weights = weights
        self._inputs: list[ir.Value] = []
        self._outputs: list[ir.Value] = []
        self._nodes: list[ir.Node] = []
        self._initializers: dict[str, ir.Value] = {}
        self._constants: dict[tuple[object, ...], ir.Value] = {}
        self._sizes: dict[str, ir.Value] = {}
        self._paths: tuple[str, ...] = ("",)
        self._classes: tuple[str, ...] = (root_class,)
        self._call = ""
        self._metadata: dict[str, str] = {}
        self._times_called: dict[str, int] = {}
        self._values = 0
        self._unexplained = 0

    # Scopes

    @contextmanager
    def module(self, name: str, class_name: str) -> Generator[None, None, None]:
        """A submodule: the attribute ``name`` of the module around it; ``class_name`` is fully qualified."""
        paths, classes = self._paths, self._classes
        self._paths = (*paths, self.path(name))
        self._classes = (*classes, class_name)
        try:
            yield
        finally:
            self._paths, self._classes = paths, classes

    @contextmanager
    def outside_modules(self) -> Generator[None, None, None]:
        """For what the exporter itself adds, such as reading the size of an input."""
        paths, classes = self._paths, self._classes
        self._paths = self._classes = ("_empty_nn_module_stack_from_metadata_hook",)
        try:
            yield
        finally:
            self._paths, self._classes = paths, classes

    @contextmanager
    def call(self, target: str, name: str | None = None) -> Generator[None, None, None]:
        """One call of an operator, such as ``aten.slice.Tensor``; its nodes share scope and result name."""
        before = self._call, self._metadata
        name = name or target.split(".")[1]
        times = self._times_called.get(name, 0)
        self._times_called[name] = times + 1
        self._call = f"{name}_{times}" if times else name
        paths, classes = [*self._paths, self._call], [*self._classes, target]
        self._metadata = {
            "namespace": "/".join(f"{path}: {owner}" for path, owner in zip(paths, classes, strict=True)),
            "pkg.torch.onnx.class_hierarchy": repr(classes),
            "pkg.torch.onnx.name_scopes": repr(paths),
        }
        try:
            yield
        finally:
            self._call, self._metadata = before

    def path(self, name: str) -> str:
        """The full name of a parameter or submodule of the current module."""
        return f"{self._paths[-1]}.{name}" if self._paths[-1] else name

    # Nodes

    def op(self, op_type: str, *inputs: ir.Value, **attributes: Attribute) -> ir.Value:
        """An inner node of the current call; its output is numbered and has no declared shape."""
        number = self._next_number()
        output = ir.Value(name=f"val_{number}")
        self._node(op_type, inputs, attributes, (output,), f"node_{op_type}_{number}")
        return output

    def result(
        self,
        op_type: str,
        *inputs: ir.Value,
        shape: Shape,
        dtype: ir.DataType | None = None,
        **attributes: Attribute,
    ) -> ir.Value:
        """The last node of the current call; its output has the call's name, ``shape`` and ``dtype``."""
        output = self._declared(self._call, shape, self.dtype if dtype is None else dtype)
        self._node(op_type, inputs, attributes, (output,), f"node_{self._call}")
        return output

    def results(
        self,
        op_type: str,
        *inputs: ir.Value,
        shape: Shape,
        dtypes: tuple[ir.DataType, ...],
        **attributes: Attribute,
    ) -> tuple[ir.Value, ...]:
        """As `result`, for a node with several outputs of the same shape."""
        outputs = tuple(self._declared(f"{self._call}_output_{i}", shape, dtype) for i, dtype in enumerate(dtypes))
        self._node(op_type, inputs, attributes, outputs, f"node_{self._call}")
        return outputs

    def constant(self, value: float | list[int], dtype: ir.DataType = ir.DataType.INT64) -> ir.Value:
        """A ``Constant`` that all who ask for the same value and type share, as arguments of calls are."""
        key = (tuple(value) if isinstance(value, list) else value, dtype)
        if key not in self._constants:
            self._constants[key] = self.own_constant(value, dtype)
        return self._constants[key]

    def own_constant(self, value: float | list[int], dtype: ir.DataType) -> ir.Value:
        """A ``Constant`` that only the current call uses."""
        number = self._next_number()
        tensor = ir.Tensor(np.asarray(value, dtype=dtype.numpy()), dtype=dtype)
        output = ir.Value(name=f"val_{number}")
        self._node("Constant", (), {"value": tensor}, (output,), f"node_Constant_{number}")
        return output

    def ints(self, *values: int) -> ir.Value:
        """A one-dimensional integer ``Constant`` that only the current call uses."""
        return self.op("Constant", value_ints=values)

    # Sizes

    def bind(self, dim: str, size: ir.Value) -> None:
        """Say which scalar holds the size of a named dimension when the model runs."""
        self._sizes[dim] = size

    def size(self, dim: Dim) -> ir.Value:
        """The size of a dimension as an integer scalar."""
        return self.constant(dim) if isinstance(dim, int) else self._sizes[dim]

    def sizes(self, dims: Sequence[Dim | ir.Value]) -> ir.Value:
        """A list of sizes as a one-dimensional tensor, scalars and named sizes put in when the model runs."""
        minus_one = None if all(isinstance(dim, int) for dim in dims) else self.ints(-1)
        parts: list[ir.Value] = []
        for dim in dims:
            if minus_one is None or isinstance(dim, int):
                parts.append(self.ints(cast("int", dim)))
            else:
                scalar = self.size(dim) if isinstance(dim, str) else dim
                parts.append(self.op("Reshape", scalar, minus_one, allowzero=0))
        return self.op("Concat", *parts, axis=0)

    def data_dependent_dim(self) -> str:
        """A new name for a dimension whose size only the data tells."""
        self._unexplained += 1
        return f"u{self._unexplained - 1}"

    # The model's surface

    def input(self, name: str, shape: Shape, dtype: ir.DataType | None = None) -> ir.Value:
        """An input of the model."""
        value = self._declared(name, shape, self.dtype if dtype is None else dtype)
        self._inputs.append(value)
        return value

    def output(self, name: str, value: ir.Value) -> None:
        """Make a value an output of the model, under a name of its own."""
        value.name = name
        self._outputs.append(value)

    def weight(self, name: str, shape: tuple[int, ...], role: Role) -> ir.Value:
        """A parameter of the current module."""
        path = self.path(name)
        return self._initializer(path, self._weights.tensor(path, shape, self.dtype, role))

    def buffer(self, name: str, array: np.ndarray) -> ir.Value:
        """A tensor of the current module whose values the architecture fixes."""
        path = self.path(name)
        return self._initializer(path, ir.Tensor(array, name=path))

    def model(self) -> ir.Model:
        """Everything written so far, as a model."""
        graph = ir.Graph(
            self._inputs,
            self._outputs,
            nodes=self._nodes,
            initializers=tuple(self._initializers.values()),
            opset_imports={"": OPSET},
            name="main_graph",
        )
        return ir.Model(graph, ir_version=_IR_VERSION, producer_name="gexplorer.zoo")

    def _initializer(self, path: str, tensor: ir.TensorProtocol) -> ir.Value:
        value = ir.Value(
            name=path,
            shape=ir.Shape(tensor.shape.numpy()),
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        self._initializers[path] = value
        return value

    def _next_number(self) -> int:
        self._values += 1
        return self._values - 1

    def _declared(self, name: str, shape: Shape, dtype: ir.DataType) -> ir.Value:
        return ir.Value(name=name, shape=ir.Shape(shape), type=ir.TensorType(dtype))

    def _node(
        self,
        op_type: str,
        inputs: Sequence[ir.Value],
        attributes: Mapping[str, Attribute | ir.TensorProtocol],
        outputs: Sequence[ir.Value],
        name: str,
    ) -> None:
        if not self._call:
            raise RuntimeError(f"{name} is written outside of a call; its metadata would be empty")
        written = [_attribute(key, value) for key, value in attributes.items()]
        self._nodes.append(
            ir.Node("", op_type, inputs, written, outputs=outputs, name=name, metadata_props=self._metadata)
        )


def dims_of(value: ir.Value) -> Shape:
    """The declared shape of a value: numbers, and names of dimensions.

    Raises:
        ValueError: the value has no declared shape, as inner values of a call.
    """
    if value.shape is None:
        raise ValueError(f"value {value.name!r} has no declared shape")
    return tuple(dim if isinstance(dim, int) else str(dim.value) for dim in value.shape)


def _attribute(name: str, value: Attribute | ir.TensorProtocol) -> ir.Attr:
    match value:
        case int():
            return ir.AttrInt64(name, value)
        case float():
            return ir.AttrFloat32(name, value)
        case str():
            return ir.AttrString(name, value)
        case tuple():
            return ir.AttrInt64s(name, value)
        case _:
            return ir.AttrTensor(name, value)
