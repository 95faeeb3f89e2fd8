"""A program as plain data, column by column: what the sections ``instructions``, ``kernels`` and ``memory`` hold."""

from __future__ import annotations

from gexplorer.execution.program import Program
from gexplorer.ir.symbols import Dim


def instructions(program: Program) -> dict[str, object]:
    """Tensors and instructions. Tensors are spoken of by number."""
    number = {name: index for index, name in enumerate(program.tensors)}
    tensors, rows = program.tensors.values(), program.instructions
    return {
        "name": program.name,
        "inputs": [number[name] for name in program.inputs],
        "outputs": [[outside, number[name]] for outside, name in program.outputs],
        "tensors": {
            "name": list(number),
            "dtype": [None if t.dtype is None else t.dtype.label for t in tensors],
            "shape": [None if t.shape is None else [dim(d) for d in t.shape] for t in tensors],
            "place": [t.place.value for t in tensors],
            "buffer": [t.buffer for t in tensors],
            "offset_bytes": [t.offset_bytes for t in tensors],
        },
        "instructions": {
            "name": [row.name for row in rows],
            "op": [row.op for row in rows],
            "kernel": [row.kernel for row in rows],
            "spared": [int(row.is_spared) for row in rows],
            "inputs": [[number[name] for name in row.inputs] for row in rows],
            "outputs": [[number[name] for name in row.outputs] for row in rows],
            "first_point": [row.first_point for row in rows],
            "last_point": [row.last_point for row in rows],
            "workspace": [row.workspace for row in rows],
        },
    }


def kernels(program: Program) -> dict[str, object]:
    """The index of the kernels; their models stand one behind the other in ``kernel-models``."""
    return {
        "op": [kernel.op for kernel in program.kernels],
        "domain": [kernel.domain for kernel in program.kernels],
        "engine": [kernel.engine for kernel in program.kernels],
        "bytes": [len(kernel.model) for kernel in program.kernels],
    }


def memory(program: Program) -> dict[str, object]:
    """The plan."""
    buffers = program.buffers
    return {
        "pool_bytes": program.pool_bytes,
        "is_fixed": program.is_fixed,
        "alignment_bytes": program.alignment_bytes,
        "padding_bytes": program.padding_bytes,
        "gap_points": program.gap_points,
        "planner": program.planner,
        "buffers": {
            "name": list(buffers.names),
            "kind": buffers.kind.tolist(),
            "first": buffers.first.tolist(),
            "last": buffers.last.tolist(),
            "size_bytes": buffers.size_bytes.tolist(),
            "offset_bytes": buffers.offset_bytes.tolist(),
        },
    }


def dim(value: Dim) -> int | str | None:
    """A dimension: a number, an expression as text, or nothing."""
    return value if isinstance(value, int) or value is None else str(value)
