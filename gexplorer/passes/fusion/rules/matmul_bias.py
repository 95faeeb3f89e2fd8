"""MatMul and the bias behind it."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import QUANT_MATMUL, QUANT_WEIGHT_MATMUL, CubeEpilogue, same_type
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Reject, tensor_of
from gexplorer.trace.records import Message


class MatMulBias(CubeEpilogue):
    """MatMul + Add (or Sum) of a row becomes one cube kernel with the bias in its epilogue.

    before:  Add(MatMul(x, w), bias)
    after:   MatMulBias(x, w, bias)

    A Gemm with its bias is one kernel already.
    """

    name = "matmul_bias"
    ge_name = "MatMulBiasAddFusionPass"
    order = 676
    kind = "graph"
    kernel = "MatMulBias"
    saves = "One round trip of the product through memory."
    near = 2
    pattern = (
        op("Add|Sum", op(f"MatMul|{QUANT_MATMUL}|{QUANT_WEIGHT_MATMUL}", name="cube"), "bias", exact=True),
        op("Add|Sum", op.Gemm("x", "w", name="cube", exact=True), "bias", exact=True),
    )
    messages = Map(
        not_a_row=Message(
            "{blocker} is {type}, not one number for each column of {product} ({product_type})",
            "make {blocker} a row as long as the last dimension of {product}",
        ),
        residual=Message("{blocker} is computed at run time and no single row: a residual, not a bias"),
        column=Message("{blocker} is a vector, so {product} is a column, and has no bias along its rows"),
        widened=Message("adding {blocker} ({type}) makes {sum_type} of the product's {product_type}"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The bias must be a row as long as the product's last dimension, and must not broadcast the product."""
        name, product = found["bias"], found.named["cube"].outputs[0]
        bias, type_ = tensor_of(draft, name), tensor_of(draft, product)
        columns = type_.shape[-1] if type_ is not None and type_.shape else None
        shape = bias.shape if bias is not None else None
        one_row = bool(shape) and all(d == 1 for d in shape[:-1])
        if shape and not one_row and draft.constant_of(name) is None:
            return Reject("residual", name)
        if not shape or columns is None or shape[-1] != columns or not one_row:
            said = "of unknown type"
            return Reject("not_a_row", name, type=bias or said, product=product, product_type=type_ or said)
        cube = found.named["cube"]
        weight = tensor_of(draft, cube.inputs[1])
        if cube.body is None and weight is not None and weight.rank == 1:
            return Reject("column", cube.inputs[1], product=product)
        total = tensor_of(draft, found.root.outputs[0])
        if not same_type(draft, product, found.root.outputs[0]):
            return Reject("widened", name, type=bias, product_type=type_, sum_type=total)
        return None
