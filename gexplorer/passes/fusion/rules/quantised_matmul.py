"""MatMul of two 8-bit operands."""

from __future__ import annotations

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import QUANT_MATMUL, CubeEpilogue
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.products import number, operands_of
from gexplorer.passes.fusion.quantised import DATA, QUANT_MESSAGES, WEIGHTS, data_ok, weights_ok
from gexplorer.passes.fusion.rule import Reject


class QuantisedMatMul(CubeEpilogue):
    """MatMul between DequantizeLinear becomes an int8 kernel that applies the scales to the sum.

    before:  MatMul(DequantizeLinear(x), DequantizeLinear(w))
    after:   QuantBatchMatmulV3(x, w, scales)

    ``requantise`` adds the QuantizeLinear behind it.
    """

    name = "quantised_matmul"
    order = 631
    kernel = QUANT_MATMUL
    saves = "Three quarters of the weights' bytes, and the float32 operands' way through memory."
    near = 2
    pattern = (
        op.Gemm(DATA, WEIGHTS, either(op.DequantizeLinear("b", shared=True), "bias"), name="cube"),
        op("MatMul|Gemm", DATA, WEIGHTS, name="cube", exact=True),
    )
    messages = QUANT_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """One scale for the activations; one, or one for each column, for the weights."""
        transposed = number(operands_of(found.named["cube"]), "transpose_b")
        return data_ok(draft, found.named["data"]) or weights_ok(
            draft, found.named["weights"], -2 if transposed else -1
        )
