"""Products of matrices that the model holds as one of onnxruntime's operators."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.cube import QUANT_WEIGHT_MATMUL
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.products import operands_of
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message


class MatMulOperator(Rule):
    """onnxruntime's matrix products become the kernels that ONNX's become, so that all rules behind know them.

    before:  com.microsoft FusedMatMul(a, b) {transB = 1, alpha = 0.5}; com.microsoft MatMulNBits(a, codes, scales)
    after:   MatMul(a, b) {transpose_b = 1, alpha = 0.5}; WeightQuantBatchMatmulV2(a, codes, scales) {bits = 4}

    The operator is the kernel's body, so nothing of it is lost.
    """

    name = "matmul_operator"
    order = 602
    kernel = "MatMul"
    saves = "Nothing by itself: it makes one kind of kernel of all products, for the rules and costs behind."
    pattern = (
        op("com.microsoft::FusedMatMul"),
        op("com.microsoft::TransposeMatMul"),
        op("com.microsoft::MatMulNBits"),
    )
    messages = Map(
        batch=Message(
            "{blocker} also moves the batch axes of an operand ({attribute}), which no kernel does as it loads"
        ),
        groups=Message("{blocker} permutes the rows of its weights (g_idx), which the kernel does not"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The kernels transpose matrices as they load, and nothing else."""
        for name in ("transBatchA", "transBatchB"):
            if found.root.attribute(name, 0):
                return Reject("batch", found.root.name, attribute=name)
        if found.root.op == "MatMulNBits" and any(found.root.inputs[4:5]):
            return Reject("groups", found.root.name)
        return None

    def kernel_of(self, found: Match) -> str:
        """CANN has a kernel of its own for weights of few bits."""
        return QUANT_WEIGHT_MATMUL if found.root.op == "MatMulNBits" else self.kernel

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """Which operands are transposed, and the factor; of weights of few bits, how many and in which groups."""
        if found.root.op != "MatMulNBits":
            return operands_of(found.root)
        return Map(bits=found.root.integer("bits", 4), group_size=found.root.integer("block_size", 0))
