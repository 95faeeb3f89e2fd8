"""The operator table: complete, honest about what it does not know, and fast."""

from __future__ import annotations

import subprocess
import sys
import timeit

import onnx.defs
import pytest
from immutables import Map

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Ints, Node, Value, make_graph
from gexplorer.ir.types import SequenceType, TensorType
from gexplorer.ops.row import Engine, Outcome, Unit
from gexplorer.ops.table import entries, lookup, unsupported_line
from gexplorer.ops.traits import is_control_flow, is_deterministic, is_elementwise, is_view

F16, F32, F64 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64


def node(op, inputs=("a",), outputs=("y",), domain="", **attributes):
    return Node("n", op, tuple(inputs), tuple(outputs), Map(attributes), domain)


def tensor(*shape, dtype=F16):
    return TensorType(dtype, shape)


def schemas():
    return [schema for schema in onnx.defs.get_all_schemas() if not schema.deprecated]


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"])
def test_every_operator_of_onnx_has_a_row(domain):
    ours = {entry.row.op for found, entry in entries() if found == domain}
    assert {schema.name for schema in schemas() if schema.domain == domain} - ours == set()


def test_every_row_of_onnxs_domains_is_an_operator_of_onnx():
    known = {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas_with_history()}
    ours = {(domain, entry.row.op) for domain, entry in entries() if domain != "com.microsoft"}
    # onnxruntime's exporters write this one into ai.onnx though it is not there.
    assert ours - known == {("", "SimplifiedLayerNormalization")}


def test_composed_means_that_onnx_has_a_body_and_a_fallback_that_it_has_none():
    bodies = {(s.domain, s.name) for s in schemas() if s.has_function or s.has_context_dependent_function}
    for domain, entry in entries():
        outcome = entry.lowering.outcome
        if outcome is Outcome.COMPOSED:
            assert (domain, entry.row.op) in bodies
        elif outcome is Outcome.FALLBACK:
            assert (domain, entry.row.op) not in bodies


def test_only_what_is_mapped_has_a_cann_name_and_only_a_fallback_has_a_reason():
    for _, entry in entries():
        lowering = entry.lowering
        assert bool(lowering.cann) == (lowering.outcome is Outcome.MAPPED)
        assert bool(lowering.reason) == bool(lowering.code) == (lowering.outcome is Outcome.FALLBACK)


def test_operators_that_tell_random_numbers_are_those_of_onnx():
    # The schemas also mark control flow (its bodies decide) and AffineGrid (which is deterministic).
    marked = {s.name for s in schemas() if not s.domain and s.node_determinism.name == "NonDeterministic"}
    ours = {entry.row.op for domain, entry in entries() if not domain and entry.row.random}
    assert ours == marked - {"If", "Loop", "Scan", "SequenceMap", "AffineGrid"}


