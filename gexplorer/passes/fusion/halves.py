"""Which half of a tensor's last axis a Slice or Split takes."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import tensor_of


def half_of(draft: Draft, node: Node, output: str) -> int | None:
    """0 for the first half of the last axis of the node's input, 1 for the second, None for anything else."""
    whole, part = tensor_of(draft, node.inputs[0]), tensor_of(draft, output)
    if whole is None or part is None or not whole.shape or not part.shape:
        return None
    size, rank = whole.shape[-1], len(whole.shape)
    if not isinstance(size, int) or part.shape[-1] != size // 2 or size % 2:
        return None
    if node.op == "Split":
        in_two = len(node.outputs) == 2 and node.integer("axis", 0) in (-1, rank - 1)
        return node.outputs.index(output) if in_two else None
    starts, steps = _numbers(draft, node, 1, "starts"), _numbers(draft, node, 4, "steps")
    if starts is None or len(starts) != 1 or steps not in ((1,), None):
        return None  # one axis is cut, and as the last one is half as long as before, it is that
    start = starts[0] + size if starts[0] < 0 else starts[0]
    return {0: 0, size // 2: 1}.get(start)


def _numbers(draft: Draft, node: Node, index: int, name: str) -> tuple[int, ...] | None:
    attribute = node.integers(name)
    if attribute is not None:
        return attribute
    data = draft.constant_of(node.inputs[index]) if index < len(node.inputs) else None
    if data is None or not data.is_small:
        return None
    return tuple(int(number) for number in data.array().reshape(-1))
