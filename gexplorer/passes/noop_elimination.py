"""Operators that, with these shapes and constants, give their input."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class NoopElimination(Pass):
    """Removes nodes that copy: same type in and out, and an operator that then changes no element.

    before:  y = Expand(x: float32[2, 3], [2, 3]); z = Mul(y, 1.0); w = Relu(z)
    after:   w = Relu(x)

    Adding 0.0 to a float stays: it turns -0.0 into 0.0. What adds nothing is -0.0.
    """

    name = "noop_elimination"
    ge_name = "NoUseReshapeRemovePass"
    order = 220
    messages = Map(
        same_shape=Message("{node} ({op}) gives its input: both are {type}"),
        neutral=Message("{node} ({op}) gives its input: the other operand is {constant} everywhere"),
        single=Message("{node} ({op}) has one operand and gives it unchanged"),
        part=Message("{node} ({op}) cuts its input into one part"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """One sweep in program order, since the constant that makes one node idle may come through another."""
        if draft.opsets.get("", 0) < 7:
            return
        for node in draft.candidates(*_CHECKS):
            current = draft.current(node)
            if current is None or node.domain:
                continue
            found = _CHECKS[node.op](current, draft)
            if found is None or not _same_type(current, found[0], draft):
                continue
            source, code, parameters = found
            with log.rewrite(node, code, op=node.op, **parameters):
                draft.replace_uses(current.outputs[0], source)
                draft.remove(current)


Found = tuple[str, str, Mapping[str, object]] | None


def _same_type(node: Node, source: str, draft: Draft) -> bool:
    """True when output and source are tensors of one known type, and no other output is used."""
    if any(draft.use_count(output) for output in node.outputs[1:] if output):
        return False
    before, after = draft.tensor(source), draft.tensor(node.outputs[0])
    if before is None or after is None or before.shape is None or before != after:
        return False
    return all(dim is not None for dim in before.shape)


def _same_shape(node: Node, draft: Draft) -> Found:
    return node.inputs[0], "same_shape", {"type": str(draft.tensor(node.outputs[0]))}


def _single_operand(node: Node, draft: Draft) -> Found:
    return (node.inputs[0], "single", {}) if len(node.inputs) == 1 else None


def _single_part(node: Node, draft: Draft) -> Found:
    return (node.inputs[0], "part", {}) if len(node.outputs) == 1 else None


def _whole_slice(node: Node, draft: Draft) -> Found:
    """A slice as long as its input is the input if it steps forward."""
    if len(node.inputs) > 4 and node.inputs[4]:
        steps = draft.constant_of(node.inputs[4])
        if steps is None or not steps.is_small or (steps.array() < 1).any():
            return None
    return _same_shape(node, draft)


def _no_padding(node: Node, draft: Draft) -> Found:
    """Padding that adds nothing on any side; negative padding elsewhere could hide in an equal shape."""
    pads = node.integers("pads")
    if pads is None and len(node.inputs) > 1:
        constant = draft.constant_of(node.inputs[1])
        pads = tuple(constant.array().reshape(-1)) if constant is not None and constant.is_small else None
    return _same_shape(node, draft) if pads is not None and not any(pads) else None


def _identity_permutation(node: Node, draft: Draft) -> Found:
    """The permutation that moves nothing; left out, it is the reverse, which moves something from rank 2 on."""
    perm = node.integers("perm")
    type_ = draft.tensor(node.inputs[0])
    rank = type_.rank if type_ is not None else None
    still = rank is not None and rank < 2 if perm is None else list(perm) == sorted(perm)
    return _same_shape(node, draft) if still else None


def _neutral(neutral: float, *, either_side: bool) -> Callable[[Node, Draft], Found]:
    def check(node: Node, draft: Draft) -> Found:
        for side in (1, 0) if either_side else (1,):
            constant = draft.constant_of(node.inputs[side])
            if constant is None or not constant.is_small or constant.elements > 64 or constant.elements == 0:
                continue
            if constant.dtype in (DType.STRING, DType.BOOL):
                continue
            if _is_all(constant, neutral):
                return node.inputs[1 - side], "neutral", {"constant": neutral}
        return None

    return check


def _is_all(constant: Constant, number: float) -> bool:
    """True when every element is the number; among floats, 0.0 and -0.0 are two."""
    import numpy as np

    array = constant.array()
    if constant.dtype.is_integer:
        return bool((array == number).all())
    wide = array.astype(np.float64)
    return bool((wide == number).all() and (np.signbit(wide) == np.signbit(number)).all())


_CHECKS: Mapping[str, Callable[[Node, Draft], Found]] = {
    "Cast": _same_shape,
    "CastLike": _same_shape,
    "Reshape": _same_shape,
    "Flatten": _same_shape,
    "Squeeze": _same_shape,
    "Unsqueeze": _same_shape,
    "Expand": _same_shape,
    "Tile": _same_shape,
    "Slice": _whole_slice,
    "Pad": _no_padding,
    "Transpose": _identity_permutation,
    "Concat": _single_operand,
    "Sum": _single_operand,
    "Max": _single_operand,
    "Min": _single_operand,
    "Split": _single_part,
    "Mul": _neutral(1, either_side=True),
    "Div": _neutral(1, either_side=False),
    "Add": _neutral(-0.0, either_side=True),
    "Sub": _neutral(0, either_side=False),
}
