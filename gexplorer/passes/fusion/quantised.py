"""What the rules for 8-bit operands share: the pattern of an operand, and which scales a cube kernel can take out."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import tensor_of
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.rule import Reject
from gexplorer.trace.records import Message

# An operand may have other users: computing it anew costs next to nothing beside the product.
DATA = op.DequantizeLinear("x", name="data", shared=True)
WEIGHTS = op.DequantizeLinear(const("w", wanted="constant weights"), name="weights", shared=True)
QUANT_MESSAGES = Map(
    dtype=Message("{blocker} is {type}; the cube unit multiplies int8", "quantise to 8 bits"),
    scales=Message(
        "{blocker} has scales {type} along axis {axis}: only one scale, or one for each output channel (axis {wanted}),"
        " comes out of the sum",
        "quantise {blocker} with one scale, or by output channel",
    ),
    zero_point=Message(
        "the zero point of {blocker} is not {middle}: the sum would need a correction that depends on the data",
        "quantise symmetrically",
    ),
)


def data_ok(draft: Draft, data: Node) -> Reject | None:
    """The activations must be 8 bits wide with one scale."""
    return _eight_bits(draft, data) or _scales(draft, data, axis=None)


def weights_ok(draft: Draft, weights: Node, axis: int) -> Reject | None:
    """The weights must be 8 bits wide, symmetric, with one scale or one for each entry of an axis."""
    return _eight_bits(draft, weights) or _scales(draft, weights, axis) or _symmetric(draft, weights)


def _eight_bits(draft: Draft, node: Node) -> Reject | None:
    type_ = tensor_of(draft, node.inputs[0])
    if type_ is None or type_.dtype not in (DType.INT8, DType.UINT8) or type_.shape is None:
        return Reject("dtype", node.inputs[0], type=type_ or "of unknown type")
    return None


def _scales(draft: Draft, node: Node, axis: int | None) -> Reject | None:
    type_, scale = tensor_of(draft, node.inputs[0]), tensor_of(draft, node.inputs[1])
    rank = type_.rank or 0 if type_ is not None else 0
    if scale is not None and scale.elements == 1:
        return None
    own = node.integer("axis", 1)
    own += rank if own < 0 else 0
    one_each = scale is not None and scale.rank == 1 and not node.attribute("block_size", 0)
    wanted = "none" if axis is None or not rank else axis % rank
    if one_each and own == wanted:
        return None
    return Reject("scales", node.inputs[0], type=scale or "of unknown type", axis=own, wanted=wanted)


def _symmetric(draft: Draft, node: Node) -> Reject | None:
    weights, _, name = (*node.inputs, "")[:3]
    zero = draft.constant_of(name) if name else None
    middle = 0 if zero is None or zero.dtype == DType.INT8 else 128
    if zero is not None and zero.available and (zero.array() != middle).any():
        return Reject("zero_point", weights, middle=middle)
    return None
