"""A node of the vector unit: a chain of elementwise operators, with or without reductions of rows."""

from __future__ import annotations

from math import prod

from gexplorer.kernels.described import Described
from gexplorer.kernels.formula import Refusal, formula_of
from gexplorer.kernels.part import CUTS, VIEWS, Part
from gexplorer.kernels.rowwise import OPERATORS as ROWS
from gexplorer.kernels.rowwise import row_axes
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel


def describe_vector(part: Part) -> Described | Refusal | None:
    """The kernel of a part without products; None where it has views or cuts that no formula is known for."""
    formula = formula_of(part.graph, part.inputs, part.nodes, part.outputs, ROWS)
    if isinstance(formula, Refusal):
        return None if any(node.op in VIEWS | CUTS for node in part.nodes) else formula
    refusal = part.wrong_type(integers=True)
    if refusal is not None:
        return refusal
    merged = _merged_axes(part)
    if isinstance(merged, Refusal):
        return merged
    shapes = {name: _flat(part.known(name), merged) for name in part.names}
    computed = list(shapes.values())
    for node in part.nodes:
        if node.op not in ROWS:
            continue
        computed.append(_flat(part.known(node.inputs[0]), merged))
        if node.op.startswith("Reduce") and not node.integer("keepdims", 1):
            if part.users(node.outputs[0]):
                return Refusal(node.op, "drops its axis in the middle of the kernel")
            shapes[node.outputs[0]] = (*part.known(node.outputs[0]), 1)  # in the program it has length 1
    rank = max(len(shape) for shape in (*computed, *shapes.values()))
    whole = tuple(
        max(sizes) for sizes in zip(*(_padded(shape, rank) for shape in computed if len(shape) == rank), strict=True)
    )
    inputs = tuple(_tensor(part, f"in{i}", name, shapes, rank) for i, name in enumerate(part.inputs))
    outputs = tuple(_tensor(part, f"out{i}", name, shapes, rank) for i, name in enumerate(part.outputs))
    for tensor, name in zip(outputs, part.outputs, strict=True):
        if tensor.shape != whole and not (formula.reduces and tensor.shape == (*whole[:-1], 1)):
            return Refusal(part.op, f"{part.outside[name]} is smaller than another result of the kernel")
    return Described(
        VectorKernel(whole, formula, inputs, outputs),
        tuple((tensor.name, part.outside[name]) for tensor, name in zip(inputs, part.inputs, strict=True)),
        tuple((tensor.name, part.outside[name]) for tensor, name in zip(outputs, part.outputs, strict=True)),
        tuple((node.name, "vector") for node in part.nodes),
    )


def _padded(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def _tensor(part: Part, buffer: str, name: str, shapes: dict[str, tuple[int, ...]], rank: int) -> Tensor:
    return Tensor(buffer, _padded(shapes[name], rank), part.tensor(name).dtype)


def _merged_axes(part: Part) -> int | Refusal:
    """How many of the last axes are one row, the same for all operators along rows."""
    found: set[int] = {1}
    for node in part.nodes:
        if node.op in ROWS:
            count = row_axes(part.graph, node)
            if isinstance(count, Refusal):
                return count
            found.add(count)
    most = max(found)
    if most == 1:
        return 1
    if len(found) > 2 or any(node.op in ROWS and row_axes(part.graph, node) != most for node in part.nodes):
        return Refusal(part.op, "its operators go along different numbers of axes")
    gone = {
        name
        for node in part.nodes
        if node.op in ROWS and node.op.startswith("Reduce") and not node.integer("keepdims", 1)
        for name in node.outputs
    }
    rows = {part.known(node.inputs[0])[-most:] for node in part.nodes if node.op in ROWS}
    shapes = [part.known(name) for name in part.names if name not in gone]
    if len(rows) > 1 or any(prod(shape[-most:]) > 1 and shape[-most:] not in rows for shape in shapes):
        return Refusal(part.op, "a tensor is repeated along some of the axes that are reduced")
    return most


def _flat(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The last axes as one."""
    return shape if count == 1 or len(shape) < count else (*shape[:-count], prod(shape[-count:]))
