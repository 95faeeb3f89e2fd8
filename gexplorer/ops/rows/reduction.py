"""Reductions, normalisations, pooling and losses on the vector unit.

Counts are per element of the first input; what happens once a row (a division, a root) is not counted.
"""

from gexplorer.ops import choose
from gexplorer.ops.row import Family, Row

FAMILIES = (
    # The names with D carry the axes as an attribute: what ConstToAttrPass makes of constant axes.
    Family(
        "reduction",
        (
            Row("ReduceSum", "ReduceSumD"),
            Row("ReduceMean", "ReduceMeanD"),
            Row("ReduceMax", "ReduceMaxD"),
            Row("ReduceMin", "ReduceMinD"),
            Row("ReduceProd", "ReduceProdD"),
            Row("ReduceL1", "LpNormV2", flops=2),  # |x|, sum
            Row("ReduceL2", "LpNormV2", flops=2),  # x * x, sum
            Row("ReduceSumSquare", "SquareSumV1", flops=2),
            Row("ReduceLogSum"),
            Row("ReduceLogSumExp", flops=2),  # exp, sum
            Row("ArgMax", "ArgMaxV2"),
            Row("ArgMin"),
            Row("CumSum", "Cumsum"),
            Row("CumProd", "Cumprod"),
            Row("TopK"),  # at least one comparison an element
            Row("Hardmax", "HardMax", flops=2),
            # The parser writes it as ReduceMean or ReduceMax over the spatial axes.
            Row("GlobalAveragePool"),
            Row("GlobalMaxPool", "ReduceMaxD", certain=False),
            Row("GlobalLpPool", flops=2),
        ),
        work="input",
    ),
    Family(
        "normalization",
        (
            Row("Softmax", "SoftmaxV2", flops=5),  # max, subtract, exp, sum, divide
            Row("LogSoftmax", "LogSoftmaxV2", flops=5),  # max, subtract, exp, sum, subtract
            Row("BatchNormalization", choose=choose.batch_norm, flops=2),  # x * scale + shift, folded beforehand
            Row("LayerNormalization", "LayerNormV3", flops=7),  # sum, subtract, square, sum, times rstd, gamma, beta
            Row("InstanceNormalization", "InstanceNorm", flops=7),
            Row("GroupNormalization", "GroupNorm", flops=7, certain=False),
            Row("RMSNormalization", "RmsNorm", flops=4, certain=False),  # square, sum, times rstd, gamma
            Row("MeanVarianceNormalization", "MVNV2", flops=5),
            Row("LpNormalization", "LpNormV2", flops=3, certain=False),  # followed by a division
        ),
        work="input",
    ),
    Family("normalization", (Row("LRN"),), work="lrn"),
    Family(
        "pooling",
        (
            Row("MaxPool", choose=choose.max_pool),
            Row("AveragePool", choose=choose.average_pool),
            # The parser writes |x|^p, AvgPoolV2, a scale and a root.
            Row("LpPool", "AvgPoolV2", flops=3, certain=False),
        ),
        work="pool",
    ),
    Family(
        "interpolation",
        (
            Row("Resize", choose=choose.resize),
            Row("Upsample", choose=choose.resize),
            Row("GridSample", choose=choose.grid_sample),
        ),
        work="interpolation",
    ),
    Family("region", (Row("RoiAlign", "ROIAlign"), Row("MaxRoiPool", "ROIPooling")), work="unknown"),
    Family("loss", (Row("SoftmaxCrossEntropyLoss", flops=6),), work="input"),
    Family(
        "quantization",
        (
            Row("QuantizeLinear", "Quantize", flops=5, certain=False),  # divide, round, add, clip
            Row("DequantizeLinear", "AscendAntiQuant", flops=2, certain=False),  # subtract, multiply
        ),
        work="output",
    ),
)
