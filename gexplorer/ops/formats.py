"""Storage formats of the cube unit: physical shapes, and TransData as a graph of ONNX operators.

Source of the layouts: GE's ``ge::Format`` and dumps (a real one shows NCHW [1, 64, 112, 112] stored as NC1HWC0
[1, 4, 112, 112, 16]). C0 is 32 bytes of elements: 16 for float16, 32 for int8; 8 for float32 is inferred from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from immutables import Map

from gexplorer.ir.constant import constant
from gexplorer.ir.graph import Graph, Ints, Node, Value, make_graph
from gexplorer.ir.symbols import Dim
from gexplorer.ir.types import TensorType

BLOCK_BYTES = 32  # one row of a fractal
FRACTAL_ROWS = 16
DOMAIN = "ge"


@dataclass(frozen=True, slots=True)
class Layout:
    """How one tensor is stored in a format: pad, split, permute, join.

    Attributes:
        padded: the logical shape with blocked dimensions rounded up; one dimension may be -1 (not known).
        split: the padded shape with blocked dimensions split into blocks.
        perm: permutation of the split dimensions.
        stored: the physical shape.
    """

    padded: tuple[int, ...]
    split: tuple[int, ...]
    perm: tuple[int, ...]
    stored: tuple[int, ...]


def layout_of(type_: TensorType, format_: str) -> Layout | None:
    """The layout of a tensor in a format, None where the format does not fit or too little is known.

    Args:
        type_: logical type; at most the first dimension may be unknown before run time.
        format_: ``NC1HWC0``, ``FRACTAL_Z`` or ``FRACTAL_NZ``.
    """
    block = BLOCK_BYTES * 8 // type_.dtype.bits if type_.dtype.bits else 0
    if type_.shape is None or not block:
        return None
    dims = [d if isinstance(d, int) else -1 for d in type_.shape]
    if any(d == -1 for d in dims[1:]) or 0 in dims:
        return None
    build = _LAYOUTS.get(format_)
    return build(dims, block) if build is not None else None


def stored_type(type_: TensorType, format_: str) -> TensorType | None:
    """The physical type of a tensor in a format, None where it has none."""
    layout = layout_of(type_, format_)
    if layout is None or type_.shape is None:
        return None
    shape: tuple[Dim, ...] = tuple(type_.shape[0] if d == -1 else d for d in layout.stored)
    return TensorType(type_.dtype, shape, format_)


def trans_data_body(type_: TensorType, format_: str, opsets: Mapping[str, int], *, back: bool) -> Graph:
    """What TransData computes, in ONNX operators: into the format, or ``back`` out of it.

    Raises:
        ValueError: the tensor has no layout in that format.
    """
    layout, stored = layout_of(type_, format_), stored_type(type_, format_)
    if layout is None or stored is None:
        raise ValueError(f"{type_} has no layout {format_}")
    chain = _Chain("TransData", stored if back else type_, opsets)
    shape = tuple(d if isinstance(d, int) else -1 for d in type_.shape or ())
    if back:
        order = sorted(range(len(layout.perm)), key=layout.perm.__getitem__)
        chain.reshape(tuple(layout.split[axis] for axis in layout.perm))
        chain.add("Transpose", perm=Ints(order))
        chain.reshape(layout.padded)
        chain.slice(shape, layout.padded)
    else:
        chain.pad(shape, layout.padded)
        chain.reshape(layout.split)
        chain.add("Transpose", perm=Ints(layout.perm))
        chain.reshape(layout.stored)
    return chain.finish(type_ if back else stored)


def in_formats(
    node: Node,
    inputs: list[TensorType | None],
    output: TensorType,
    formats: tuple[str, ...],
    opsets: Mapping[str, int],
) -> Graph:
    """A body that takes stored inputs, computes a node on the logical tensors, and stores the output.

    Args:
        node: the operator, with one output.
        inputs: logical types of its inputs, None for an absent one.
        output: logical type of its output.
        formats: format of each input, then of the output; ``ND`` leaves a tensor as it is.
        opsets: version of each operator domain.
    """
    nodes: list[Node] = []
    values: list[Value] = []
    formals: list[Value] = []
    actual: list[str] = []
    for index, (type_, format_) in enumerate(zip(inputs, formats, strict=False)):
        if type_ is None:
            actual.append("")
            continue
        if format_ == "ND":
            formals.append(Value(f"in{index}", type_))
            actual.append(f"in{index}")
            continue
        formals.append(Value(f"in{index}", stored_type(type_, format_)))
        body = trans_data_body(type_, format_, opsets, back=True)
        nodes.append(trans_data(f"unpack{index}", f"in{index}", f"x{index}", format_, body, back=True))
        values.append(Value(f"x{index}", type_, producer=f"unpack{index}"))
        actual.append(f"x{index}")
    computed = "y" if formats[-1] != "ND" else "out"
    nodes.append(replace(node, name="compute", inputs=tuple(actual), outputs=(computed,), position=len(nodes)))
    values.append(Value(computed, output, producer="compute"))
    if formats[-1] != "ND":
        body = trans_data_body(output, formats[-1], opsets, back=False)
        nodes.append(trans_data("pack", "y", "out", formats[-1], body, back=False))
        values.append(Value("out", stored_type(output, formats[-1]), producer="pack"))
    nodes = [replace(n, position=i) for i, n in enumerate(nodes)]
    return make_graph(node.op, inputs=formals, nodes=nodes, values=values, outputs=("out",), opsets=opsets)


def trans_data(name: str, source: str, result: str, format_: str, body: Graph, *, back: bool) -> Node:
    """A TransData node between the plain order and a format."""
    formats = (format_, "ND") if back else ("ND", format_)
    attributes = Map({"src_format": formats[0], "dst_format": formats[1]})
    return Node(name, "TransData", (source,), (result,), attributes, DOMAIN, body=body)


def _nc1hwc0(dims: list[int], block: int) -> Layout | None:
    if len(dims) != 4:
        return None
    n, c, h, w = dims
    c1 = -(-c // block)
    return Layout((n, c1 * block, h, w), (n, c1, block, h, w), (0, 1, 3, 4, 2), (n, c1, h, w, block))


def _fractal_z(dims: list[int], block: int) -> Layout | None:
    if len(dims) != 4 or dims[0] == -1:
        return None
    n, c, h, w = dims
    n1, c1 = -(-n // FRACTAL_ROWS), -(-c // block)
    return Layout(
        (n1 * FRACTAL_ROWS, c1 * block, h, w),
        (n1, FRACTAL_ROWS, c1, block, h, w),
        (2, 4, 5, 0, 1, 3),
        (c1 * h * w, n1, FRACTAL_ROWS, block),
    )


def _fractal_nz(dims: list[int], block: int) -> Layout | None:
    if len(dims) < 2 or -1 in dims[-2:]:
        return None
    *batch, m, n = dims
    m1, n1, k = -(-m // FRACTAL_ROWS), -(-n // block), len(batch)
    return Layout(
        (*batch, m1 * FRACTAL_ROWS, n1 * block),
        (*batch, m1, FRACTAL_ROWS, n1, block),
        (*range(k), k + 2, k, k + 1, k + 3),
        (*batch, n1, m1, FRACTAL_ROWS, block),
    )


_LAYOUTS: Mapping[str, Callable[[list[int], int], Layout | None]] = {
    "NC1HWC0": _nc1hwc0,
    "FRACTAL_Z": _fractal_z,
    "FRACTAL_NZ": _fractal_nz,
}


class _Chain:
    """Builds a graph in which each operator feeds the next; steps that would do nothing are left out."""

    def __init__(self, name: str, start: TensorType, opsets: Mapping[str, int]) -> None:
        self._name = name
        self._opsets = opsets
        self._input = Value("x", start)
        self._current = "x"
        self._shape = tuple(d if isinstance(d, int) else -1 for d in start.shape or ())
        self._nodes: list[Node] = []
        self._values: list[Value] = []

    def add(self, op: str, *constants: tuple[int, ...], **attributes: object) -> None:
        import numpy as np

        number = len(self._nodes)
        names: list[str] = []
        for index, items in enumerate(constants):
            data = constant(np.array(items, np.int64))
            names.append(f"c{number}_{index}")
            self._values.append(Value(names[-1], TensorType(data.dtype, data.shape), constant=data))
        result = f"v{number}"
        inputs = (self._current, *names)
        self._nodes.append(Node(f"n{number}", op, inputs, (result,), Map(attributes), position=number))
        self._values.append(Value(result, None, producer=f"n{number}"))
        self._current = result
        self._shape = ()

    def reshape(self, shape: tuple[int, ...]) -> None:
        if shape != self._shape:
            self.add("Reshape", shape)
            self._shape = shape

    def pad(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        if before != after:
            self.add("Pad", (*(0 for _ in before), *(b - a for a, b in zip(before, after, strict=True))))
            self._shape = after

    def slice(self, wanted: tuple[int, ...], current: tuple[int, ...]) -> None:
        axes = tuple(axis for axis, (a, b) in enumerate(zip(wanted, current, strict=True)) if a != b)
        if axes:
            self.add("Slice", tuple(0 for _ in axes), tuple(wanted[axis] for axis in axes), axes)

    def finish(self, end: TensorType) -> Graph:
        if not self._nodes:
            self.add("Identity")
        self._values[-1] = replace(self._values[-1], type=end)
        return make_graph(
            self._name,
            inputs=[self._input],
            nodes=self._nodes,
            values=self._values,
            outputs=(self._current,),
            opsets=self._opsets,
        )
