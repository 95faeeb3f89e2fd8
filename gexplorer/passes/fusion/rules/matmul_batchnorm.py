"""A linear layer and the BatchNormalization behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES, Node, joined_origin
from gexplorer.passes.fusion.folding import WeightFolding
from gexplorer.passes.fusion.matcher import Match, tensor_of
from gexplorer.passes.fusion.pattern import op, through
from gexplorer.passes.fusion.rule import Reject
from gexplorer.passes.fusion.rules.conv_batchnorm import NORM_MESSAGES, batch_factor_and_addend, inference_only
from gexplorer.trace.records import Message

if TYPE_CHECKING:
    import numpy as np


class MatMulBatchnorm(WeightFolding):
    """BatchNormalization is computed into the weights of the MatMul or Gemm before it.

    before:  BatchNormalization(Gemm(x, w, b), gamma, beta, mean, var)
    after:   Gemm(x, w * gamma / sqrt(var + eps), (b - mean) * gamma / sqrt(var + eps) + beta)

    What moves the columns to axis 1 may stand between and stays. A MatMul of two matrices becomes a Gemm; one of more
    axes gets an Add behind it.
    """

    name = "matmul_batchnorm"
    order = 667
    kernel = "Gemm"
    layer = "product"
    saves = "The whole BatchNormalization, and one round trip of the product through memory."
    telling = frozenset(("BatchNormalization",))
    pattern = op.BatchNormalization(
        through("Reshape|Transpose|Unsqueeze|Squeeze|Flatten", op("MatMul|Gemm", name="product")),
        *("gamma", "beta", "mean", "var"),
        name="norm",
    )
    messages = Map(
        {
            **NORM_MESSAGES,
            "columns": Message("{blocker} normalises along axis 1, which does not hold the columns of {product}"),
            "in_kernel": Message("{blocker} is one kernel with the transposition or scale of its weights already"),
        }
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The channels must be the columns of the product."""
        product = found.named["product"]
        if product.body is not None:
            return Reject("in_kernel", product.name)
        if _column_axis(found, draft) != 1:
            return Reject("columns", found.root.name, product=product.name)
        return inference_only(found.root, draft) or super().check(found, draft)

    def constants(self, found: Match) -> tuple[str, ...]:
        """The four of BatchNormalization."""
        return tuple(found[name] for name in ("gamma", "beta", "mean", "var"))

    def factor_and_addend(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What BatchNormalization multiplies with and adds; a Gemm multiplies the latter with its own beta."""
        factor, addend = batch_factor_and_addend(found.named["norm"], self.constants(found), draft)
        return factor, addend / _beta(found.named["product"])

    def channels(self, layer: Node, draft: Draft) -> int:
        """The columns of the weights."""
        type_ = tensor_of(draft, layer.inputs[1])
        assert type_ is not None
        assert type_.shape
        columns = type_.shape[-2 if layer.integer("transB", 0) else -1]
        assert isinstance(columns, int)
        return columns

    def scaled(self, layer: Node, weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Along the columns."""
        import numpy as np

        wide = weights.astype(np.float64)
        return wide * factor.reshape(-1, 1) if layer.integer("transB", 0) else wide * factor

    def fuse(self, found: Match, draft: Draft) -> Node:
        """Gives the layer new weights and a bias, and takes the BatchNormalization away."""
        product, norm = found.named["product"], found.named["norm"]
        weights, bias = self.folded(found, draft)
        assert weights is not None
        assert bias is not None
        old = self.read(found)
        _, weights_name, bias_name = (*product.inputs, "")[:3]
        inputs = (product.inputs[0], draft.add_constant(weights, weights_name))
        addend = draft.add_constant(bias, bias_name or f"{product.name}/bias")
        origin = joined_origin(product, norm)
        made = tensor_of(draft, product.outputs[0])
        if product.op == "Gemm" or (made is not None and made.rank == 2):
            attributes = product.attributes if bias_name else product.attributes.set("beta", 1.0)
            attributes = attributes if product.op == "Gemm" else NO_ATTRIBUTES
            new = replace(product, op="Gemm", inputs=(*inputs, addend), attributes=attributes, origin=origin)
            draft.put_node(new)
        else:
            (reader,) = draft.users(product.outputs[0])
            new = draft.update(product, inputs=inputs, origin=origin)
            added = draft.insert(reader, "Add", (product.outputs[0], addend), (made,), origin=norm.origin)
            reader = draft.node(reader.name)
            moved = (added.outputs[0], *reader.inputs[1:])
            draft.update(reader, inputs=moved)
        norm = draft.node(norm.name)
        draft.replace_uses(norm.outputs[0], norm.inputs[0])
        draft.remove(norm)
        for name in dict.fromkeys(old):
            if draft.own_value(name) is not None and not draft.use_count(name):
                draft.drop_value(name)
        return new


def _beta(product: Node) -> float:
    """What a Gemm multiplies its third input with; a new one is given as it is."""
    beta = product.attribute("beta", 1.0) if any(product.inputs[2:]) else 1.0
    return float(beta) if isinstance(beta, int | float) else 1.0


def _column_axis(found: Match, draft: Draft) -> int | None:
    """Which axis of what is normalised holds the columns of the product; None where that is not known."""
    product = found.named["product"]
    made, weights = (tensor_of(draft, name) for name in (product.outputs[0], product.inputs[1]))
    if made is None or not made.rank or weights is None or (weights.rank or 0) < 2:
        return None
    axis: int | None = made.rank - 1
    moves = [node for node in found.nodes if node is not product and node is not found.root]
    for node in reversed(moves):
        axis = _moved(node, axis, draft)
        if axis is None:
            return None
    return axis


def _moved(node: Node, axis: int, draft: Draft) -> int | None:
    """Where an axis goes; through a change of shape, only where that adds or takes axes of length 1."""
    before, after = (tensor_of(draft, name) for name in (node.inputs[0], node.outputs[0]))
    if before is None or after is None or before.shape is None or after.shape is None:
        return None
    if node.op == "Transpose":
        order = node.integers("perm") or tuple(reversed(range(len(before.shape))))
        return order.index(axis)
    kept, left = ([i for i, dim in enumerate(shape) if dim != 1] for shape in (before.shape, after.shape))
    same = [before.shape[i] for i in kept] == [after.shape[i] for i in left] and None not in before.shape
    return left[kept.index(axis)] if same and axis in kept else None
