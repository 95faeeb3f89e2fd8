"""A node of the vector unit: a chain of elementwise operators, with or without reductions of rows."""

from __future__ import annotations

from gexplorer.kernels.described import Described
from gexplorer.kernels.formula import Refusal, formula_of
from gexplorer.kernels.part import Part
from gexplorer.kernels.rowwise import OPERATORS as ROWS
from gexplorer.kernels.vector_kernel import Tensor, VectorKernel


def describe_vector(part: Part) -> Described | Refusal:
    """The kernel of a part without products."""
    formula = formula_of(part.graph, part.inputs, part.nodes, part.outputs, ROWS)
    if isinstance(formula, Refusal):
        return formula
    refusal = part.wrong_type()
    if refusal is not None:
        return refusal
    shapes = {name: part.known(name) for name in part.names}
    computed = list(shapes.values())
    for node in part.nodes:
        if node.op not in ROWS:
            continue
        computed.append(part.known(node.inputs[0]))
        if node.op.startswith("Reduce") and not node.integer("keepdims", 1):
            if part.users(node.outputs[0]):
                return Refusal(node.op, "drops its axis in the middle of the kernel")
            shapes[node.outputs[0]] = (*shapes[node.outputs[0]], 1)  # in the program it has length 1
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
    )


def _padded(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def _tensor(part: Part, buffer: str, name: str, shapes: dict[str, tuple[int, ...]], rank: int) -> Tensor:
    return Tensor(buffer, _padded(shapes[name], rank), part.tensor(name).dtype)
