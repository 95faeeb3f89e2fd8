"""Which part of a tensor's last axis a Slice, Split or Gather takes."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import tensor_of


def part_of(draft: Draft, node: Node, output: str) -> tuple[int, int] | None:
    """Where a contiguous part of the last axis of the node's input begins and ends; None for anything else."""
    lengths = _lengths(draft, node, output)
    if lengths is None:
        return None
    whole, length = lengths
    if node.op == "Split":
        start = _split_start(draft, node, output)
    elif node.op == "Slice":
        start = _slice_start(draft, node, whole, 1)
    else:
        return None
    return (start, start + length) if start is not None and start + length <= whole else None


def half_of(draft: Draft, node: Node, output: str) -> int | None:
    """0 for the first half of the last axis of the node's input, 1 for the second, None for anything else."""
    lengths, part = _lengths(draft, node, output), part_of(draft, node, output)
    if lengths is None or part is None or lengths[0] % 2 or lengths[1] * 2 != lengths[0]:
        return None
    return {(0, lengths[1]): 0, (lengths[1], lengths[0]): 1}.get(part)


def every_other_of(draft: Draft, node: Node, output: str) -> int | None:
    """0 for the elements at even places of the last axis, 1 for those at odd ones, None for anything else.

    The last axis of pairs may have been made an axis of its own; then it has length 2, and a Gather or Split takes the
    first or the second.
    """
    whole = tensor_of(draft, node.inputs[0])
    if whole is None or not whole.shape or not isinstance(whole.shape[-1], int):
        return None
    last = len(whole.shape) - 1
    if node.op == "Slice":
        lengths = _lengths(draft, node, output)
        fits = lengths is not None and lengths[0] == 2 * lengths[1]
        start = _slice_start(draft, node, whole.shape[-1], 2) if fits else None
        return start if start in (0, 1) else None
    if whole.shape[-1] != 2:
        return None
    if node.op == "Split":
        return node.outputs.index(output) if len(node.outputs) == 2 and node.integer("axis", 0) in (-1, last) else None
    index = _numbers(draft, node, 1, "indices") if node.op == "Gather" else None
    if index is None or len(index) != 1 or node.integer("axis", 0) not in (-1, last):
        return None
    return index[0] % 2 if -2 <= index[0] < 2 else None


def _lengths(draft: Draft, node: Node, output: str) -> tuple[int, int] | None:
    """How long the last axis is before and after; None where it does not get shorter, or where that is not known."""
    whole, part = tensor_of(draft, node.inputs[0]), tensor_of(draft, output)
    if whole is None or part is None or not whole.shape or not part.shape:
        return None
    before, after = whole.shape[-1], part.shape[-1]
    if not isinstance(before, int) or not isinstance(after, int) or len(whole.shape) != len(part.shape):
        return None
    return (before, after) if after < before else None


def _split_start(draft: Draft, node: Node, output: str) -> int | None:
    whole = tensor_of(draft, node.inputs[0])
    assert whole is not None
    assert whole.shape
    if node.integer("axis", 0) not in (-1, len(whole.shape) - 1):
        return None
    start = 0
    for name in node.outputs[: node.outputs.index(output)]:
        part = tensor_of(draft, name)
        length = part.shape[-1] if part is not None and part.shape else None
        if not isinstance(length, int):
            return None
        start += length
    return start


def _slice_start(draft: Draft, node: Node, size: int, step: int) -> int | None:
    """Where a Slice with that step begins, if it cuts one axis alone: as the last one is shorter then, it is that."""
    starts, steps = _numbers(draft, node, 1, "starts"), _numbers(draft, node, 4, "steps")
    if starts is None or len(starts) != 1 or (steps or (1,)) != (step,):
        return None
    return starts[0] + size if starts[0] < 0 else starts[0]


def _numbers(draft: Draft, node: Node, index: int, name: str) -> tuple[int, ...] | None:
    attribute = node.integers(name)
    if attribute is not None:
        return attribute
    data = draft.constant_of(node.inputs[index]) if index < len(node.inputs) else None
    if data is None or not data.is_small:
        return None
    return tuple(int(number) for number in data.array().reshape(-1))