@pytest.mark.parametrize(
    ("made", "types", "cann"),
    [
        (node("MatMul", "ab"), (tensor(4, 8), tensor(8, 2)), "MatMulV2"),
        (node("MatMul", "ab"), (tensor(3, 4, 8), tensor(8, 2)), "BatchMatMulV2"),
        (node("MatMul", "ab"), (tensor(4, 8), tensor(3, 8, 2)), "BatchMatMulV2"),
        (node("Gemm", "abc"), (), "MatMulV2"),
        (node("Conv", "xw"), (tensor(1, 8, 9, 9), tensor(8, 8, 3, 3)), "Conv2D"),
        (node("Conv", "xw", group=8), (tensor(1, 8, 9, 9), tensor(8, 1, 3, 3)), "DepthwiseConv2D"),
        (node("Conv", "xw", group=8), (None, tensor(8, 1, 3, 3)), "DepthwiseConv2D"),
        (node("Conv", "xw", group=2), (tensor(1, 8, 9, 9), tensor(8, 4, 3, 3)), "Conv2D"),
        (node("Conv", "xw"), (tensor(1, 8, 9, 9, 9), tensor(8, 8, 3, 3, 3)), "Conv3D"),
        (node("Conv", "xw", kernel_shape=Ints((3, 3, 3))), (), "Conv3D"),
        (node("BatchNormalization"), (), "BNInfer"),
        (node("BatchNormalization", training_mode=1), (), "BatchNorm"),
        (node("BatchNormalization", outputs=("y", "m", "v")), (), "BatchNorm"),
        (node("Softmax"), (), "SoftmaxV2"),
        (node("Trilu"), (), "Triu"),
        (node("Trilu", upper=0), (), "Tril"),
        (node("Mod", "ab"), (), "FloorMod"),
        (node("Mod", "ab", fmod=1), (), "Mod"),
        (node("BitShift", "ab", direction="LEFT"), (), "LeftShift"),
        (node("Split", "a", "xy"), (), "SplitD"),
        (node("Split", "ab", "xy"), (), "SplitVD"),
        (node("MaxPool", kernel_shape=Ints((2, 2))), (), "MaxPoolV3"),
        (node("AveragePool", kernel_shape=Ints((2, 2, 2))), (), "AvgPool3D"),
        (node("Resize", mode="linear"), (tensor(1, 3, 8, 8),), "ResizeBilinearV2"),
        (node("Where", "abc"), (), "SelectV2"),
        (node("Div", "ab"), (), "RealDiv"),
        (node("SkipLayerNormalization", "abc", domain="com.microsoft"), (), "AddLayerNorm"),
        (node("MatMulNBits", "abc", domain="com.microsoft"), (), "WeightQuantBatchMatmulV2"),
        (node("Trilu", "a", upper=0, domain="com.microsoft"), (), "Tril"),
        (node("Relu", domain="ai.onnx"), (), "Relu"),
    ],
    ids=lambda value: value.op if isinstance(value, Node) else str(value),
)
def test_the_cann_operator_follows_the_node(made, types, cann):
    assert lookup(made, types).cann == cann


def test_a_name_that_needs_types_is_uncertain_without_them():
    assert not lookup(node("MatMul", "ab")).certain
    assert lookup(node("MatMul", "ab"), (tensor(4, 8), tensor(8, 2))).certain
    assert not lookup(node("Conv", "xw", group=8)).certain
    assert not lookup(node("FastGelu", domain="com.microsoft")).certain  # the row says so
    assert not lookup(node("MatMulInteger", "ab"), (tensor(4, 8), tensor(8, 2))).certain


@pytest.mark.parametrize(
    ("op", "engine", "unit"),
    [
        ("MatMul", "AIcoreEngine", "cube"),
        ("Relu", "AIcoreEngine", "vector"),
        ("Transpose", "AIcoreEngine", "mte"),
        ("Reshape", "DNN_VM_GE_LOCAL", "none"),
        ("If", "DNN_VM_RTS", "none"),
        ("RandomNormal", "DNN_VM_AICPU_ASCEND", "aicpu"),
        ("StringSplit", "DNN_VM_HOST_CPU", "host"),
    ],
)
def test_engine_and_unit(op, engine, unit):
    lowering = lookup(node(op))
    assert (lowering.engine, lowering.unit) == (engine, unit)


def test_doubles_leave_the_ai_core_and_strings_leave_the_chip():
    assert lookup(node("Add", "ab"), (tensor(2), tensor(2))).engine is Engine.AICORE
    assert lookup(node("Add", "ab"), (tensor(2, dtype=F64),) * 2).engine is Engine.AICPU
    assert lookup(node("Transpose"), (tensor(2, dtype=F64),)).engine is Engine.AICORE
    text = lookup(node("Equal", "ab"), (tensor(2, dtype=DType.STRING),) * 2)
    assert (text.outcome, text.code) == (Outcome.FALLBACK, "element_type")
    assert "string" in text.reason
    assert lookup(node("StringNormalizer"), (tensor(2, dtype=DType.STRING),)).outcome is Outcome.MAPPED
    assert lookup(node("Reshape", "ab"), (tensor(2, dtype=DType.STRING),)).outcome is Outcome.MAPPED
    exotic = lookup(node("Cast"), (tensor(2),), (tensor(2, dtype=DType.FLOAT8E4M3FNUZ),))
    assert exotic.outcome is Outcome.FALLBACK
    nested = lookup(node("SequenceAt", "ab"), (SequenceType(tensor(2, dtype=DType.STRING)),))
    assert nested.outcome is Outcome.FALLBACK


