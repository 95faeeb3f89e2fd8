"""What computes nothing: bytes that move, bytes looked at in another way, and bytes out of nothing."""

from gexplorer.ops import choose
from gexplorer.ops.row import Engine, Family, Row, Unit

FAMILIES = (
    Family(
        "view",
        (
            Row("Reshape"),
            Row("Squeeze"),
            Row("Unsqueeze"),
            Row("Flatten", "FlattenV2"),
            Row("Identity"),
            Row("BitCast", "Bitcast", certain=False),
        ),
        engine=Engine.GE_LOCAL,
        unit=Unit.NONE,
        work="none",
        traffic="view",
    ),
    Family(
        "shape_query",
        (Row("Shape"), Row("Size")),
        engine=Engine.GE_LOCAL,
        unit=Unit.NONE,
        work="none",
        traffic="view",
    ),
    Family("constant", (Row("Constant", "Const"),), Engine.GE_LOCAL, Unit.NONE, work="none", traffic="view"),
    Family(
        "movement",
        (
            Row("Transpose", "TransposeD"),
            Row("Concat", "ConcatD"),
            Row("Split", choose=choose.split),
            Row("Pad", "PadV3"),
            Row("Tile"),
            Row("Expand"),
            Row("DepthToSpace"),
            Row("SpaceToDepth"),
            Row("ReverseSequence"),
            Row("ScatterElements"),
            Row("Scatter", "ScatterElements"),
            Row("ScatterND", "TensorScatterUpdate"),
            Row("TensorScatter", "Scatter", certain=False),
            # The parser writes it as a flattened scatter into zeros.
            Row("MaxUnpool", "ScatterElements", certain=False),
        ),
        unit=Unit.MTE,
        work="none",
    ),
    Family(
        "movement",
        (
            Row("Slice", "StridedSlice"),
            Row("Gather", "GatherV2"),
            Row("GatherElements"),
            Row("GatherND", "GatherNd"),
            Row("Trilu", choose=choose.trilu),
        ),
        unit=Unit.MTE,
        work="none",
        traffic="gathered",
    ),
    Family("creation", (Row("ConstantOfShape", "Fill"),), unit=Unit.MTE, work="none"),
    Family("creation", (Row("EyeLike", "Eye"),), unit=Unit.MTE, work="none", traffic="shape_only"),
    Family("creation", (Row("Range", flops=2),), unit=Unit.SCALAR),  # start + i * step
    Family("creation", (Row("OneHot", flops=1), Row("AffineGrid", flops=6))),
    Family("creation", (Row("Col2Im", "Col2im"),), work="input"),  # an addition an element
)
