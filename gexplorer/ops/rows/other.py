"""Random numbers, control flow, sequences, strings, what ONNX composes, and what the chip cannot run."""

from gexplorer.ops import choose
from gexplorer.ops.row import Engine, Family, Outcome, Row, Unit

FAMILIES = (
    # A draw counts as one operation.
    Family(
        "random",
        (
            Row("RandomNormal", "RandomStandardNormal", random=True),
            Row("RandomUniform", random=True),
            Row("Multinomial", random=True),
            # ONNX has a body for it, but a wrong one: see ops/compose.py.
            Row("Bernoulli", "StatelessBernoulli", flops=2, certain=False, random=True),
        ),
        engine=Engine.AICPU,
        unit=Unit.AICPU,
    ),
    Family(
        "random",
        (
            Row("RandomNormalLike", "RandomStandardNormal", random=True),
            Row("RandomUniformLike", "RandomUniform", random=True),
        ),
        engine=Engine.AICPU,
        unit=Unit.AICPU,
        traffic="shape_only",
    ),
    Family("dropout", (Row("Dropout", choose=choose.dropout, flops=3, random=True),)),  # draw, compare, scale
    # If is known to CANN's ONNX parser. AIR has While, but no public parser makes one of Loop or Scan.
    Family(
        "control",
        (Row("If"), Row("Loop", "While", certain=False), Row("Scan", "While", certain=False)),
        engine=Engine.RTS,
        unit=Unit.NONE,
        work="unknown",
        traffic="unknown",
    ),
    # How much comes out is known after the run only.
    Family("data_dependent", (Row("NonZero"), Row("NonMaxSuppression", "NonMaxSuppressionV7")), work="unknown"),
    Family(
        "data_dependent",
        (Row("Unique", "UniqueWithCountsExt2"), Row("Compress", certain=False)),
        engine=Engine.AICPU,
        unit=Unit.AICPU,
        work="unknown",
    ),
    Family(
        "sequence",
        (
            Row("SequenceAt"),
            Row("SequenceConstruct"),
            Row("SequenceEmpty"),
            Row("SequenceErase"),
            Row("SequenceInsert"),
            Row("SequenceLength"),
            Row("SplitToSequence"),
        ),
        engine=Engine.AICPU,
        unit=Unit.AICPU,
        work="none",
        traffic="unknown",
    ),
    Family(
        "text",
        (Row("StringNormalizer"), Row("TfIdfVectorizer")),
        engine=Engine.AICPU,
        unit=Unit.AICPU,
        work="unknown",
    ),
    Family("signal", (Row("STFT", certain=False),), Engine.AICPU, Unit.AICPU, work="unknown"),
    # Composed: no kernel of their own is known, ONNX says how to build them. The counts are of those bodies.
    Family(
        "composed",
        (
            Row("CastLike"),
            Row("HannWindow", flops=16),
            Row("HammingWindow", flops=16),
            Row("BlackmanWindow", flops=31),
        ),
        outcome=Outcome.COMPOSED,
    ),
    Family("composed", (Row("DynamicQuantizeLinear", flops=7),), work="input", outcome=Outcome.COMPOSED),
    Family("composed", (Row("RotaryEmbedding", flops=3),), work="input", outcome=Outcome.COMPOSED),
    Family("composed", (Row("CenterCropPad"),), work="none", outcome=Outcome.COMPOSED, unit=Unit.MTE),
    Family(
        "composed",
        (
            Row("NegativeLogLikelihoodLoss"),
            Row("SequenceMap"),
            Row("LinearAttention"),
            Row("CausalConvWithState"),
        ),
        work="unknown",
        outcome=Outcome.COMPOSED,
    ),
    Family(
        "composed",
        (Row("FlexAttention"),),
        work="attention",
        outcome=Outcome.COMPOSED,
        domain="ai.onnx.preview",
    ),
    # Fallback: neither.
    Family(
        "fallback",
        (
            Row("RNN"),
            Row("QLinearConv"),
            Row("DFT"),
            Row("MelWeightMatrix"),
            Row("ConcatFromSequence"),
            Row("Optional"),
            Row("OptionalGetElement"),
            Row("OptionalHasElement"),
            Row("ImageDecoder"),
        ),
        engine=Engine.HOST_CPU,
        unit=Unit.HOST,
        work="unknown",
        outcome=Outcome.FALLBACK,
        code="no_kernel",
    ),
    Family(
        "fallback",
        (Row("StringConcat"), Row("StringSplit"), Row("RegexFullMatch")),
        engine=Engine.HOST_CPU,
        unit=Unit.HOST,
        work="none",
        outcome=Outcome.FALLBACK,
        code="text",
    ),
)
