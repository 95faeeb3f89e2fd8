"""onnxruntime's matrix products as kernels, and what the rules behind make of them."""

import pytest

from gexplorer.passes.fusion.rules.matmul_bias import MatMulBias
from gexplorer.passes.fusion.rules.matmul_operator import MatMulOperator
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import graph_of, run

OPSET = "17, com.microsoft=1"
HEAD = "input %a : float32[2,n,4]\ninput %b : float32[2,3,4]\n"
FUSED = "%y = {0}<com.microsoft>(%a, %b) {{{1}}} #y\noutput %y"
FIRES = {
    "factor and transposition": ("FusedMatMul", "alpha = 0.5, transB = 1", "{alpha = 0.5, transpose_b = 1}"),
    "an older name": ("TransposeMatMul", "transB = 1", "{transpose_b = 1}"),
}


@pytest.mark.parametrize(("op", "attributes", "said"), FIRES.values(), ids=FIRES)
def test_products(op, attributes, said):
    nodes = f"%y = MatMul<ge>(%a, %b) {said} #y\noutput %y"
    check_kernels(MatMulOperator, HEAD + FUSED.format(op, attributes), nodes, opset=OPSET)


NBITS = """
input %a : float32[n,32]
constant %codes = uint8[2,1,16] {CODES}
constant %scales = float32[2] {0.5, 0.25}
%y = MatMulNBits<com.microsoft>(%a, %codes, %scales) {K = 32, N = 2, bits = 4, block_size = 32} #y
output %y
""".replace("CODES", ", ".join(str(7 * i % 251) for i in range(32)))


def test_weights_of_four_bits():
    nodes = "%y = WeightQuantBatchMatmulV2<ge>(%a, %codes, %scales) {bits = 4, group_size = 32} #y\noutput %y"
    check_kernels(MatMulOperator, NBITS, nodes, opset=OPSET)


def test_weights_whose_rows_are_permuted():
    model = NBITS.replace("%scales) {", "%scales, _, %order) {").replace(
        "input", f"constant %order = int32[32] {{{', '.join(['0'] * 32)}}}\ninput", 1
    )
    said = "y permutes the rows of its weights (g_idx), which the kernel does not"
    check_miss(MatMulOperator, model, "groups", "y", said, opset=OPSET)


def test_batch_axes_that_move():
    model = "input %a : float32[n,2,4]\ninput %b : float32[2,4,3]\n" + FUSED.format("FusedMatMul", "transBatchA = 1")
    said = "y also moves the batch axes of an operand (transBatchA), which no kernel does as it loads"
    check_miss(MatMulOperator, model, "batch", "y", said, opset=OPSET)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("runtime_optimization/matmulnbits_add", {"matmul_operator": 1, "matmul_bias": 1}),
        (
            "fusion/transpose_matmul_2d_fusion_from_transpose_scale_matmul",
            {"matmul_operator": 1, "matmul_transpose": 1},
        ),
        ("fusion/matmul_scale_transposescalematmul_in0_in1_out", {"matmul_operator": 1, "matmul_scale": 1}),
    ],
)
def test_rules_behind_it(name, counts):
    check_count(f"data/ort_fusion/{name}.onnx", counts)


def test_what_is_said_of_the_operands_goes_on_to_the_kernel_with_the_bias():
    model = "input %x : float32[n,2]\ninput %w : float32[3,2]\ninput %b : float32[3]\n"
    model += "%p = FusedMatMul<com.microsoft>(%x, %w) {transB = 1} #p\n%y = Add(%p, %b) #y\noutput %y"
    product = run(MatMulOperator, graph_of(model, OPSET)).after
    (node,) = run(MatMulBias, product).after.order
    assert node.op == "MatMulBias"
    assert dict(node.attributes) == {"cube": "MatMul", "epilogue": ("Add",), "transpose_b": 1}


def test_a_bias_behind_weights_of_four_bits_keeps_the_name_of_the_kernel():
    model = NBITS.replace("%y =", "%p =").replace("#y\noutput %y", "#p\n%y = Add(%p, %b) #y\noutput %y")
    product = run(MatMulOperator, graph_of("input %b : float32[2]\n" + model, OPSET)).after
    (node,) = run(MatMulBias, product).after.order
    assert node.op == "WeightQuantBatchMatmulV2"
    assert node.attribute("bits") == 4
