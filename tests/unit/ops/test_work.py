"""Operations and bytes against closed forms worked out here, one layer at a time and over a whole network."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from immutables import Map
from onnx import shape_inference

from gexplorer.frontends.onnx import read
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Ints, Node, Value, make_graph
from gexplorer.ir.symbols import symbol
from gexplorer.ir.types import SequenceType, TensorType
from gexplorer.ops.work import bytes_moved, flops, graph_flops

F16, F32, I64 = DType.FLOAT16, DType.FLOAT32, DType.INT64
S = symbol("s")


def node(op, inputs="a", outputs="y", domain="", **attributes):
    return Node("n", op, tuple(inputs), tuple(outputs), Map(attributes), domain)


def t(*shape, dtype=F16):
    return TensorType(dtype, shape)


@pytest.mark.parametrize(
    ("made", "ins", "out", "expected"),
    [
        (node("MatMul", "ab"), (t(64, 128), t(128, 32)), t(64, 32), 2 * 64 * 128 * 32),
        (node("MatMul", "ab"), (t(5, 1, 64, 128), t(7, 128, 32)), t(5, 7, 64, 32), 2 * 5 * 7 * 64 * 128 * 32),
        (node("MatMul", "ab"), (t(128), t(128, 32)), t(32), 2 * 128 * 32),
        (node("MatMul", "ab"), (t(2, S, 128), t(128, 32)), t(2, S, 32), 2 * 2 * 128 * 32 * S),
        (node("Gemm", "abc"), (t(64, 128), t(128, 32), t(32)), t(64, 32), 2 * 64 * 128 * 32),
        (node("Gemm", "ab", transA=1, transB=1), (t(128, 64), t(32, 128)), t(64, 32), 2 * 64 * 128 * 32),
        (node("Conv", "xw"), (t(2, 16, 9, 9), t(32, 16, 3, 3)), t(2, 32, 7, 7), 2 * 2 * 32 * 49 * 16 * 9),
        (node("Conv", "xw", group=16), (t(1, 16, 9, 9), t(16, 1, 3, 3)), t(1, 16, 7, 7), 2 * 16 * 49 * 9),
        (node("ConvTranspose", "xw"), (t(1, 4, 5, 5), t(4, 6, 2, 2)), t(1, 6, 6, 6), 2 * 4 * 25 * 6 * 4),
        (
            node("Einsum", "ab", equation="bij,bjk->bik"),
            (t(3, 4, 5), t(3, 5, 6)),
            t(3, 4, 6),
            2 * 3 * 4 * 5 * 6,
        ),
        (node("Einsum", "ab", equation="i,j->ij"), (t(4), t(5)), t(4, 5), 20),
        (node("Einsum", "a", equation="ii->i"), (t(4, 4),), t(4), 0),
        (node("Einsum", "ab", equation="ij, jk"), (t(4, 5), t(5, 6)), t(4, 6), 2 * 4 * 5 * 6),
        (
            node("Einsum", "ab", equation="...ij,...jk->...ik"),
            (t(7, 1, 4, 5), t(3, 5, 6)),
            t(7, 3, 4, 6),
            2 * 21 * 4 * 5 * 6,
        ),
        (
            node("Attention", "qkv"),
            (t(2, 8, 16, 64), t(2, 8, 32, 64), t(2, 8, 32, 48)),
            None,
            2 * 8 * 16 * 32 * 230,
        ),
        (
            node("Attention", "qkv", q_num_heads=8, kv_num_heads=2),
            (t(2, 16, 512), t(2, 32, 128), t(2, 32, 128)),
            None,
            2 * 8 * 16 * 32 * (128 + 128 + 6),
        ),
        (
            node("Attention", ("q", "k", "v", "", "past", "pv")),
            (t(1, 8, 1, 64), t(1, 8, 1, 64), t(1, 8, 1, 64), None, t(1, 8, 31, 64), t(1, 8, 31, 64)),
            None,
            8 * 32 * (256 + 6),
        ),
        (node("Relu"), (t(4, 5),), t(4, 5), 20),
        (node("Add", "ab"), (t(4, 1), t(5)), t(4, 5), 20),
        (node("Sigmoid"), (t(4, 5),), t(4, 5), 80),
        (node("Sum", "abc"), (t(4), t(4), t(4)), t(4), 8),
        (node("ReduceMean"), (t(4, 50),), t(4, 1), 200),
        (node("Softmax"), (t(4, 50),), t(4, 50), 1000),
        (node("LayerNormalization", "abc"), (t(4, 50), t(50), t(50)), t(4, 50), 1400),
        (node("MaxPool", kernel_shape=Ints((3, 3))), (t(1, 4, 8, 8),), t(1, 4, 6, 6), 4 * 36 * 9),
        (node("LSTM", "xwr"), (t(10, 2, 8), t(1, 64, 8), t(1, 64, 16)), None, 20 * (2 * 64 * 24 + 32 * 16)),
        (node("Resize", mode="nearest"), (t(1, 3, 4, 4),), t(1, 3, 8, 8), 0),
        (node("Resize", mode="linear"), (t(1, 3, 4, 4),), t(1, 3, 8, 8), 192 * 9),
        (node("Resize", mode="cubic"), (t(1, 3, 4, 4),), t(1, 3, 8, 8), 192 * 35),
        (node("Transpose"), (t(4, 5),), t(5, 4), 0),
        (node("Reshape", "ab"), (None, None), None, 0),
        (node("Dropout"), (t(4),), t(4), 0),
        (node("Relu"), (TensorType(F16),), TensorType(F16), None),
        (node("MatMul", "ab"), (None, t(128, 32)), t(64, 32), None),
        (node("Loop", "ab"), (t(), t()), t(4), None),
        (node("Fancy"), (t(4),), t(4), None),
        (node("Relu"), (t(4, None),), t(4, None), None),
        (node("Relu"), (t(0, None),), t(0, None), 0),
    ],
    ids=lambda value: value.op if isinstance(value, Node) else "",
)
def test_operations(made, ins, out, expected):
    assert flops(made, ins, (out,)) == expected


@pytest.mark.parametrize(
    ("made", "ins", "outs", "expected"),
    [
        (node("MatMul", "ab"), (t(64, 128), t(128, 32)), (t(64, 32),), 2 * (64 * 128 + 128 * 32 + 64 * 32)),
        (node("Mul", "aa"), (t(64), t(64)), (t(64),), 2 * (64 + 64)),  # a square reads its input once
        (node("Add", "ab"), (t(64, S), t(S)), (t(64, S),), 2 * (129 * S)),
        (node("Reshape", "ab"), (t(64), t(2, dtype=I64)), (t(8, 8),), 0),
        (node("Shape"), (t(64, 8),), (t(2, dtype=I64),), 0),
        (node("Gather", "ab"), (t(50000, 64), t(10, dtype=I64)), (t(10, 64),), 2 * 640 * 2 + 80),
        (node("Gather", "ab"), (t(4, 64), t(10, dtype=I64)), (t(10, 64),), 2 * (256 + 640) + 80),
        (node("Slice", "ab"), (t(1000), t(1, dtype=I64)), (t(10),), 2 * 20 + 8),
        (node("Clip", ("x", "", "m")), (t(64), None, t()), (t(64),), 2 * 129),
        (node("Cast"), (t(64, dtype=F32),), (t(64),), 64 * 6),
        (node("Add", "ab"), (t(3, dtype=DType.INT4), t(3, dtype=DType.INT4)), (t(3, dtype=DType.INT4),), 6),
        (node("RandomNormalLike"), (t(64),), (t(64),), 128),
        (node("Split", "a", "xy"), (t(64),), (t(32), t(32)), 256),
        (node("Relu"), (None,), (t(64),), None),
        (node("If"), (t(dtype=DType.BOOL),), (t(64),), None),
        (node("SequenceAt", "ab"), (SequenceType(t(4)), t()), (t(4),), None),
        (node("Identity"), (t(4, dtype=DType.STRING),), (t(4, dtype=DType.STRING),), 0),
        (node("StringConcat", "ab"), (t(4, dtype=DType.STRING),) * 2, (t(4, dtype=DType.STRING),), None),
        (node("Fancy", domain="my.domain"), (t(64),), (t(64),), 256),
    ],
    ids=lambda value: value.op if isinstance(value, Node) else "",
)
def test_bytes(made, ins, outs, expected):
    assert bytes_moved(made, ins, outs) == expected


def fuse(inputs, nodes, types, outputs):
    """A fused node whose body has these nodes and values of these types."""
    made = {name: n.name for n in nodes for name in n.outputs}
    body = make_graph(
        "body",
        inputs=[Value(name, types[name]) for name in inputs],
        nodes=nodes,
        values=[Value(name, types[name], producer=made[name]) for name in types if name in made],
        outputs=tuple(outputs),
        opsets={"": 21},
    )
    fused = Node(
        "f",
        "Fused",
        tuple(f"outer_{name}" for name in inputs),
        tuple(f"outer_{n}" for n in outputs),
        body=body,
    )
    return fused, [types[name] for name in inputs], [types[name] for name in outputs]


def test_a_fused_node_sums_its_body_and_moves_what_crosses_its_border():
    types = {"x": t(64, 128), "w": t(128, 32), "b": t(32), "m": t(64, 32), "s": t(64, 32), "y": t(64, 32)}
    nodes = [
        Node("1", "MatMul", ("x", "w"), ("m",)),
        Node("2", "Add", ("m", "b"), ("s",)),
        Node("3", "Relu", ("s",), ("y",)),
    ]
    fused = fuse("xwb", nodes, types, "y")
    assert flops(*fused) == 2 * 64 * 128 * 32 + 2 * 64 * 32
    assert bytes_moved(*fused) == 2 * (64 * 128 + 128 * 32 + 32 + 64 * 32)


def test_a_fused_gather_reads_rows_and_not_the_table():
    types = {
        "table": t(50000, 64),
        "flat": t(50000, 64),
        "i": t(10, dtype=I64),
        "g": t(10, 64),
        "y": t(10, 64),
    }
    through_a_view = [
        Node("0", "Identity", ("table",), ("flat",)),
        Node("1", "Gather", ("flat", "i"), ("g",)),
        Node("2", "Relu", ("g",), ("y",)),
    ]
    assert bytes_moved(*fuse(["table", "i"], through_a_view, types, "y")) == 2 * 2 * 640 + 80
    also_whole = [*through_a_view, Node("3", "Relu", ("table",), ("z",))]
    whole = fuse(["table", "i"], also_whole, types | {"z": t(50000, 64)}, "yz")
    assert bytes_moved(*whole) == 2 * (2 * 50000 * 64 + 640) + 80


def test_a_fused_node_of_views_moves_nothing():
    types = {"x": t(4, 6), "y": t(24)}
    assert bytes_moved(*fuse("x", [Node("1", "Flatten", ("x",), ("y",))], types, "y")) == 0


def test_one_unknown_part_makes_a_fused_node_unknown():
    types = {"x": t(4), "m": None, "y": t(4)}
    nodes = [Node("1", "Relu", ("x",), ("m",)), Node("2", "Relu", ("m",), ("y",))]
    assert flops(*fuse("x", nodes, types, "y")) is None


# -- ResNet-50 ----------------------------------------------------------------------------------------------


def resnet50_multiplications(width=64, classes=1000):
    """Convolutions and classifier at 224x224: bottlenecks of 3, 4, 6, 3 blocks, strides in the 3x3."""
    side = 112
    total, channels = side * side * width * 3 * 49, width
    side = 56
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            before = side
            side //= 2 if stage and not block else 1
            total += before * before * channels * width + side * side * width * (9 * width + 4 * width)
            if not block:
                total += side * side * channels * 4 * width
            channels = 4 * width
        width *= 2
    return total + channels * classes


def products_of(model):
    """The convolutions and matrix products of a model as a graph, with the types that onnx infers."""
    graph = read(shape_inference.infer_shapes(model, data_prop=True)).graph
    nodes = [n for n in graph if n.op in ("Conv", "Gemm", "MatMul")]
    made = {name: n.name for n in nodes for name in n.outputs}
    values = [Value(v.name, v.type or v.declared, made.get(v.name, "")) for v in graph.values.values()]
    return make_graph("products", inputs=[], nodes=nodes, values=values, outputs=(), opsets={})


def test_the_literature_counts_four_billion_multiplications():
    assert resnet50_multiplications() == pytest.approx(4.09e9, rel=0.001)


def test_resnet50_in_the_onnx_package_has_the_operations_of_its_architecture():
    data = Path(onnx.__file__).parent / "backend" / "test" / "data"
    graph = products_of(onnx.load(data / "light" / "light_resnet50.onnx"))
    assert len(graph) == 54
    assert graph_flops(graph) == 2 * resnet50_multiplications()


def test_a_narrow_resnet50_export_has_the_operations_of_its_architecture():
    around = Path(__file__).resolve().parents[4] / "shared" / "corpus"
    path = Path(os.environ.get("GEXPLORER_CORPUS", around)) / "exports" / "resnet50.onnx"
    if not path.exists():
        pytest.skip("exports/resnet50.onnx is not here; GEXPLORER_CORPUS names the folder of models")
    model = onnx.load(path, load_external_data=False)
    del model.graph.value_info[:]
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (1, 3, 224, 224), strict=True):
        dim.dim_value = size
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 1
    graph = products_of(model)
    assert len(graph) == 54
    assert graph_flops(graph) == 2 * resnet50_multiplications(width=16, classes=2)
