"""Domains other than ai.onnx: classical machine learning, training, and onnxruntime's contributed operators.

CANN's ONNX parser knows none of onnxruntime's operators (GE reports E19010), so where a CANN operator
computes the same thing the row says which, as not certain.
"""

from gexplorer.ops import choose
from gexplorer.ops.row import Engine, Family, Outcome, Row, Unit, Work

MICROSOFT = "com.microsoft"


def _fallback(names: str, domain: str, code: str, *, random: bool = False) -> Family:
    return Family(
        "fallback",
        tuple(Row(name, random=random) for name in names.split()),
        engine=Engine.HOST_CPU,
        unit=Unit.HOST,
        work="unknown",
        outcome=Outcome.FALLBACK,
        code=code,
        domain=domain,
    )


def _microsoft(name: str, work: Work, unit: Unit, *rows: Row) -> Family:
    return Family(name, rows, unit=unit, work=work, domain=MICROSOFT)


FAMILIES = (
    _fallback(
        "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer"
        " LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier"
        " SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap",
        "ai.onnx.ml",
        "classical",
    ),
    _fallback("Adagrad Adam Gradient Momentum", "ai.onnx.preview.training", "training"),
    _microsoft(
        "matmul",
        "matmul",
        Unit.CUBE,
        Row("FusedMatMul", choose=choose.matmul_uncertain),
        Row("FusedGemm", "MatMulV2", certain=False),
        Row("TransposeMatMul", choose=choose.matmul_uncertain),
        Row("MatMulNBits", "WeightQuantBatchMatmulV2", certain=False),
        Row("MatMulIntegerToFloat", "QuantBatchMatmulV3", certain=False),
        Row("DynamicQuantizeMatMul", "QuantBatchMatmulV3", certain=False),  # with a DynamicQuant in front
    ),
    _microsoft("conv", "conv", Unit.CUBE, Row("FusedConv", choose=choose.conv, certain=False)),
    _microsoft(
        "attention",
        "unknown",
        Unit.CUBE,
        Row("Attention", "FlashAttentionScore", certain=False),
        Row("MultiHeadAttention", "FlashAttentionScore", certain=False),
        Row("GroupQueryAttention", "FusedInferAttentionScore", certain=False),
    ),
    _microsoft(
        "normalization",
        "input",
        Unit.VECTOR,
        Row("LayerNormalization", "LayerNormV3", flops=7, certain=False),
        Row("SkipLayerNormalization", "AddLayerNorm", flops=8, certain=False),
        Row("SimplifiedLayerNormalization", "RmsNorm", flops=4, certain=False),
        Row("SkipSimplifiedLayerNormalization", "AddRmsNorm", flops=5, certain=False),
        Row("GroupNorm", flops=7, certain=False),
    ),
    _microsoft(
        "rotary",
        "input",
        Unit.VECTOR,
        Row("RotaryEmbedding", "RotaryPositionEmbedding", flops=3, certain=False),
    ),
    _microsoft(
        "quantization",
        "output",
        Unit.VECTOR,
        Row("QuantizeLinear", "Quantize", flops=5, certain=False),
        Row("DequantizeLinear", "AscendAntiQuant", flops=2, certain=False),
    ),
    Family(
        "movement",
        (Row("GatherND", "GatherNd", certain=False), Row("Trilu", choose=choose.trilu, certain=False)),
        unit=Unit.MTE,
        work="none",
        traffic="gathered",
        domain=MICROSOFT,
    ),
    _microsoft(
        "elementwise",
        "output",
        Unit.VECTOR,
        Row("Gelu", "GeluV2", flops=21, certain=False),
        Row("FastGelu", choose=choose.fast_gelu, flops=13, certain=False),  # with tanh
        Row("QuickGelu", "Swish", flops=5, certain=False),  # x * sigmoid(a * x)
    ),
    # onnxruntime's exporters also put this one into ai.onnx.
    Family(
        "normalization",
        (Row("SimplifiedLayerNormalization", "RmsNorm", flops=4, certain=False),),
        work="input",
    ),
    _fallback(
        "BiasAdd BiasGelu BiasSoftmax BiasSplitGelu"
        " DynamicQuantizeLSTM EmbedLayerNormalization GatherBlockQuantized"
        " GemmFastGelu Inverse MatMulBnb4 MatMulInteger16 MoE"
        " NGramRepeatBlock NhwcConv PackedAttention PackedMultiHeadAttention Pad QAttention"
        " QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv"
        " QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QLinearWhere"
        " QMoE QOrderedMatMul RelativePositionBias RemovePadding RestorePadding"
        " SkipGroupNorm SparseAttention Unique WhisperBeamSearch WordConvEmbedding",
        MICROSOFT,
        "foreign",
    ),
    _fallback(
        "BeamSearch BiasDropout BitmaskDropout BitmaskBiasDropout GreedySearch Sampling",
        MICROSOFT,
        "foreign",
        random=True,
    ),
)
