"""Products of matrices on the cube unit, and what is built around one."""

from gexplorer.ops import choose
from gexplorer.ops.row import Engine, Family, Row, Unit

FAMILIES = (
    Family(
        "matmul",
        (
            Row("MatMul", choose=choose.matmul),
            Row("Gemm", "MatMulV2"),
            Row("MatMulInteger", choose=choose.matmul_uncertain),
            Row("QLinearMatMul", "QuantBatchMatmulV3", certain=False),
        ),
        unit=Unit.CUBE,
        work="matmul",
    ),
    # EinsumPass takes it apart into transposes and BatchMatMulV2.
    Family("einsum", (Row("Einsum"),), unit=Unit.CUBE, work="einsum"),
    Family(
        "conv",
        (
            Row("Conv", choose=choose.conv),
            Row("ConvInteger", "Conv2D", certain=False),
            # CANN's own ONNX parser knows an operator DeformableConv2D of an older form.
            Row("DeformConv", "DeformableConv2D", certain=False),
        ),
        unit=Unit.CUBE,
        work="conv",
    ),
    Family(
        "conv",
        (Row("ConvTranspose", choose=choose.conv_transpose),),
        unit=Unit.CUBE,
        work="conv_transpose",
    ),
    # No ONNX parser of CANN is known to take Attention; torch_npu enters it as this operator.
    Family(
        "attention",
        (Row("Attention", "FlashAttentionScore", certain=False),),
        unit=Unit.CUBE,
        work="attention",
    ),
    # The parser's names; passes lower them to DynamicRNN and DynamicGRUV2.
    Family("recurrent", (Row("LSTM", "CommonLSTM"), Row("GRU", "CommonGRU")), unit=Unit.CUBE, work="recurrent"),
    Family("linear_algebra", (Row("Det", "MatrixDeterminant"),), Engine.AICPU, Unit.AICPU, work="unknown"),
)