def test_nobody_knows_the_operator():
    foreign = lookup(node("Fancy", domain="my.domain"))
    assert (foreign.outcome, foreign.unit, foreign.code) == (Outcome.FALLBACK, Unit.HOST, "foreign")
    assert "Fancy" in foreign.reason
    assert "my.domain" in foreign.reason
    assert lookup(node("Fancy")).code == "unknown"
    assert lookup(node("RareThing", domain="com.microsoft")).code == "foreign"


def test_the_log_line_names_node_operator_and_reason():
    made = node("StringSplit")
    line = unsupported_line(made, lookup(made))
    assert line.startswith("UnsupportedOp: node n (StringSplit) runs on the host: ")
    assert "\n" not in line


def fused(*nodes):
    body = make_graph(
        "body",
        inputs=[Value("a")],
        nodes=nodes,
        values=[Value(n.outputs[0], producer=n.name) for n in nodes],
        outputs=("y",),
        opsets={"": 21},
    )
    return Node("f", "Fused", ("a",), ("y",), body=body)


def test_a_fused_node_is_one_kernel_on_the_unit_of_its_body():
    relu, matmul = Node("r", "Relu", ("m",), ("y",)), Node("m", "MatMul", ("a", "a"), ("m",))
    assert lookup(fused(matmul, relu)).unit is Unit.CUBE
    assert lookup(fused(relu)).unit is Unit.VECTOR
    assert lookup(fused(relu)).cann == "Fused"


# -- what passes assume -------------------------------------------------------------------------------------


def branch(*nodes):
    return make_graph("then", inputs=[], nodes=nodes, values=[], outputs=("y",), opsets={})


def test_random_operators_are_not_deterministic_wherever_they_hide():
    noise, relu = Node("r", "RandomUniform", (), ("y",)), Node("r", "Relu", ("a",), ("y",))
    assert not is_deterministic(noise)
    assert is_deterministic(relu)
    assert not is_deterministic(node("If", then_branch=branch(relu), else_branch=branch(noise)))
    assert is_deterministic(node("If", then_branch=branch(relu), else_branch=branch(relu)))
    assert not is_deterministic(fused(noise))
    assert is_deterministic(fused(relu))
    nested = node("If", then_branch=branch(node("If", then_branch=branch(noise))))
    assert not is_deterministic(nested)
    assert not is_deterministic(node("Fancy", domain="my.domain"))


def test_dropout_is_random_and_no_view_unless_it_is_known_not_to_train():
    import numpy as np

    from gexplorer.ir.constant import constant

    idle, training = node("Dropout", "ar"), node("Dropout", "art")
    assert is_deterministic(idle)
    assert is_view(idle)
    assert not is_view(node("Dropout", "ar", ("y", "mask")))
    assert not is_deterministic(training)
    assert not is_view(training)
    for flag in (True, False):
        data = constant(np.array(flag))
        assert is_deterministic(training, {"t": data}.get) is not flag
        assert is_view(training, {"t": data}.get) is not flag


def test_views_elementwise_and_control_flow():
    views = {entry.row.op for domain, entry in entries() if is_view(node(entry.row.op, domain=domain))}
    assert views == {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "BitCast", "Dropout"}
    control = {entry.row.op for domain, entry in entries() if is_control_flow(node(entry.row.op, domain=domain))}
    assert control == {"If", "Loop", "Scan"}
    for op in ("Add", "Sigmoid", "Where", "Cast", "Max", "Clip"):
        assert is_elementwise(node(op))
    for op in ("Softmax", "MatMul", "ReduceSum", "CumSum", "Transpose", "Concat", "TopK", "Fancy", "Reshape"):
        assert not is_elementwise(node(op))
    relu, matmul = Node("r", "Relu", ("m",), ("y",)), Node("m", "MatMul", ("a", "a"), ("m",))
    assert is_elementwise(fused(relu))
    assert not is_elementwise(fused(matmul, relu))


# -- speed --------------------------------------------------------------------------------------------------


def test_the_import_loads_neither_onnx_nor_numpy():
    code = "import sys, gexplorer.ops.table, gexplorer.ops.work; print({'onnx', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_look_up_takes_microseconds():
    made, types = node("MatMul", "ab"), (tensor(4, 8), tensor(8, 2))
    best = min(timeit.repeat(lambda: lookup(made, types), number=2000, repeat=5)) / 2000
    assert best < 20e-6, "measured about 2 us; the bound leaves room for a busy machine"
